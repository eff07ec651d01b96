#include <tailrace/io/engine/verification.hpp>

#include <tailrace/io/data/block.hpp>
#include <tailrace/io/data/json.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <set>

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

/// The block of a checksum.
Box box_of(const json &sum) {
  return {index3_from_json(sum), {whole_number(sum.at(5)), whole_number(sum.at(4)), whole_number(sum.at(3))}};
}

/// What each rank compares: name -> checksums, where blocks that lie together are of one rank. Adds what is wrong with
/// the checksums themselves to `damage`. Rank 0 does this for all, so that no other rank reads them.
std::vector<json> shares_of(const StepSource &source, int ranks, std::size_t position, json &damage) {
  std::vector<json> shares(static_cast<std::size_t>(ranks), json::object());
  const std::int64_t index = source.steps()[position].index;
  json missing = stored_checksums(source, position); // every variable with a checksum must exist
  missing.get_ref<const json::object_t &>();
  for (const auto &variable : source.variables(position)) {
    const auto found = missing.find(variable.name);
    if (found == missing.end())
      continue;
    double points = 0; // floating point: a damaged shape can have more points than an integer holds
    const std::size_t all = found->size();
    for (std::size_t at = 0; at < all; ++at) {
      json &sum = found->at(at);
      box_of(sum);
      sum.at(6).get_ref<const std::string &>();
      points += sum.at(3).get<double>() * sum.at(4).get<double>() * sum.at(5).get<double>();
      shares[at * shares.size() / all][variable.name].push_back(std::move(sum));
    }
    const auto &n = variable.shape;
    const double whole = static_cast<double>(n[0]) * static_cast<double>(n[1]) * static_cast<double>(n[2]);
    if (points != whole)
      damage.push_back(fmt::format("{}: step {} has checksums of {} points, and its shape is {}", variable.name, index,
                                   points, describe(variable.shape)));
    missing.erase(found);
  }
  for (const auto &[name, sums] : missing.items())
    damage.push_back(fmt::format("{}: step {} has its checksums, and it is not there", name, index));
  return shares;
}

/// The damage in this rank's share.
void verify_share(const StepSource &source, std::size_t position, const json &share, json &damage) {
  if (share.empty())
    return;
  for (const auto &variable : source.variables(position))
    for (const auto &sum : share.value(variable.name, json::array())) {
      std::string line = verify_block(source, position, variable, box_of(sum), sum.at(6).get<std::string>());
      if (!line.empty())
        damage.push_back(std::move(line));
    }
}

/// Runs a part of the work, which finds damage; what cannot be read is damage too.
template <class Work> void or_damage(const StepSource &source, std::size_t position, json &damage, Work work) {
  const std::int64_t index = source.steps()[position].index;
  try {
    work();
  } catch (const json::exception &) {
    damage.push_back(fmt::format("the checksums of step {} are damaged", index));
  } catch (const IoError &error) {
    if (is_stream(source)) // the connection is lost
      throw;
    damage.push_back(fmt::format("step {}: {}", index, error.what()));
  }
}

} // namespace

std::vector<std::string> verify_step(const StepSource &source, const Communicator &comm, std::size_t position) {
  json ours = json::array();
  std::vector<std::string> texts;
  comm.agree([&] {
    if (comm.rank() != 0)
      return;
    std::vector<json> shares(static_cast<std::size_t>(comm.size()), json::object());
    or_damage(source, position, ours, [&] { shares = shares_of(source, comm.size(), position, ours); });
    for (const auto &share : shares)
      texts.push_back(valid_json_text(share));
  });
  const json share = parse_json(comm.scatter(texts, 0));
  comm.agree([&] { or_damage(source, position, ours, [&] { verify_share(source, position, share, ours); }); });
  json all = json::array();
  std::set<std::string> told; // where all ranks find the same
  for (const auto &text : comm.gather(json_text(ours), 0))
    for (const json &line : parse_json(text))
      if (told.insert(line.get<std::string>()).second)
        all.push_back(line);
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
