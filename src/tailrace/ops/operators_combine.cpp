// Sums of derivatives. Sweeps along z come first and need data of other ranks. Where y is whole in X pencils, sweeps
// along y and x follow plane by plane, while the plane is in the cache.

#include <tailrace/ops/apply.hpp>
#include <tailrace/ops/operators.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

namespace tailrace::ops {

using namespace grid;

/// The state of a sum: its terms, and the outputs that already hold a part of their sum.
template <class T> struct Operators<T>::Sum {
  const std::vector<Term> &terms;
  std::vector<bool> begun;

  std::vector<bool> inputs_of(std::size_t count, int least_direction) const {
    std::vector<bool> result(count, false);
    for (const Term &term : terms)
      if (term.direction >= least_direction)
        result[static_cast<std::size_t>(term.input)] = true;
    return result;
  }
  std::vector<bool> outputs_of(int least_direction) const {
    std::vector<bool> result(begun.size(), false);
    for (const Term &term : terms)
      if (term.direction >= least_direction)
        result[static_cast<std::size_t>(term.output)] = true;
    return result;
  }
};

namespace {

/// Those entries of `all` that are wanted, in order.
template <class P> std::vector<P> pick(const std::vector<P> &all, const std::vector<bool> &wanted) {
  std::vector<P> result;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (wanted[i])
      result.push_back(all[i]);
  return result;
}

std::size_t at(int number) { return static_cast<std::size_t>(number); }

bool any(const std::vector<bool> &flags) { return std::find(flags.begin(), flags.end(), true) != flags.end(); }

} // namespace

template <class T>
void Operators<T>::check(const std::vector<Term> &terms, std::size_t inputs, std::size_t outputs) const {
  std::vector<bool> named(outputs, false);
  for (const Term &term : terms) {
    const bool inside = term.input >= 0 && static_cast<std::size_t>(term.input) < inputs && term.output >= 0 &&
                        static_cast<std::size_t>(term.output) < outputs && term.direction >= 0 && term.direction <= 2;
    if (!inside || is_staggered(term.operation) || term.operation == Operation::filter)
      throw InputError(
          fmt::format("a term of input {}, output {}, direction {} does not fit {} inputs and {} outputs on "
                      "the nodes",
                      term.input, term.output, term.direction, inputs, outputs));
    named[static_cast<std::size_t>(term.output)] = true;
  }
  if (std::find(named.begin(), named.end(), false) != named.end())
    throw InputError("every output needs at least one term");
}

template <class T>
void Operators<T>::combine(const std::vector<Term> &terms, const std::vector<const T *> &in,
                           const std::vector<T *> &out) {
  check(terms, in.size(), out.size());
  Sum sum{terms, std::vector<bool>(out.size(), false)};
  std::vector<T *> from; // exchanges only read their inputs, but return the same pointers where no data move
  for (const T *array : in)
    from.push_back(const_cast<T *>(array));
  if (nodes_.is_free(Pencil::x, Pencil::y)) {
    sweep_z(sum, from, out);
    return sweep_planes(sum, from, out);
  }
  const auto needs = sum.inputs_of(in.size(), 1), makes = sum.outputs_of(1);
  if (any(needs)) {
    const std::vector<T *> y_in = scratch(Pencil::y, 0, needs), y_out = scratch(Pencil::y, 1, makes);
    nodes_.move(Pencil::x, Pencil::y, pick(from, needs), pick(y_in, needs));
    sweep_z(sum, y_in, y_out);
    const Lines lines = Lines::along(1, nodes_.decomposition().box(Pencil::y).count);
    for (const Term &term : terms)
      if (term.direction == 1)
        sweep_term(sum, term, lines, y_in[at(term.input)], y_out[at(term.output)], sum.begun[at(term.output)]);
    nodes_.move(Pencil::y, Pencil::x, pick(y_out, makes), pick(out, makes));
  }
  const Lines lines = Lines::along(0, nodes_.decomposition().box(Pencil::x).count);
  for (const Term &term : terms)
    if (term.direction == 0)
      sweep_term(sum, term, lines, in[at(term.input)], out[at(term.output)], sum.begun[at(term.output)]);
}

/// Scratch arrays in a pencil, one for each entry of `wanted` that is set, null for the others. `which` numbers the
/// sets of scratch arrays.
template <class T> std::vector<T *> Operators<T>::scratch(Pencil pencil, int which, const std::vector<bool> &wanted) {
  std::vector<Buffer<T>> &kept = scratch_[{pencil, which}];
  kept.resize(std::max(kept.size(), wanted.size()));
  std::vector<T *> result(wanted.size(), nullptr);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i])
      continue;
    if (!kept[i].data() && pencil == Pencil::y) {
      kept[i] = nodes_.allocate();
      pool_.register_shared(kept[i].data());
    } else if (!kept[i].data()) {
      kept[i] = Buffer<T>(nodes_.decomposition().box(pencil).size());
    }
    result[i] = kept[i].data();
  }
  return result;
}

