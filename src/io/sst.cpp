// The engine sst: a stream of steps from one program to others through ADIOS2's SST. Where ADIOS2 2.12 hangs or crashes
// we do not go:
// - DataTransport is WAN: the others need networks and servers that are not there, and hang or abort.
// - The queue is bounded, and the reader asks for what it reads (SpeculativePreloadMode=OFF; else a queue with a
// reserve
//   and a late reader wait for each other).
// - Opening to write does not wait for a reader (RendezvousReaderCount=0, else it would for ever): the first step does,
//   for as long as `wait_for_reader` says.
// - A call that lasts longer than `timeout` is ended by cutting the connection it waits for, see sst_sockets.hpp.

#include <tailrace/io/sst_options.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

namespace tailrace::io {

#if TAILRACE_HAVE_ADIOS2

namespace {

const std::vector<std::string> passed{
    "OpenTimeoutSecs",        "DataTransport",         "WANDataTransport", "ControlTransport",  "NetworkInterface",
    "ControlInterface",       "DataInterface",         "QueueLimit",       "ReserveQueueLimit", "FirstTimestepPrecious",
    "SpeculativePreloadMode", "SpecAutoNodeThreshold", "ControlModule",    "StatsLevel",        "verbose"};

const std::map<std::string, std::string> &refused() {
  static const std::map<std::string, std::string> all{
      {"RendezvousReaderCount", "ADIOS2 would wait for a reader without a time limit. Use wait_for_reader = SECONDS"},
      {"AlwaysProvideLatestTimestep", "with it ADIOS2's reader crashes. Use policy = drop_newest"},
      {"QueueFullPolicy", "use policy = block or policy = drop_newest"},
      {"MarshalMethod", "the stream is in BP5's form, the only one that carries all of our types"},
      {"CPCommPattern", "the time limits rely on 'Min'"},
      {"RegistrationMethod", "the two ends find each other by the file NAME.sst"},
      {"StepDistributionMode", "every reader gets every step"},
  };
  return all;
}

std::string policy_of(Parameters &parameters) {
  const std::string policy = parameters.text("policy", "block", {"block", "drop_newest", "drop_oldest"});
  if (policy == "drop_oldest")
    throw InputError("parameter policy = 'drop_oldest': a step that ADIOS2 has announced to a reader cannot be taken "
                     "back. Use 'drop_newest' with a small QueueLimit");
  return policy == "block" ? "Block" : "Discard";
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
  options.engine["QueueLimit"] = std::to_string(whole("QueueLimit", 2, 1)); // 0: no limit, until memory is full
  whole("ReserveQueueLimit", 0, 0);
  options.engine["QueueFullPolicy"] = policy_of(parameters);
  options.engine.insert_or_assign("RendezvousReaderCount", std::to_string(0));
  options.engine.insert({"DataTransport", "WAN"});
  options.engine.insert({"SpeculativePreloadMode", "OFF"});
  options.timeout = static_cast<double>(parameters.number("timeout", mode == Mode::read ? 600 : 60, 1));
  options.wait_for_reader = static_cast<double>(parameters.number("wait_for_reader", 0, 0));
  parameters.finish("sst");
  return options;
}

std::unique_ptr<Engine> open_sst(const Target &target, Parameters parameters) {
  Target stream = target;
  SstOptions options;
  target.comm.agree([&] {
    if (target.mode == Mode::append)
      throw InputError(fmt::format("cannot append to {}: a stream keeps no steps; open it to write", target.path));
    if (stream.path.ends_with(".sst")) // the contact file was meant
      stream.path.resize(stream.path.size() - 4);
    if (stream.path.empty())
      throw InputError("a stream needs a name: sst:NAME");
    options = sst_options(target.mode, parameters);
  });
  return target.mode == Mode::read ? open_sst_reader(stream, options) : open_sst_writer(stream, options);
}

#else

std::unique_ptr<Engine> open_sst(const Target &, Parameters) {
  throw InputError("engine sst needs ADIOS2, and this Tailrace was built without it. To fix this, run "
                   "tools/build_adios2.sh and build again with -DTAILRACE_WITH_ADIOS2=ON");
}

#endif

} // namespace tailrace::io
