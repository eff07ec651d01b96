// The writing end of a stream. Only rank 0 talks to readers of its own accord (SST's CPCommPattern=Min); the other
// ranks answer requests for data, and wait for rank 0 inside MPI.

#include <tailrace/io/sst_options.hpp>

#if TAILRACE_HAVE_ADIOS2

#include <tailrace/io/attributes_json.hpp>
#include <tailrace/io/block.hpp>
#include <tailrace/io/bp_contents.hpp>
#include <tailrace/io/deadline.hpp>
#include <tailrace/io/sst_contact.hpp>
#include <tailrace/io/sst_sockets.hpp>

#include <adios2.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace tailrace::io {

using nlohmann::json;

namespace {

/// Bytes: the answer that admits a reader describes all ranks and formats and has more than 2000, that to a reader that
/// only asks for the transport has less than 500.
constexpr std::uint64_t least_welcome = 1000;
constexpr int last_attempt = 10; ///< seconds after `timeout` when nothing has helped
constexpr int patience = 5;      ///< calls, a second apart, from one connection that is cut to the next

/// The ports at which ADIOS2 listens for readers in this process, for all of its streams: it opens them with the first.
std::set<int> &stream_ports() {
  static std::set<int> ports;
  return ports;
}

std::vector<TcpConnection> reader_connections() {
  std::vector<TcpConnection> found = tcp_connections();
  std::erase_if(found, [](const TcpConnection &one) { return stream_ports().count(one.local_port) == 0; });
  return found;
}

class SstWriter final : public Engine {
public:
  SstWriter(const Target &target, const SstOptions &options);
  ~SstWriter() override;

  std::vector<StepInfo> steps() const override { return {}; }
  void begin_step(const StepInfo &step) override;
  void write(const Block &block) override;
  void end_step(const StepTail &tail) override;
  void abandon_step() noexcept override;
  void set_attributes(const Attributes &attributes) override { attributes_ = attributes; }
  void close() override;
  std::optional<GridDescription> grid() const override { return target_.grid; }

  // Only a series that was opened to read asks for these.
  Attributes attributes() const override { return {}; }
  std::vector<VariableInfo> variables(std::size_t) const override { return {}; }
  Scalars scalars(std::size_t) const override { return {}; }
  std::string checksums(std::size_t) const override { return {}; }
  void read(std::size_t, const VariableInfo &, const Box &, void *) const override {}

private:
  bool root() const { return target_.comm.rank() == 0; }
  template <class Work> void attempt(const char *what, Work work) const;
  template <class Work> void within_time(Work work);
  void rescue(int call);
  void await_reader();
  bool admit_reader();
  void begin();
  template <class T> void put_block(const Block &block);
  template <class T> void put_value(const std::string &name, const T &value);
  json describe_series() const;

  Target target_;
  SstOptions options_;
  StreamContact contact_;
  Attributes attributes_;
  StepInfo step_;
  json lists_;
  bool waited_ = false, begun_ = false, broken_ = false, open_ = false;
  adios2::ADIOS adios_;
  adios2::IO io_;
  adios2::Engine engine_;
};

/// Runs calls of ADIOS2 that do not wait for other ranks, or end on all of them, and agrees on their outcome.
template <class Work> void SstWriter::attempt(const char *what, Work work) const {
  target_.comm.agree([&] {
    try {
      work();
    } catch (const std::exception &error) {
      throw IoError(fmt::format("cannot {} the stream {}: {}", what, target_.path, error.what()));
    }
  });
}

/// Runs a call of ADIOS2 that waits for readers, who get `timeout` seconds.
template <class Work> void SstWriter::within_time(Work work) {
  target_.comm.barrier(); // a rank that comes late is no fault of the readers
  const Deadline deadline(options_.timeout, [this](int call) { rescue(call); });
  work();
}

SstWriter::SstWriter(const Target &target, const SstOptions &options)
    : target_(target), options_(options), contact_(target.path), adios_(target.comm.get()) {
  target.comm.agree([&] {
    if (root()) {
      contact_.check_writable();
      contact_.claim();
    }
  });
  io_ = adios_.DeclareIO("series");
  io_.SetEngine("SST");
  io_.SetParameters(options.engine);
  const std::set<int> before = listening_ports();
  attempt("open", [&] { engine_ = io_.Open(target_.path, adios2::Mode::Write); });
  open_ = true;
  for (const int port : listening_ports())
    if (before.count(port) == 0)
      stream_ports().insert(port);
}

SstWriter::~SstWriter() {
  if (root() && open_)
    contact_.release();
}

/// A reader takes nothing: to ADIOS2 it shall have died, and be dropped. In rank 0 that is the one silent for longest,
/// one after the other until the call goes on; in the others those that do not even take what was sent to them.
void SstWriter::rescue(int call) {
  if (call % patience != 0) // ADIOS2 may still take leave of the one before, and the next in line may be healthy
    return;
  std::vector<TcpConnection> readers = reader_connections();
  if (!root()) {
    for (const auto &one : readers)
      if (one.unsent > 0)
        cut(one);
    return;
  }
  if (call == 0)
    fmt::print(stderr, "tailrace: stream {}, step {}: a reader has taken nothing for {:g} s and is dropped\n",
               target_.path, step_.index, options_.timeout);
  const auto silent = std::max_element(readers.begin(), readers.end(),
                                       [](const auto &a, const auto &b) { return a.silent < b.silent; });
  if (silent != readers.end())
    return cut(*silent);
  if (call < last_attempt)
    return;
  fmt::print(stderr, "tailrace: stream {}, step {}: ADIOS2 does not come back, though no reader is left; ending\n",
             target_.path, step_.index);
  std::fflush(nullptr);
  std::_Exit(1);
}

/// Before the first step: until a reader has been admitted, or wait_for_reader seconds long.
void SstWriter::await_reader() {
  waited_ = true;
  const Span span(*target_.trace, Phase::wait);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(options_.wait_for_reader);
  enum : std::int64_t { give_up, admit };
  while (options_.wait_for_reader > 0) {
    std::int64_t what = give_up;
    if (root())
      while (std::chrono::steady_clock::now() < end && what == give_up) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        const auto readers = reader_connections();
        if (std::any_of(readers.begin(), readers.end(), [](const auto &one) { return one.bytes_sent > 0; }))
          what = admit;
      }
    if (target_.comm.max(what) == give_up || admit_reader())
      return;
  }
}

