// The engine adios_hdf5: ADIOS2's HDF5 engine, with one file per step and the sidecar.
//
// Each step has its own file, because an HDF5 file that was open when its program was killed does not open again: then
// only that step is lost. ADIOS2 creates a dataset when a rank puts its values, which is collective in parallel HDF5.
// So all ranks put all variables, with no values where they have none, and all scalars.

#if TAILRACE_HAVE_ADIOS2

#include <adios2/common/ADIOSConfig.h>

#ifdef ADIOS2_HAVE_HDF5

#include <tailrace/io/adios2/contents.hpp>
#include <tailrace/io/adios2/output.hpp>
#include <tailrace/io/adios2/session.hpp>
#include <tailrace/io/data/json.hpp>
#include <tailrace/io/h5/h5.hpp>
#include <tailrace/io/h5/termination.hpp>
#include <tailrace/io/sidecar/sidecar_engine.hpp>
#include <tailrace/io/storage/disk_space.hpp>
#include <tailrace/io/storage/files.hpp>
#include <tailrace/io/storage/mpi_file.hpp>
#include <tailrace/support/file_descriptor.hpp>
#include <tailrace/support/file_watch.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <hdf5.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace tailrace::io {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr std::size_t longest_name = 49; ///< of a variable; of longer ones ADIOS2 reads the beginning, and then fails

/// The name of a variable in the file: of a long name its beginning, and its checksum.
std::string name_in_file(const std::string &name) {
  if (name.size() <= longest_name)
    return name;
  RunningChecksum sum;
  sum.add(name.data(), name.size());
  return fmt::format("{}-{}", name.substr(0, longest_name - 17), sum.text());
}

constexpr std::int64_t around = 4096; ///< more than the bytes that HDF5 needs for each variable, scalar or attribute

/// Calls ADIOS2, which does not look at what HDF5 returns: throws IoError with the cause that HDF5 names, if there is
/// one.
void call(const std::string &what, const std::function<void()> &work) {
  const h5::Failures failures;
  translate(what, [&] {
    try {
      work();
    } catch (const std::exception &) {
      failures.check(what);
      throw;
    }
  });
  failures.check(what);
}

/// A step's file, open to read by one rank.
class StepFile {
public:
  explicit StepFile(const std::string &path) : path_(path) {
    release_name(path);
    call("open " + path, [&] {
      io_ = adios_.DeclareIO("step");
      io_.SetEngine("HDF5");
      engine_ = io_.Open(path, adios2::Mode::Read, MPI_COMM_SELF);
    });
  }
  ~StepFile() {
    try {
      engine_.Close();
    } catch (const std::exception &) { // the file was only read
    }
  }
  StepFile(const StepFile &) = delete;
  StepFile &operator=(const StepFile &) = delete;

  const std::string &path() const { return path_; }
  template <class T> void read(const std::string &name, const Box &box, void *data) {
    auto variable = io_.InquireVariable<T>(name_in_file(name));
    if (!variable || variable.Shape().size() != 3)
      throw IoError(
          fmt::format("cannot read {}: it has no array '{}' of the type that series.jsonl says", path_, name));
    variable.SetSelection({bp::dims(box.start), bp::dims(box.count)});
    call(fmt::format("read {} of {}", name, path_),
         [&] { engine_.Get(variable, static_cast<T *>(data), adios2::Mode::Sync); });
  }

private:
  std::string path_;
  adios2::ADIOS adios_{MPI_COMM_SELF};
  adios2::IO io_;
  adios2::Engine engine_;
};

class AdiosHdf5Engine final : public SidecarEngine {
public:
  AdiosHdf5Engine(const OpenRequest &request, Parameters &parameters);
  ~AdiosHdf5Engine() override;

