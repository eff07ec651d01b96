#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace tailrace {

/// Bytes in one vector register of the machine compiled for.
#if defined(__AVX512F__)
inline constexpr std::size_t vector_bytes = 64;
#elif defined(__AVX__)
inline constexpr std::size_t vector_bytes = 32;
#else
inline constexpr std::size_t vector_bytes = 16;
#endif

/// A register full of T with the compiler's own arithmetic. Types wider than the register compile to far slower code.
template <class T> struct VecOf {
  typedef T type __attribute__((vector_size(vector_bytes)));
  typedef T unaligned __attribute__((vector_size(vector_bytes), aligned(alignof(T))));
};
template <class T> using Vec = typename VecOf<T>::type;
template <class T> inline constexpr int lanes = static_cast<int>(vector_bytes / sizeof(T));

template <class T> inline Vec<T> load(const T *p) { return *reinterpret_cast<const typename VecOf<T>::unaligned *>(p); }
template <class T> inline void store(T *p, Vec<T> v) { *reinterpret_cast<typename VecOf<T>::unaligned *>(p) = v; }

/// The first `count` lanes; the others load as zero and are not stored.
template <class T> inline Vec<T> load(const T *p, int count) {
  if (count >= lanes<T>) [[likely]]
    return load(p);
  Vec<T> v{};
  std::memcpy(&v, p, static_cast<std::size_t>(count) * sizeof(T));
  return v;
}
template <class T> inline void store(T *p, Vec<T> v, int count) {
  if (count >= lanes<T>) [[likely]]
    store(p, v);
  else
    std::memcpy(p, &v, static_cast<std::size_t>(count) * sizeof(T));
}

template <class T> inline Vec<T> broadcast(T value) { return Vec<T>{} + value; }

namespace detail {

// Lane i of the low half comes from a where bit `step` of i is clear, else from lane i - step of b. The high half takes
// lane i + step of a, or lane i of b.
template <class T, int step, int... i> inline Vec<T> merge_low(Vec<T> a, Vec<T> b, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(a, b, ((i & step) ? lanes<T> + i - step : i)...);
}
template <class T, int step, int... i> inline Vec<T> merge_high(Vec<T> a, Vec<T> b, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(a, b, ((i & step) ? lanes<T> + i : i + step)...);
}

} // namespace detail

/// Transposes a square of lanes x lanes values in registers, by halves (Eklundh). A call would pass it through memory.
template <class T, int step = 1> [[gnu::always_inline]] inline void transpose_square(Vec<T> (&rows)[lanes<T>]) {
  constexpr auto sequence = std::make_integer_sequence<int, lanes<T>>{};
#pragma GCC unroll 16
  for (int i = 0; i < lanes<T>; ++i) {
    if (i & step)
      continue;
    const Vec<T> a = rows[i], b = rows[i + step];
    rows[i] = detail::merge_low<T, step>(a, b, sequence);
    rows[i + step] = detail::merge_high<T, step>(a, b, sequence);
  }
  if constexpr (step * 2 < lanes<T>)
    transpose_square<T, step * 2>(rows);
}

} // namespace tailrace
