#include <tailrace/io/hdf5/step_reader.hpp>

#include <tailrace/io/data/checksum.hpp>
#include <tailrace/io/engine/series_changed.hpp>
#include <tailrace/io/hdf5/journal/journaled_driver.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>

namespace tailrace::io {

namespace {

constexpr int most_turns = 4;                      // of looking at a file that a writer changes
constexpr auto settling = std::chrono::seconds(4); // longer than the step of the clock of any file system

std::string sum_of_record(hid_t file, std::size_t number) {
  const std::string record = vtkhdf::read_record(file, static_cast<std::int64_t>(number));
  RunningChecksum sum;
  sum.add(record.data(), record.size());
  return sum.text();
}

} // namespace

/// Runs `work` on a file that no writer is changing, and again when a writer changed it nevertheless.
template <class Work> auto StepReader::look(Work work) const {
  for (int turn = 0; turn < most_turns; ++turn) {
    const StableView view(path_);
    try {
      auto found = work(h5::read_file(path_, view.saved()));
      if (view.expired() || !view.changed()) // a long look at what a writer has added to since
        return found;
    } catch (const IoError &) {
      if (!view.changed())
        throw;
    }
  }
  throw series_changed(path_);
}

/// Whether a later change gives the file another stamp. A stamp that we have seen for some time is older than that
/// whatever its clock says, which may be ahead of ours.
bool StepReader::settled(const StableView &view) const {
  const auto now = std::chrono::steady_clock::now();
  if (!watched_ || *watched_ != view.seen()) {
    watched_ = view.seen();
    watched_since_ = now;
  }
  return view.seen().settled || now - watched_since_ > settling;
}

/// The file, which is opened again unless nobody can have changed it: HDF5 keeps in memory what it knows of it, of
/// which each step needs more where there are more.
hid_t StepReader::opened(const StableView &view) const {
  const bool is_settled = settled(view);
  if (!file_ || opened_ != view.seen()) {
    opened_.reset();
    file_ = h5::Handle(); // before the next one: HDF5 takes a file that is open for the same one
    file_ = h5::read_file(path_, view.saved());
    if (is_settled && view.saved() == nullptr)
      opened_ = view.seen();
  }
  return file_;
}

/// Runs `work` on a file in which the step is what it was when it was first read.
template <class Work> auto StepReader::look_at(const vtkhdf::Contents &contents, std::size_t number, Work work) const {
  const auto seen = seen_.find(number);
  const auto same = [&](hid_t file) {
    return vtkhdf::generation_of(file) == contents.generation ||
           (seen != seen_.end() && sum_of_record(file, number) == seen->second);
  };
  for (int turn = 0; turn < most_turns; ++turn) {
    std::optional<std::invoke_result_t<Work, hid_t>> found;
    const StableView view(path_);
    try {
      const hid_t file = opened(view);
      if (!same(file))
        break;
      found = work(file);
    } catch (const IoError &) {
      opened_.reset();
      if (!view.changed())
        throw;
    }
    // A writer that only adds steps goes on during a long read, and changes nothing of this one.
    if (found && (!view.changed() || look(same)))
      return *found;
  }
  throw series_changed(path_, contents.steps.at(number).index);
}

vtkhdf::Contents StepReader::contents() const {
  return look([&](hid_t file) { return vtkhdf::read_contents(file, path_); });
}

std::vector<std::string> StepReader::damage(const vtkhdf::Contents &contents) const {
  const h5::Quiet quiet;
  return look([&](hid_t file) {
    std::vector<std::string> lines = vtkhdf::damage(file, contents);
    if (const std::string why = h5::failure_of(file); !why.empty()) // then all of them may follow from it
      lines.insert(lines.begin(), why);
    return lines;
  });
}

const vtkhdf::Step &StepReader::step(const vtkhdf::Contents &contents, std::size_t number) const {
  const h5::Quiet quiet;
  if (cached_ != number) {
    std::string sum;
    cached_step_ = look_at(contents, number, [&](hid_t file) {
      sum = sum_of_record(file, number);
      return vtkhdf::read_step(file, contents, static_cast<std::int64_t>(number));
    });
    cached_ = number;
    seen_.emplace(number, sum);
  }
  return cached_step_;
}

std::string StepReader::checksums(const vtkhdf::Contents &contents, std::size_t number) const {
  const h5::Quiet quiet;
  const vtkhdf::Step &known = step(contents, number);
  if (known.in_table.empty())
    return known.checksums;
  return look_at(contents, number,
                 [&](hid_t file) { return vtkhdf::read_table(file, known, static_cast<std::int64_t>(number)); });
}

void StepReader::read(const vtkhdf::Contents &contents, std::size_t number, const VariableInfo &variable,
                      const Box &box, void *data) const {
  const h5::Quiet quiet;
  const auto row = static_cast<std::int64_t>(number);
  const std::string path =
      variable.list ? vtkhdf::list_path(variable.name, row) : contents.variables.at(variable.name).path;
  step(contents, number); // so that it is known
  // When a damaged index hides a chunk, HDF5 leaves the array unchanged: then it must not hold older values.
  std::memset(data, 0xff, static_cast<std::size_t>(box.size()) * size_of(variable.type));
  look_at(contents, number, [&](hid_t file) {
    vtkhdf::read_box(file, path, variable, row, box, data);
    return true;
  });
}

} // namespace tailrace::io
