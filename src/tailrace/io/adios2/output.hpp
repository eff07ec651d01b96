#pragma once

#include <tailrace/io/adios2/contents.hpp>
#include <tailrace/io/adios2/data_operators.hpp>
#include <tailrace/io/data/block.hpp>
#include <tailrace/io/engine/engine.hpp>

#if TAILRACE_HAVE_ADIOS2

#include <adios2.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tailrace::io::bp {

/// Puts a series into an IO of ADIOS2 with an engine open to write, a file or a stream. The functions in contents.hpp
/// read it. Every step has the variables `step` (index) and `time`, and the first one the attribute `vtk.xml` for
/// ParaView. All functions are local; ADIOS2's own exceptions pass through.
class Output {
public:
  Output() = default;
  /// `everyone`: all ranks put all variables, without values where they have none, as HDF5 requires.
  /// `kinds`: of the names that the file has.
  Output(adios2::IO io, Adios2Operator operation, bool everyone = false, Kinds kinds = {})
      : io_(io), operation_(std::move(operation)), everyone_(everyone), kinds_(std::move(kinds)) {}

  void begin_step();
  /// Copies this rank's part: the caller may reuse the array when this returns.
  void put(adios2::Engine &engine, const Block &block) { put(engine, block, false); }
  /// BP5 only: puts this rank's part without a copy if it is contiguous in memory, otherwise copies it. The array must
  /// not change until the engine has written it.
  void put_in_place(adios2::Engine &engine, const Block &block) { put(engine, block, true); }
  /// Puts the rest of the step. `attributes`: all attributes of the series.
  void end_step(adios2::Engine &engine, const StepInfo &step, const StepMetadata &metadata, bool root);
  /// `grid` is that of the request; if it is empty, the grid has the shape of the first variable.
  void define_attributes(const Attributes &attributes, const std::optional<GridDescription> &grid, bool first_step);

  /// Puts one more text of the step. All ranks call this; the text of rank 0 is stored.
  void put_text(adios2::Engine &engine, const std::string &name, const std::string &text, bool root);

private:
  void put(adios2::Engine &engine, const Block &block, bool in_place);
  template <class T> adios2::Variable<T> known(const std::string &name, bool array);
  template <class T> adios2::Variable<T> single(const std::string &name);
  template <class T> adios2::Variable<T> grid_variable(const Block &block);
  template <class T> void put_as(adios2::Engine &engine, const Block &block, bool in_place);
  template <class T> void put_span(adios2::Engine &engine, adios2::Variable<T> &variable, const Block &block);
  void put_value(adios2::Engine &engine, const std::string &name, const Scalar &value, bool root);
  std::string checksums_of_lossless(const StepMetadata &metadata) const;

  adios2::IO io_;
  Adios2Operator operation_;
  bool everyone_ = false;
  Kinds kinds_;                                  ///< of all names of the series
  std::map<std::string, Index3> shapes_;         ///< of the variables written that can be drawn
  std::map<std::string, std::string> operators_; ///< of the variables with an operator
  std::set<std::string> lossy_;                  ///< variables with a lossy operator
  std::vector<VariableInfo> lists_;              ///< of the open step
};

} // namespace tailrace::io::bp

#endif
