#include "bindings.hpp"
#include <tailrace/support/build_info.hpp>
#include <tailrace/support/error.hpp>
#include <tailrace/support/file_descriptor.hpp>
#include <tailrace/support/file_lock.hpp>
#include <tailrace/support/freed_memory.hpp>

#include <cstring>
#include <exception>
#include <filesystem>

void bind_support(nb::module_ &m) {
  m.def("keep_freed_memory", &tailrace::keep_freed_memory,
        "Memory that this process frees is given out again, not returned.");
  // nanobind tries the last registered translator first, so register the base class first.
  nb::exception<tailrace::Error>(m, "Error", PyExc_RuntimeError);
  nb::exception<tailrace::IoError>(m, "IoError", PyExc_OSError);
  nb::exception<tailrace::InputError>(m, "InputError", PyExc_ValueError);
  // Names of files and what is in damaged files may be no UTF-8, of which texts in Python are made.
  nb::register_exception_translator(
      [](const std::exception_ptr &thrown, void *module) {
        const auto raise = [&](const char *name, const std::exception &error) {
          const nb::object text = nb::steal(PyUnicode_DecodeUTF8(
              error.what(), static_cast<Py_ssize_t>(std::strlen(error.what())), "backslashreplace"));
          PyErr_SetObject(nb::borrow<nb::module_>(static_cast<PyObject *>(module)).attr(name).ptr(), text.ptr());
        };
        try {
          std::rethrow_exception(thrown);
        } catch (const tailrace::IoError &error) {
          raise("IoError", error);
        } catch (const tailrace::InputError &error) {
          raise("InputError", error);
        } catch (const tailrace::Error &error) {
          raise("Error", error);
        } catch (const std::filesystem::filesystem_error &error) {
          raise("IoError", tailrace::file_error(error));
        }
      },
      m.ptr());
  nb::class_<tailrace::FileLock>(m, "FileLock", "The right to write one file or directory, for one process at a time.")
      .def(nb::init<const std::string &>(), nb::arg("target"))
      .def("release", &tailrace::FileLock::release)
      .def_prop_ro("note", &tailrace::FileLock::note);
  m.def("build_info", &tailrace::build_info, "Versions of the libraries this module was built with and runs on.");
}
