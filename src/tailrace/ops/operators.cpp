#include <tailrace/ops/operators.hpp>

#include <tailrace/ops/apply.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

namespace tailrace::ops {

using namespace grid;

template <class T>
Operators<T>::Operators(const Grid &grid, std::shared_ptr<const ProcessGrid> processes, TransposeMethod method,
                        Interpolation interpolation, const Hyperviscosities &hyperviscosity)
    : grid_(grid), processes_(std::move(processes)),
      // `apply` takes arrays of any kind, also those in memory that no other rank can reach.
      method_(method == TransposeMethod::shared ? TransposeMethod::alltoall : method), interpolation_(interpolation),
      hyperviscosity_(hyperviscosity), nodes_(Decomposition(processes_, grid.nodes, true), method, workspace_),
      pool_(nodes_) {}

template <class T> Index3 Operators<T>::shape(const std::array<bool, 3> &centred) const {
  Index3 shape;
  for (int d = 0; d < 3; ++d)
    shape[d] = centred[d] ? grid_.cells()[d] : grid_.nodes[d];
  return shape;
}

template <class T> Box Operators<T>::box(const std::array<bool, 3> &centred) const {
  return Decomposition(processes_, shape(centred), true).box(Pencil::x);
}

template <class T> Exchange<T> &Operators<T>::exchange(const Index3 &shape) {
  const auto found = exchanges_.find(shape);
  if (found != exchanges_.end())
    return found->second;
  return exchanges_.try_emplace(shape, Decomposition(processes_, shape, true), method_, workspace_).first->second;
}

template <class T>
const LineOperator<T> &Operators<T>::line_operator(Operation operation, int d, Parity parity, double factor,
                                                   double filter) {
  const auto key = std::tuple(operation, d, parity, factor, filter);
  const auto found = line_operators_.find(key);
  if (found != line_operators_.end())
    return found->second;
  const bool own = operation == Operation::second_derivative && hyperviscosity_[d].has_value();
  const CompactScheme scheme = own ? hyperviscous_scheme(grid_.spacing(d), *hyperviscosity_[d])
                                   : compact_scheme(operation, grid_.spacing(d), interpolation_, filter);
  return line_operators_.try_emplace(key, scheme, grid_, d, parity, factor).first->second;
}

namespace {
template <class T> T *room(Buffer<T> &buffer, std::int64_t size) {
  if (buffer.size() < size)
    buffer = Buffer<T>(size);
  return buffer.data();
}
} // namespace

template <class T>
void Operators<T>::apply(Operation operation, int direction, Parity parity, const std::array<bool, 3> &centred,
                         const T *in, T *out, double filter) {
  if (direction < 0 || direction > 2)
    throw InputError(fmt::format("direction is {}; expected 0 (x), 1 (y) or 2 (z)", direction));
  if (to_node(operation) != centred[direction])
    throw InputError(fmt::format("this operator takes values on the {} in {}, the field's are on the {}",
                                 to_node(operation) ? "cell centres" : "nodes", "xyz"[direction],
                                 centred[direction] ? "cell centres" : "nodes"));
  auto centred_out = centred;
  centred_out[direction] = to_centre(operation);
  const LineOperator<T> &lines = line_operator(operation, direction, parity, 1, filter);
  Exchange<T> &from = exchange(shape(centred)), &to = exchange(shape(centred_out));
  const Decomposition &before = from.decomposition(), &after = to.decomposition();
  if (direction == 0)
    return ops::apply(lines, 0, before.box(Pencil::x).count, in, out);
  // The exchange only reads its input, but returns the same pointer where no data move: this is why it is cast.
  const bool free_xy = from.is_free(Pencil::x, Pencil::y), free_yz = from.is_free(Pencil::y, Pencil::z);
  T *y_in = from.move(Pencil::x, Pencil::y, const_cast<T *>(in),
                      free_xy ? nullptr : room(y_in_, before.box(Pencil::y).size()));
  T *y_out = free_xy ? out : room(y_out_, after.box(Pencil::y).size());
  if (direction == 1) {
    ops::apply(lines, 1, before.box(Pencil::y).count, y_in, y_out);
  } else {
    T *z_in = from.move(Pencil::y, Pencil::z, y_in, free_yz ? nullptr : room(z_in_, before.box(Pencil::z).size()));
    T *z_out = free_yz ? y_out : room(z_out_, after.box(Pencil::z).size());
    ops::apply(lines, 2, before.box(Pencil::z).count, z_in, z_out);
    to.move(Pencil::z, Pencil::y, z_out, y_out);
  }
  to.move(Pencil::y, Pencil::x, y_out, out);
}

template class Operators<float>;
template class Operators<double>;

} // namespace tailrace::ops
