// On a processor without the instructions that this library was compiled for, the first of them would end the program
// by a signal, when the library is loaded. This says why instead.
#if defined(__x86_64__) && defined(__GNUC__)

#include <unistd.h>

namespace {

#ifdef __AVX512F__
constexpr bool avx512 = true;
#else
constexpr bool avx512 = false;
#endif
#ifdef __AVX2__
constexpr bool avx2 = true;
#else
constexpr bool avx2 = false;
#endif
#ifdef __FMA__
constexpr bool fma = true;
#else
constexpr bool fma = false;
#endif

// Runs before the constructors of all else here, and uses nothing of it. 101 is the first priority that is not the
// compiler's own.
[[gnu::constructor(101), gnu::target("arch=x86-64")]] void check_processor() {
  __builtin_cpu_init();
  if ((!avx512 || __builtin_cpu_supports("avx512f")) && (!avx2 || __builtin_cpu_supports("avx2")) &&
      (!fma || __builtin_cpu_supports("fma")))
    return;
  static const char text[] =
      "error: Tailrace was compiled for other processors: this one has not all of their instructions (AVX2, "
      "FMA, AVX-512). To fix this, build it here, or for all processors: TAILRACE_ARCH=generic make setup\n";
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
    _exit(2);
  _exit(1);
}

} // namespace

#endif
