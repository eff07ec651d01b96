#include <tailrace/io/sst/control/coupling_json.hpp>

#include <tailrace/io/data/json.hpp>

namespace tailrace::io {

using nlohmann::json;

json to_json(const CouplingSide &side) {
  return {{"ranks", side.ranks}, {"steps", side.steps},       {"elapsed", side.elapsed}, {"compute", side.compute},
          {"wait", side.wait},   {"transfer", side.transfer}, {"host", side.host},       {"process", side.process}};
}

CouplingSide side_from_json(const json &text) {
  return {whole_number(text.at("ranks")),
          whole_number(text.at("steps")),
          text.at("elapsed"),
          text.at("compute"),
          text.at("wait"),
          text.at("transfer"),
          "open",
          text.at("host"),
          whole_number(text.at("process"))};
}

} // namespace tailrace::io
