// The engine sst: a stream of steps from one program to others through ADIOS2's SST. It avoids what makes ADIOS2 2.12
// hang or crash:
// - DataTransport is WAN: the other transports need networks and servers that may not be there, and hang or abort.
// - The queue is bounded, and a reader requests what it reads (SpeculativePreloadMode=OFF): otherwise a queue with a
//   reserve and a late reader wait for each other.
// - Opening to write does not wait for a reader (RendezvousReaderCount=0), because that wait has no time limit. The
//   first step waits instead, for as long as `wait_for_reader` says.
// - A call that lasts longer than `timeout` is ended by cutting the connection it waits for, see tcp_sockets.hpp.

#include <tailrace/io/adios2/adios2_types.hpp>
#include <tailrace/io/engine/engine_entry.hpp>
#include <tailrace/io/sst/network/host.hpp>
#include <tailrace/io/sst/sst_options.hpp>
#include <tailrace/support/error.hpp>
#include <tailrace/support/process_identity.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

namespace tailrace::io {

#if TAILRACE_HAVE_ADIOS2

namespace {

const std::vector<std::string> passed{"OpenTimeoutSecs",
                                      "DataTransport",
                                      "NetworkInterface",
                                      "DataInterface",
                                      "QueueLimit",
                                      "ReserveQueueLimit",
                                      "FirstTimestepPrecious",
                                      "SpeculativePreloadMode",
                                      "SpecAutoNodeThreshold",
                                      "ControlModule",
                                      "StatsLevel",
                                      "verbose"};

const std::map<std::string, std::string> &refused() {
  static const std::map<std::string, std::string> all{
      {"RendezvousReaderCount", "ADIOS2 would wait for a reader without a time limit. Use wait_for_reader = SECONDS"},
      {"AlwaysProvideLatestTimestep", "with it ADIOS2's reader crashes. Use policy = drop_oldest"},
      {"QueueFullPolicy", "use policy = block, drop_newest, drop_oldest or adapt"},
      {"MarshalMethod", "the stream is in BP5's form, the only one that carries all of our types"},
      {"CPCommPattern", "the time limits rely on 'Min'"},
      {"ControlTransport", "the time limits and the guard of the ports rely on TCP, which is its default"},
      {"WANDataTransport", "the time limits and the guard of the ports rely on TCP, which is its default"},
      {"ControlInterface", "readers would be told another address. Use NetworkInterface = NAME of the interface"},
      {"RegistrationMethod", "the two ends find each other by the file NAME.sst"},
      {"StepDistributionMode", "every reader gets every step"},
  };
  return all;
}

/// Steps that ADIOS2's queue is longer than ours. We leave out steps ourselves, and ADIOS2 must not do so too when it
/// learns a moment later than we do that a reader is done.
constexpr int spare = 2;

bool is_on(const std::map<std::string, std::string> &given, const std::string &name) {
  const auto found = given.find(name);
  return found != given.end() && Parameters(std::map<std::string, std::string>{*found}).flag(name, false);
}

StreamPolicy policy_of(Parameters &parameters) {
  const std::vector<std::string> all{"block", "drop_newest", "drop_oldest", "adapt"}; // in the order of the enum
  const std::string policy = parameters.text("policy", all.front(), all);
  return static_cast<StreamPolicy>(std::find(all.begin(), all.end(), policy) - all.begin());
}

std::optional<Aggregators> aggregators_of(Parameters &parameters) {
  const std::string name = parameters.text("aggregators", "");
  if (name.empty())
    return std::nullopt;
  const Aggregators given = aggregators_named(name);
  if (given.kind == Aggregators::Kind::plane)
    throw InputError("parameter aggregators = 'plane': a stream needs the same ranks for all variables. Use all, node, "
                     "one, or the number of ranks that send the steps");
  return given;
}

double share_of(Parameters &parameters) {
  const std::string text = parameters.text("share", "0.02");
  char *end = nullptr;
  const double share = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(share > 0 && share < 1))
    throw InputError(fmt::format("parameter share = '{}': expected a number between 0 and 1", text));
  return share;
}

/// ADIOS2 would give readers the address of the first interface, which may lead nowhere.
void choose_interface(std::map<std::string, std::string> &engine) {
  const auto given = engine.find("NetworkInterface");
  if (given != engine.end() && address_of_interface(given->second).empty())
    throw InputError(
        fmt::format("parameter NetworkInterface = '{}': {} has no interface whose name begins so; it has {}",
                    given->second, this_process().host, fmt::join(own_interfaces(), ", ")));
  if (const std::string name = own_interface(); given == engine.end() && !name.empty())
    engine.insert({"NetworkInterface", name});
}

} // namespace

