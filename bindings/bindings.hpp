#pragma once

#include <tailrace/grid/field.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

void bind_support(nb::module_ &m);
void bind_grid(nb::module_ &m);
void bind_ops(nb::module_ &m);
void bind_analysis(nb::module_ &m);
void bind_flow(nb::module_ &m);
void bind_flow_options(nb::module_ &m);
void bind_io(nb::module_ &m);
void bind_foreign(nb::module_ &m);

/// A NumPy array of shape (nz, ny, nx): NumPy's order of axes is the reverse of ours.
template <class T> using Array = nb::ndarray<nb::numpy, T, nb::ndim<3>, nb::c_contig>;

/// An array of this shape from the caller; and its number of points in x, y, z.
template <class T> using Input = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <class T> tailrace::grid::Index3 count_of(const Input<T> &array) {
  return {static_cast<std::int64_t>(array.shape(2)), static_cast<std::int64_t>(array.shape(1)),
          static_cast<std::int64_t>(array.shape(0))};
}

/// A view of memory that lives as long as `owner`.
template <class T> Array<T> view(T *data, const tailrace::grid::Index3 &count, nb::handle owner) {
  return Array<T>(
      data,
      {static_cast<std::size_t>(count[2]), static_cast<std::size_t>(count[1]), static_cast<std::size_t>(count[0])},
      owner);
}

/// An array that owns the memory of the buffer.
template <class T> Array<T> adopt(tailrace::grid::Buffer<T> buffer, const tailrace::grid::Index3 &count) {
  auto *kept = new tailrace::grid::Buffer<T>(std::move(buffer));
  nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<tailrace::grid::Buffer<T> *>(p); });
  return view(kept->data(), count, owner);
}
