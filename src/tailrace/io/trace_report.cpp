#include <tailrace/io/trace_report.hpp>

#include <tailrace/io/data/json.hpp>
#include <tailrace/io/storage/files.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <map>

namespace tailrace::io {

using nlohmann::json;

std::vector<PhaseSummary> summarise(const Trace &trace, const Communicator &comm) {
  std::vector<PhaseSummary> result;
  for (std::size_t number = 0; number < phase_count; ++number) {
    const auto phase = static_cast<Phase>(number);
    const Trace::Total total = trace.total(phase);
    const std::int64_t calls = comm.sum(total.calls);
    if (calls == 0)
      continue;
    result.push_back({phase, calls, comm.sum(total.bytes), -comm.max(-total.seconds),
                      comm.sum(total.seconds) / comm.size(), comm.max(total.seconds)});
  }
  return result;
}

namespace {

/// Rank 0 writes the result of `join` for the texts of all ranks. Collective.
template <class Join>
void write_together(const std::string &file, const std::string &ours, const Communicator &comm, Join join) {
  const auto all = comm.gather(ours, 0);
  comm.agree([&] {
    if (comm.rank() == 0)
      replace_file(file, join(all), false);
  });
}

} // namespace

void write_chrome_trace(const std::string &file, const std::string &title, const Trace &trace,
                        const Communicator &comm) {
  std::string lines = valid_json_text(json{{"name", "process_name"},
                                           {"ph", "M"},
                                           {"pid", comm.rank()},
                                           {"args", {{"name", fmt::format("rank {}: {}", comm.rank(), title)}}}});
  for (const auto &event : trace.events())
    lines += ",\n" + valid_json_text(json{{"name", name_of(event.phase)},
                                          {"cat", "io"},
                                          {"ph", "X"},
                                          {"ts", 1e6 * event.begin},
                                          {"dur", 1e6 * event.seconds},
                                          {"pid", comm.rank()},
                                          {"tid", event.background ? 1 : 0},
                                          {"args", {{"step", event.step}, {"bytes", event.bytes}}}});
  write_together(file, lines, comm, [](const std::vector<std::string> &all) {
    return fmt::format("{{\"traceEvents\":[\n{}\n]}}\n", fmt::join(all, ",\n"));
  });
}

void write_folded_stacks(const std::string &file, const Trace &trace, const Communicator &comm) {
  std::map<std::string, double> stacks;
  for (const auto &event : trace.events()) {
    std::string stack = fmt::format("rank {}{}", comm.rank(), event.background ? ";background" : "");
    for (std::uint8_t level = 0; level < event.depth; ++level)
      stack += fmt::format(";{}", name_of(static_cast<Phase>(event.outer[static_cast<std::size_t>(level)])));
    stacks[fmt::format("{};{}", stack, name_of(event.phase))] += event.own_seconds;
  }
  std::string lines;
  for (const auto &[stack, seconds] : stacks)
    lines += fmt::format("{} {:.0f}\n", stack, 1e6 * seconds);
  write_together(file, lines, comm,
                 [](const std::vector<std::string> &all) { return fmt::format("{}", fmt::join(all, "")); });
}

} // namespace tailrace::io
