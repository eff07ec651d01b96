#pragma once

#include <tailrace/io/types.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tailrace::io {

/// A variable in a step of a BP directory of another program. Extents have the slowest index first.
struct ForeignVariable {
  using Extents = std::vector<std::int64_t>;
  std::string name;
  std::string type;            ///< NumPy's name, "float32"; "text"; ADIOS2's name for a type that is not read
  Extents shape;               ///< shape of the whole array; empty: a single value, or blocks
  std::vector<Extents> blocks; ///< the extents of blocks that are not parts of a whole (ADIOS2's local arrays)
};

/// Reads a BP4 or BP5 directory that another program wrote, whatever its variables are. All is local: ADIOS2 is used
/// without MPI. Throws IoError. Damaged metadata can crash ADIOS2, and it waits without end for values that a file
/// lacks: see `check_values`.
class ForeignBp {
public:
  explicit ForeignBp(const std::string &path);
  ~ForeignBp();

  std::size_t steps() const;
  Attributes attributes() const;
  /// These attributes as they are in each step: a program may change them, and `attributes` has the last ones.
  std::vector<Attributes> attributes_in_steps(const std::vector<std::string> &names) const;
  /// The names of the attributes that `attributes` leaves out: complex numbers, and those from 2^63 on.
  std::vector<std::string> left_out_attributes() const;
  /// The variables of a step, in the order of their names.
  std::vector<ForeignVariable> variables(std::size_t step);
  /// Throws InputError if the variable is not a single number or text, IoError if it is 2^63 or more.
  Scalar value(std::size_t step, const std::string &name);

  /// A part of the whole array, or of a block.
  struct Part {
    std::string name;
    std::size_t block = 0; ///< the number of the block; of a whole array 0
    ForeignVariable::Extents start, count;
    std::string type; ///< of the values in memory; that of the variable
  };
  /// `data` is contiguous. Throws InputError where the part is not inside the array or has another type, IoError where
  /// no process has written a value.
  void read(std::size_t step, const Part &part, void *data);

  /// Reads one value at the end of each block of a step, which a file that was cut off lacks; no more than `most`.
  void check_values(std::size_t step, std::size_t most);

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tailrace::io
