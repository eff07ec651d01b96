#include "bindings.hpp"
#include <tailrace/support/build_info.hpp>
#include <tailrace/support/error.hpp>
#include <tailrace/support/freed_memory.hpp>

void bind_support(nb::module_ &m) {
  m.def("keep_freed_memory", &tailrace::keep_freed_memory,
        "Memory that this process frees is given out again, not returned.");
  // nanobind tries the last registered translator first, so register the base class first.
  auto error = nb::exception<tailrace::Error>(m, "Error", PyExc_RuntimeError);
  nb::exception<tailrace::IoError>(m, "IoError", PyExc_OSError);
  nb::exception<tailrace::InputError>(m, "InputError", PyExc_ValueError);
  m.def("build_info", &tailrace::build_info, "Versions of the libraries this module was built with and runs on.");
}
