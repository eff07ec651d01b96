#include <tailrace/io/engine/verification.hpp>

#include <tailrace/io/data/block.hpp>
#include <tailrace/io/data/json.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tailrace::io {

using nlohmann::json;

namespace {

constexpr std::int64_t most_at_once = std::int64_t{64} << 20; // bytes, so that a block of any size can be verified

bool is_stream(const StepSource &source) { return dynamic_cast<const StreamSource *>(&source) != nullptr; }

json stored_checksums(const StepSource &source, std::size_t position) {
  const std::string text = source.checksums(position);
  return text.empty() ? json::object() : parse_json(text);
}

std::string verify_block(const StepSource &source, std::size_t position, const VariableInfo &variable, const Box &box,
                         const std::string &sum) {
  const std::int64_t index = source.steps()[position].index;
  try {
    check_placement(variable.name, {variable.shape, box, box}, &box, variable.list);
    const auto size = static_cast<std::int64_t>(size_of(variable.type));
    RunningChecksum found;
    std::vector<char> data;
    for_each_piece(box, most_at_once / size, [&](const Box &piece) {
      data.resize(static_cast<std::size_t>(piece.size() * size));
      source.read(position, variable, piece, data.data());
      found.add(data.data(), data.size());
    });
    if (found.text() == sum)
      return {};
    return fmt::format("{}: block {} of step {} differs from its checksum", variable.name, describe(box), index);
  } catch (const Error &error) { // data that cannot be read, or a block outside the shape
    if (is_stream(source) && dynamic_cast<const IoError *>(&error) != nullptr)
      throw; // the connection is lost, which does not mean that data is damaged
    return fmt::format("{}: block {} of step {}: {}", variable.name, describe(box), index, error.what());
  }
}

/// The damage that this rank finds in its share of the blocks.
json damage_of(const StepSource &source, const Communicator &comm, std::size_t position) {
  json lines = json::array();
  int turn = 0; // the ranks take blocks in turn
  const json stored = stored_checksums(source, position);
  json missing = stored; // every variable with a checksum must exist
  for (const auto &variable : source.variables(position)) {
    missing.erase(variable.name);
    double points = 0; // floating point: a damaged shape can have more points than an integer holds
    for (const auto &sum : stored.value(variable.name, json::array())) {
      points += sum.at(3).get<double>() * sum.at(4).get<double>() * sum.at(5).get<double>();
      if (turn++ % comm.size() != comm.rank())
        continue;
      const Box box{index3_from_json(sum), {whole_number(sum.at(5)), whole_number(sum.at(4)), whole_number(sum.at(3))}};
      const std::string damage = verify_block(source, position, variable, box, sum.at(6).get<std::string>());
      if (!damage.empty())
        lines.push_back(damage);
    }
    const auto &n = variable.shape;
    const double whole = static_cast<double>(n[0]) * static_cast<double>(n[1]) * static_cast<double>(n[2]);
    if (stored.contains(variable.name) && points != whole && comm.rank() == 0)
      lines.push_back(fmt::format("{}: step {} has checksums of {} points, and its shape is {}", variable.name,
                                  source.steps()[position].index, points, describe(variable.shape)));
  }
  for (const auto &[name, sums] : missing.items())
    if (comm.rank() == 0)
      lines.push_back(
          fmt::format("{}: step {} has its checksums, and it is not there", name, source.steps()[position].index));
  return lines;
}

} // namespace

std::vector<std::string> verify_step(const StepSource &source, const Communicator &comm, std::size_t position) {
  json ours = json::array();
  comm.agree([&] {
    try {
      ours = damage_of(source, comm, position);
    } catch (const json::exception &) {
      if (comm.rank() == 0)
        ours.push_back(fmt::format("the checksums of step {} are damaged", source.steps()[position].index));
    } catch (const IoError &error) {
      if (is_stream(source)) // the connection is lost
        throw;
      if (comm.rank() == 0)
        ours.push_back(fmt::format("step {}: {}", source.steps()[position].index, error.what()));
    }
  });
  json all = json::array();
  for (const auto &text : comm.gather(json_text(ours), 0)) {
    const json part = parse_json(text);
    all.insert(all.end(), part.begin(), part.end());
  }
  return parse_json(comm.broadcast(valid_json_text(all), 0)).get<std::vector<std::string>>();
}

std::vector<std::string> unchecked_variables(const StepSource &source, std::size_t position) {
  std::vector<std::string> result;
  try {
    const json stored = stored_checksums(source, position);
    for (const auto &variable : source.variables(position))
      if (!stored.contains(variable.name) && product(variable.shape) > 0)
        result.push_back(variable.name);
  } catch (const json::exception &) { // verify_step reports this damage
  }
  return result;
}

} // namespace tailrace::io