SstOptions sst_options(Mode mode, Parameters &parameters) {
  SstOptions options;
  for (const auto &[name, why] : refused())
    if (!parameters.pass_through({name}).empty())
      throw InputError(fmt::format("engine sst takes no parameter {}: {}", name, why));
  options.engine = parameters.pass_through(passed);
  const auto whole = [&](const std::string &name, std::int64_t fallback, std::int64_t least) {
    if (const auto given = options.engine.find(name); given != options.engine.end())
      return Parameters(std::map<std::string, std::string>{*given}).number(name, fallback, least);
    return fallback;
  };
  options.open_timeout = static_cast<double>(whole("OpenTimeoutSecs", 60, 0));
  options.queue = whole("QueueLimit", 2, 1); // 0: no limit, until memory is full
  options.aggregators = aggregators_of(parameters);
  options.policy = policy_of(parameters);
  options.share = share_of(parameters);
  const bool block = options.policy == StreamPolicy::block;
  options.engine["QueueFullPolicy"] = block ? "Block" : "Discard";
  options.engine["QueueLimit"] = std::to_string(options.queue + (block ? 0 : spare));
  options.keeps_unread = whole("ReserveQueueLimit", 0, 0) > 0 || is_on(options.engine, "FirstTimestepPrecious");
  options.engine.insert_or_assign("RendezvousReaderCount", std::to_string(0));
  options.engine.insert({"DataTransport", "WAN"});
  options.engine.insert({"SpeculativePreloadMode", "OFF"});
  options.timeout = static_cast<double>(parameters.number("timeout", mode == Mode::read ? 600 : 60, 1));
  options.wait_for_reader = static_cast<double>(parameters.number("wait_for_reader", 0, 0));
  options.hosts = networks_from(parameters.text("hosts", ""));
  parameters.finish("sst");
  choose_interface(options.engine);
  return options;
}

namespace {

std::unique_ptr<Engine> open_sst(const OpenRequest &request, Parameters parameters) {
  OpenRequest stream = request;
  SstOptions options;
  request.comm.agree([&] {
    if (request.mode == Mode::append)
      throw InputError(fmt::format("cannot append to {}: a stream keeps no steps; open it to write", request.path));
    if (stream.path.ends_with(".sst")) // the user gave the contact file
      stream.path.resize(stream.path.size() - 4);
    if (stream.path.empty())
      throw InputError("a stream needs a name: sst:NAME");
    options = sst_options(request.mode, parameters);
    if (options.policy == StreamPolicy::adapt && request.background)
      throw InputError(
          "policy = adapt decides in begin_step what a step may cost, and with `buffers` begin_step does not "
          "wait for it. To fix this, leave out `buffers`");
  });
  return request.mode == Mode::read ? open_sst_reader(stream, options) : open_sst_writer(stream, options);
}

} // namespace

#else

namespace {

std::unique_ptr<Engine> open_sst(const OpenRequest &, Parameters) {
  throw InputError("engine sst needs ADIOS2, and this Tailrace was built without it. To fix this, run "
                   "tools/build_adios2.sh and build again with -DTAILRACE_WITH_ADIOS2=ON");
}

} // namespace

#endif

EngineEntry sst_entry() {
  return {{.name = "sst",
           .family = "none",
           .extensions = {".sst"},
           .stores = false,
           .streams = true,
           .types = bp::names_of_adios2_types()},
          open_sst};
}

} // namespace tailrace::io