template <class T>
void Operators<T>::sweep_term(Sum &sum, const Term &term, const Lines &lines, const T *in, T *out, bool add) {
  const LineOperator<T> &scheme = line_operator(term.operation, term.direction, term.parity, term.factor);
  if (add)
    sweep_operator(scheme, lines, in, out, AddTo<T, 1>{{out}});
  else
    sweep_operator(scheme, lines, in, out, StoreTo<T, 1>{{out}});
  sum.begun[static_cast<std::size_t>(term.output)] = true;
}

/// The terms along z, for arrays in the Y pencil.
template <class T> void Operators<T>::sweep_z(Sum &sum, const std::vector<T *> &in, const std::vector<T *> &out) {
  const auto needs = sum.inputs_of(in.size(), 2), makes = sum.outputs_of(2);
  if (!any(needs))
    return;
  if (nodes_.shares())
    return sweep_z_reaching(sum, in, out);
  const bool free = nodes_.is_free(Pencil::y, Pencil::z);
  const std::vector<T *> z_in = free ? in : scratch(Pencil::z, 0, needs);
  const std::vector<T *> z_out = free ? out : scratch(Pencil::z, 1, makes);
  nodes_.move(Pencil::y, Pencil::z, pick(in, needs), pick(z_in, needs));
  for (const Term &term : sum.terms)
    if (term.direction == 2)
      sweep_term(sum, term, nodes_.z_lines(), z_in[at(term.input)], z_out[at(term.output)], sum.begun[at(term.output)]);
  nodes_.move(Pencil::z, Pencil::y, pick(z_out, makes), pick(out, makes));
}

/// The same where ranks share memory: this rank sweeps its columns through the parts of all ranks. Arrays that are not
/// in the same slot on all ranks are copied to and from scratch arrays that are.
template <class T>
void Operators<T>::sweep_z_reaching(Sum &sum, const std::vector<T *> &in, const std::vector<T *> &out) {
  const auto needs = sum.inputs_of(in.size(), 2), makes = sum.outputs_of(2);
  const auto slots = [&](const std::vector<T *> &arrays, const std::vector<bool> &wanted, auto add) {
    for (std::size_t i = 0; i < arrays.size(); ++i)
      add(wanted[i] ? pool_.slot(arrays[i]) : 0);
  };
  std::vector<std::int64_t> extremes; // of slot and of -slot: all ranks have the same slot where both maxima name it
  slots(in, needs, [&](std::int64_t slot) { extremes.insert(extremes.end(), {slot, -slot}); });
  slots(out, makes, [&](std::int64_t slot) { extremes.insert(extremes.end(), {slot, -slot}); });
  nodes_.decomposition().processes().across_cols().max(
      extremes); // this also waits until the inputs of all ranks are complete
  const auto apart = [&](std::size_t i) { return extremes[2 * i] != -extremes[2 * i + 1] || extremes[2 * i] < 0; };
  std::vector<bool> copy_in(in.size()), copy_out(out.size());
  for (std::size_t i = 0; i < in.size(); ++i)
    copy_in[i] = needs[i] && apart(i);
  for (std::size_t o = 0; o < out.size(); ++o)
    copy_out[o] = makes[o] && apart(in.size() + o);
  const std::vector<T *> in_reach = scratch(Pencil::y, 2, copy_in), out_reach = scratch(Pencil::y, 3, copy_out);
  const std::int64_t size = nodes_.decomposition().box(Pencil::y).size();
  for (std::size_t i = 0; i < in.size(); ++i)
    if (copy_in[i])
      std::copy_n(in[i], size, in_reach[i]);
  if (any(copy_in))
    nodes_.wait();
  for (const Term &term : sum.terms)
    if (term.direction == 2) {
      T *from = copy_in[at(term.input)] ? in_reach[at(term.input)] : in[at(term.input)];
      T *into = copy_out[at(term.output)] ? out_reach[at(term.output)] : out[at(term.output)];
      sweep_term(sum, term, nodes_.z_lines(), nodes_.z_start(from), nodes_.z_start(into), sum.begun[at(term.output)]);
    }
  nodes_.wait();
  for (std::size_t o = 0; o < out.size(); ++o)
    if (copy_out[o])
      std::copy_n(out_reach[o], size, out[o]);
}

/// The terms along y and x, for arrays in X pencils that have y whole.
template <class T> void Operators<T>::sweep_planes(Sum &sum, const std::vector<T *> &in, const std::vector<T *> &out) {
  const Index3 count = nodes_.decomposition().box(Pencil::x).count;
  const Index3 plane{count[0], count[1], 1};
  const std::vector<bool> before = sum.begun;
  for (std::int64_t k = 0; k < count[2]; ++k) {
    const std::int64_t start = k * count[0] * count[1];
    sum.begun = before;
    for (const int d : {1, 0})
      for (const Term &term : sum.terms)
        if (term.direction == d)
          sweep_term(sum, term, Lines::along(d, plane), in[at(term.input)] + start, out[at(term.output)] + start,
                     sum.begun[at(term.output)]);
  }
}

template void Operators<float>::combine(const std::vector<Term> &, const std::vector<const float *> &,
                                        const std::vector<float *> &);
template void Operators<double>::combine(const std::vector<Term> &, const std::vector<const double *> &,
                                         const std::vector<double *> &);

} // namespace tailrace::ops
