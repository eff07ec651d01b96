"""A recipe for Spack, not yet tried: the library and the command from a source tree (`spack dev-build`)."""

from spack.package import *


class Tailrace(CMakePackage):
    """Incompressible flow, its output and its analysis, in parallel."""

    license("BSD-3-Clause")
    version("0.1.0")

    variant("fortran", default=True, description="the Fortran module")
    variant("adios2", default=True, description="BP files and streams")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi")
    depends_on("hdf5+mpi")
    depends_on("fftw@3 precision=double,float")
    depends_on("fmt")
    depends_on("nlohmann-json")
    depends_on("xxhash")
    depends_on("adios2@2.12: +mpi+hdf5+sst", when="+adios2")

    def cmake_args(self):
        """The options of CMake that the variants stand for."""
        return [
            self.define_from_variant("TAILRACE_FORTRAN", "fortran"),
            self.define_from_variant("TAILRACE_WITH_ADIOS2", "adios2"),
            self.define("TAILRACE_ARCH", "generic"),
            self.define("TAILRACE_BUILD_TESTS", False),  # GoogleTest is no part of the recipe
        ]