/// ADIOS2 admits readers at the end of a step, which they do not get: so we give an empty one, which nobody gets.
/// Whether somebody was admitted shows by the answer that rank 0 sent.
bool SstWriter::admit_reader() {
  const auto sent = [] {
    std::uint64_t sum = 0;
    for (const auto &one : reader_connections())
      sum += one.bytes_sent + static_cast<std::uint64_t>(one.unsent);
    return sum;
  };
  const std::uint64_t before = sent();
  begin();
  within_time([&] { attempt("write to", [&] { engine_.EndStep(); }); });
  begun_ = false;
  return target_.comm.max(std::int64_t{root() && sent() > before + least_welcome}) > 0;
}

void SstWriter::begin_step(const StepInfo &step) {
  if (broken_)
    throw IoError(
        fmt::format("the stream {} is out of use since an error; ADIOS2 cannot drop the step it was in", target_.path));
  step_ = step;
  lists_ = json::object();
  if (!waited_)
    await_reader();
}

/// ADIOS2's step begins with the first thing in it, so that one without anything can be given up.
void SstWriter::begin() {
  if (begun_)
    return;
  begun_ = true;
  attempt("write to", [&] { engine_.BeginStep(); });
}

void SstWriter::abandon_step() noexcept { broken_ = broken_ || begun_; }

template <class T> void SstWriter::put_block(const Block &block) {
  const auto &[shape, part, memory] = block.place;
  auto variable = io_.InquireVariable<T>(block.name);
  if (!variable)
    variable = io_.DefineVariable<T>(block.name, bp::dims(shape), adios2::Dims(3, 0), adios2::Dims(3, 0));
  variable.SetShape(bp::dims(shape));
  if (part.empty())
    return;
  variable.SetSelection({bp::dims(part.start), bp::dims(part.count)});
  variable.SetMemorySelection({{}, {}});
  if (!(memory == part)) {
    const Index3 inside{part.start[0] - memory.start[0], part.start[1] - memory.start[1],
                        part.start[2] - memory.start[2]};
    variable.SetMemorySelection({bp::dims(inside), bp::dims(memory.count)});
  }
  engine_.Put(variable, static_cast<const T *>(block.data), adios2::Mode::Sync);
}

void SstWriter::write(const Block &block) {
  begin();
  const Span span(*target_.trace, Phase::write,
                  block.place.block.size() * static_cast<std::int64_t>(size_of(block.type)));
  attempt("write to", [&] {
    if (block.checksum)
      add_block(*block.checksum, block.place, size_of(block.type), block.data);
    with_type(block.type, [&]<class T>(T) { put_block<T>(block); });
  });
  if (block.list) // ADIOS2 cannot say that a step has a variable without values
    lists_[block.name] = {
        {"type", name_of(block.type)}, {"columns", block.place.shape[0]}, {"rows", block.place.shape[1]}};
}

template <class T> void SstWriter::put_value(const std::string &name, const T &value) {
  auto variable = io_.InquireVariable<T>(name);
  if (!variable)
    variable = io_.DefineVariable<T>(name);
  engine_.Put(variable, value, adios2::Mode::Sync);
}

json SstWriter::describe_series() const {
  json about{{"version", sst_version}, {"attributes", attributes_to_json(attributes_)}};
  if (target_.grid)
    about["grid"] = {
        {"points", target_.grid->points}, {"origin", target_.grid->origin}, {"spacing", target_.grid->spacing}};
  return about;
}

void SstWriter::end_step(const StepTail &tail) {
  begin();
  attempt("write to", [&] {
    if (!root())
      return;
    put_value("step", step_.index);
    put_value("time", step_.time);
    for (const auto &[name, scalar] : tail.scalars)
      std::visit([&, &name = name](const auto &value) { put_value(name, value); }, scalar);
    put_value(sst_series_name, describe_series().dump());
    if (!lists_.empty())
      put_value(sst_lists_name, lists_.dump());
    if (!tail.checksums.empty())
      put_value(sst_checksums_name, tail.checksums);
  });
  const Span span(*target_.trace, Phase::wait);
  within_time([&] { attempt("write to", [&] { engine_.EndStep(); }); });
  begun_ = false;
}

void SstWriter::close() {
  if (!open_ || broken_)
    return;
  open_ = false;
  within_time([&] { attempt("close", [&] { engine_.Close(); }); });
  if (root())
    contact_.release();
}

} // namespace

std::unique_ptr<Engine> open_sst_writer(const Target &target, const SstOptions &options) {
  return std::make_unique<SstWriter>(target, options);
}

} // namespace tailrace::io

#endif