  void begin_step(const StepInfo &step) override;
  void write(const Block &block) override;
  void end_step(const StepMetadata &metadata) override;
  void abandon_step() noexcept override;

private:
  bool root() const { return request_.comm.rank() == 0; }
  std::vector<std::string> files(const json &step) const override { return {step.at("file").get<std::string>()}; }
  void check(const json &, const VariableInfo &) const override {}
  void close_files() const override { read_.reset(); }
  void read_stored(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const override;
  std::string open_file() const { return file(step_.at("file").get<std::string>()); }
  StepMetadata metadata_of_root(const StepMetadata &metadata) const;
  void reserve(std::int64_t more);
  void meet(const std::string &verb, const std::function<void()> &work);
  void close_file();
  void finish_file();

  std::optional<Adios2Io> adios_; ///< only if the series is open to write
  bp::Output output_;
  adios2::Engine engine_;     ///< of the open step
  std::int64_t reserved_ = 0; ///< bytes of the open step's file
  double failure_timeout_ = 0;
  std::set<std::string> renamed_; ///< variables that have another name in the files, which was told
  std::string failure_;           ///< the error of HDF5 in the open step, on any rank
  mutable std::optional<StepFile> read_;
};

AdiosHdf5Engine::AdiosHdf5Engine(const OpenRequest &request, Parameters &parameters)
    : SidecarEngine(request, "adios_hdf5",
                    "HDF5 files of ADIOS2, one per step, with the step's variables in the group Step0; shapes and "
                    "checksum boxes [z, y, x, nz, ny, nx, xxh3] in the order of axes") {
  Adios2Options options;
  request.comm.agree([&] { options = adios2_options("adios_hdf5", request.path, parameters); });
  failure_timeout_ = options.failure_timeout;
  open();
  if (request.mode != Mode::read)
    adios_.emplace(options, request.path, request.comm.get());
}

/// If an exception of the program left a step open, maybe only on this rank, the file must stay open: HDF5 closes files
/// collectively. All ranks close it when the program ends, or MPI aborts.
AdiosHdf5Engine::~AdiosHdf5Engine() {
  static auto &left_open = *new std::vector<Adios2Io>; // never destroyed: that would close the files
  if (engine_ && request_.comm.size() > 1)
    left_open.push_back(std::move(*adios_));
}

void AdiosHdf5Engine::begin_step(const StepInfo &step) {
  SidecarEngine::begin_step(step);
  step_["file"] = fmt::format("step-{:08d}.h5", step.index);
  adios2::IO &io = adios_->io();
  io.RemoveAllVariables(); // they belong to the file of the previous step
  io.RemoveAllAttributes();
  output_ = bp::Output(io, {}, true);
  const h5::Quiet quiet;          // ADIOS2 reports HDF5's errors
  request_.comm.agree([&] {       // before HDF5 opens the file: HDF5 cannot close a file that it cannot write
    release_name(open_file());    // HDF5 opens the file by MPI-IO
    if (request_.comm.size() > 1) // on one rank it does not
      check_length(open_file());
    check_file_limit(open_file(), 4 * around);
    if (!root())
      return;
    check_free_space(request_.path, 0, request_.comm.size());
    create_file(open_file());      // HDF5 gives no reason when it cannot create the file
    ::unlink(open_file().c_str()); // HDF5 may still have a file of this name open, see above
    const FileDescriptor made(open_file(), O_WRONLY | O_CREAT | O_NOFOLLOW);
    preallocate(open_file(), 0, 4 * around);
  });
  meet("write", [&] {
    engine_ = io.Open(open_file(), adios2::Mode::Write);
    engine_.BeginStep();
  });
  reserved_ = 0;
  failure_.clear();
  reserve(4 * around);
}

/// Runs an ADIOS2 call in which HDF5 writes the step's file. Keeps the error. Collective; same error on all ranks.
void AdiosHdf5Engine::meet(const std::string &verb, const std::function<void()> &work) {
  const std::string path = open_file();
  try {
    guarded_write(request_.comm, failure_timeout_, "HDF5", path, [&] { call(verb + " " + path, work); });
  } catch (const Error &error) {
    failure_ = error.what();
    throw;
  }
}

/// Ensures that the step's file can grow by `more` bytes on every rank, because any rank may write any part of it. Call
/// this after opening the file, because opening truncates it. Collective.
void AdiosHdf5Engine::reserve(std::int64_t more) {
  request_.comm.agree([&] {
    if (root())
      check_free_space(request_.path, more, request_.comm.size());
    check_file_limit(open_file(), reserved_ + more);
    if (root())
      preallocate(open_file(), 0, reserved_ + more);
  });
  reserved_ += more;
}

void AdiosHdf5Engine::write(const Block &block) {
  add_variable(block);
  const auto size = static_cast<std::int64_t>(size_of(block.type));
  const Span span(*request_.trace, Phase::write, block.place.block.size() * size);
  reserve(product(block.place.shape) * size + around); // HDF5 allocates the space immediately
  const h5::Quiet quiet;
  Block named = block;
  named.name = name_in_file(block.name);
  if (named.name != block.name && renamed_.insert(block.name).second)
    request_.notes->push_back(fmt::format("'{}' has the name '{}' in the files: ADIOS2 reads names of {} characters",
                                          block.name, named.name, longest_name));
  meet("write", [&] { output_.put(engine_, named); });
}

/// The metadata of rank 0 as the file has them, on all ranks: without empty texts, on which ADIOS2 ends the program.
/// The sidecar has them all.
StepMetadata AdiosHdf5Engine::metadata_of_root(const StepMetadata &metadata) const {
  Scalars scalars;
  for (const auto &[name, value] :
       scalars_from_json(parse_json(request_.comm.broadcast(valid_json_text(scalars_to_json(metadata.scalars)), 0))))
    if (value != Scalar(std::string()))
      scalars[name_in_file(name)] = value;
  return {std::move(scalars), std::nullopt};
}

/// Rank 0 checks that the file is complete, because ADIOS2 ignores errors when HDF5 closes it.
void AdiosHdf5Engine::finish_file() {
  const h5::Quiet quiet;
  const hid_t opened = H5Fopen(open_file().c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (opened < 0 || H5Lexists(opened, "Step0", H5P_DEFAULT) <= 0)
    throw IoError(fmt::format("cannot write {}: HDF5 could not complete the file", open_file()));
  H5Fclose(opened);
  release_preallocated(open_file());
  step_["bytes"] = fs::file_size(open_file());
  if (!request_.sync)
    return;
  const Span span(*request_.trace, Phase::sync);
  sync_path(open_file());
}

void AdiosHdf5Engine::close_file() {
  try {
    meet("close", [&] { engine_.Close(); });
  } catch (...) {
    h5::skip_termination();
    throw;
  }
  engine_ = {};
}

void AdiosHdf5Engine::end_step(const StepMetadata &metadata) {
  const StepMetadata everyones = metadata_of_root(metadata);
  const StepInfo info{step_.at("index"), step_.at("time")};
  {
    const Span span(*request_.trace, Phase::write);
    const h5::Quiet quiet;
    const auto texts = static_cast<std::int64_t>(valid_json_text(scalars_to_json(everyones.scalars)).size() +
                                                 valid_json_text(attributes_to_json(attributes())).size());
    reserve(2 * texts + around * static_cast<std::int64_t>(4 + everyones.scalars.size() + attributes().size()));
    meet("write", [&] {
      output_.end_step(engine_, info, everyones, true);
      output_.define_attributes(attributes(), request_.grid, true);
      engine_.EndStep();
    });
    close_file();
  }
  request_.comm.agree([&] { root() ? finish_file() : void(); });
  SidecarEngine::end_step(metadata);
}

void AdiosHdf5Engine::abandon_step() noexcept {
  try {
    const h5::Failures failures;
    std::optional<FileWatch> watch; // HDF5 writes when it closes, and may fail again
    if (!failure_.empty())
      watch.emplace(request_.comm, open_file(), failure_timeout_,
                    fmt::format("{}. HDF5 cannot close the file either", failure_));
    if (engine_)
      engine_.Close();
    failures.check("close " + open_file());
  } catch (const std::exception &) { // the file is removed
    h5::skip_termination();
  }
  engine_ = {};
  SidecarEngine::abandon_step();
}

void AdiosHdf5Engine::read_stored(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const {
  const json &told = line(step);
  const std::string path = file(told.at("file").get<std::string>());
  const Span span(*request_.trace, Phase::read, box.size() * static_cast<std::int64_t>(size_of(variable.type)));
  const h5::Quiet quiet;
  if (!read_ || read_->path() != path) {
    read_.reset();
    const FileDescriptor regular(path, O_RDONLY | O_NOFOLLOW); // for the error, because ADIOS2 opens anything
    const std::int64_t bytes = whole_number(told.at("bytes"));
    const std::uintmax_t found = fs::file_size(path);
    if (!std::cmp_equal(found, bytes))
      throw IoError(fmt::format("cannot read {}: it has {} bytes and should have {}", path, found, bytes));
    read_.emplace(path);
  }
  try {
    translate(fmt::format("read {} of {}", variable.name, path), [&] {
      bp::with_type(variable.type, [&](auto zero) { read_->read<decltype(zero)>(variable.name, box, data); });
    });
  } catch (const IoError &) {
    read_.reset(); // ADIOS2 may keep what it was asked for
    throw;
  }
}

} // namespace

std::unique_ptr<Engine> open_adios_hdf5(const OpenRequest &request, Parameters parameters) {
  return std::make_unique<AdiosHdf5Engine>(request, parameters);
}

} // namespace tailrace::io

#else

#include <tailrace/io/engine/engine.hpp>
#include <tailrace/support/error.hpp>

namespace tailrace::io {

std::unique_ptr<Engine> open_adios_hdf5(const OpenRequest &, Parameters) {
  throw InputError(
      "engine adios_hdf5 needs an ADIOS2 with a parallel HDF5, and the one of this Tailrace has none. To fix "
      "this, use hdf5, which works with any HDF5, or build with a parallel HDF5 (docs/install.md)");
}

} // namespace tailrace::io

#endif
#endif
