// Headerless binary files, one per variable and step, written by MPI-IO, because the MPI library knows the stripes and
// locks of parallel file systems. Rank 0 writes small files alone, because opening a file on all ranks takes longer.
// Files are read with pread(2), which needs no other rank.

#include <tailrace/grid/box_copy.hpp>
#include <tailrace/io/data/block.hpp>
#include <tailrace/io/data/json.hpp>
#include <tailrace/io/sidecar/sidecar_engine.hpp>
#include <tailrace/io/storage/disk_space.hpp>
#include <tailrace/io/storage/file_array.hpp>
#include <tailrace/io/storage/files.hpp>
#include <tailrace/io/storage/mpi_file.hpp>
#include <tailrace/support/file_descriptor.hpp>
#include <tailrace/support/guarded_call.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>

namespace tailrace::io {

using nlohmann::json;

namespace {

/// Name of a parallel file system whose stripes MPI libraries know, or "".
std::string parallel_file_system(const std::string &path) {
  struct statfs found{};
  if (::statfs(path.c_str(), &found) != 0)
    throw file_error("examine", path, errno);
  switch (static_cast<std::uint32_t>(found.f_type)) {
  case 0x0BD00BD0:
    return "Lustre";
  case 0x47504653:
    return "GPFS";
  case 0x19830326:
    return "BeeGFS";
  case 0xAAD7AAEA:
    return "PanFS";
  default:
    return "";
  }
}

class MpiioEngine final : public SidecarEngine {
public:
  MpiioEngine(const OpenRequest &request, Parameters &parameters);

  void begin_step(const StepInfo &step) override;
  void write(const Block &block) override;

private:
  std::vector<std::string> files(const json &step) const override;
  void check(const json &, const VariableInfo &) const override {}
  void read_stored(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const override;
  void choose(const std::string &transfer);
  void try_hints();
  void prepare(const std::string &path, std::int64_t bytes);
  void write_together(const Block &block, const std::string &path);
  void write_alone(const Block &block, const std::string &path);

  Transfer transfer_ = Transfer::independent;
  Hints hints_;
  std::int64_t collect_bytes_ = std::int64_t{1} << 20;
  double failure_timeout_ = 0;
};

MpiioEngine::MpiioEngine(const OpenRequest &request, Parameters &parameters)
    : SidecarEngine(
          request, "mpiio",
          "headerless, x fastest; shapes and checksum boxes [z, y, x, nz, ny, nx, xxh3] in the order of axes") {
  xdmf_.emplace(request.path);
  std::string transfer;
  request.comm.agree([&] {
    transfer = parameters.text("transfer", "auto", {"auto", "collective", "independent"});
    collect_bytes_ = parameters.number("collect_bytes", collect_bytes_, 0);
    failure_timeout_ = static_cast<double>(parameters.number("failure_timeout", failure_timeout_default, 1));
    hints_ = parameters.prefixed("hints.");
    for (const auto &[name, value] : hints_)
      if (name.empty() || value.empty() || name.size() > MPI_MAX_INFO_KEY || value.size() > MPI_MAX_INFO_VAL)
        throw InputError(fmt::format("parameter hints.{} = '{}': MPI takes names of 1 to {} letters and values of 1 to "
                                     "{}",
                                     name, value, MPI_MAX_INFO_KEY, MPI_MAX_INFO_VAL));
    take(parameters);
    parameters.finish("mpiio");
  });
  open();
  if (request.mode == Mode::read)
    return;
  choose(transfer);
  try_hints();
}

/// Measured on a local disk, two-phase collective writing takes two to four times as long as independent.
void MpiioEngine::choose(const std::string &transfer) {
  const std::string system = request_.comm.from_root([&] { return parallel_file_system(request_.path); });
  const bool automatic = transfer == "auto";
  transfer_ = transfer == "collective" || (automatic && !system.empty()) ? Transfer::collective : Transfer::independent;
  if (automatic)
    request_.notes->push_back(
        system.empty() ? "transfer = independent: the directory is on no parallel file system that we know, and "
                         "collective writing costs more than it gains elsewhere"
                       : fmt::format("transfer = collective: the directory is on {}", system));
}

/// Opens a file in the same way as those of variables, so that errors of MPI-IO and hints that are not accepted are
/// found before the first step.
void MpiioEngine::try_hints() {
  const std::string path = request_.comm.from_root([&] { return create_draft(file("hints")).path; });
  const auto remove = [&] {
    if (request_.comm.rank() == 0)
      ::unlink(path.c_str());
  };
  Hints taken;
  try {
    request_.comm.agree([&] { FileDescriptor(path, O_WRONLY | O_NOFOLLOW); });
    const MpiFile probe(request_.comm, path, hints_, transfer_, failure_timeout_);
    request_.comm.agree([&] { taken = probe.hints(); });
  } catch (...) {
    remove();
    throw;
  }
  remove();
  taken = parse_json(request_.comm.broadcast(valid_json_text(json(taken)), 0))
              .get<Hints>(); // the library may report other hints on each rank
  std::vector<std::string> all;
  for (const auto &[name, value] : taken)
    all.push_back(fmt::format("{} = {}", name, value));
  request_.notes->push_back(all.empty() ? "the MPI library tells of no hints in effect"
                                        : fmt::format("hints in effect: {}", fmt::join(all, ", ")));
  for (const auto &[name, value] : hints_)
    if (const auto found = taken.find(name); found == taken.end() || found->second != value)
      request_.notes->push_back(
          fmt::format("the MPI library did not take the hint {} = {}: {}", name, value,
                      found == taken.end() ? "it does not list it" : fmt::format("in effect is {}", found->second)));
}

std::vector<std::string> MpiioEngine::files(const json &step) const {
  std::vector<std::string> names;
  for (const auto &variable : step.at("variables"))
    names.push_back(variable.at("file"));
  names.push_back(XdmfFiles::snapshot(whole_number(step.at("number"))));
  return names;
}

void MpiioEngine::begin_step(const StepInfo &step) {
  SidecarEngine::begin_step(step);
  step_["number"] = step.index;
}

/// Creates the file and checks that every rank can write all of it. After an error of one rank in a collective write,
/// MPI libraries leave the other ranks waiting, so that errors must be found before.
void MpiioEngine::prepare(const std::string &path, std::int64_t bytes) {
  const Communicator &comm = request_.comm;
  comm.agree([&] {
    if (comm.rank() != 0)
      return;
    const FileDescriptor made = create_file(path);
    if (bytes > 0)
      preallocate(made.get(), path, 0, bytes);
  });
  comm.agree([&] { // after rank 0 has created it
    const FileDescriptor mine(path, O_WRONLY | O_NOFOLLOW);
    if (transfer_ == Transfer::collective)
      check_file_limit(path, bytes);
  });
}

void MpiioEngine::write(const Block &block) {
  const auto size = static_cast<std::int64_t>(size_of(block.type));
  const std::string name = fmt::format("{}-{}.bin", block.name, step_.at("number").get<std::int64_t>());
  add_variable(block)["file"] = name;
  const Span span(*request_.trace, Phase::write, block.place.block.size() * size);
  if (product(block.place.shape) * size <= collect_bytes_)
    write_alone(block, file(name));
  else
    write_together(block, file(name));
  if (request_.comm.rank() == 0)
    made(file(name));
}

/// Writes by MPI-IO. The file is opened and closed here, because MPI_File_close is collective after collective
/// transfer: if a file stayed open between two calls, a rank that fails in between would leave the others waiting in
/// it.
void MpiioEngine::write_together(const Block &block, const std::string &path) {
  prepare(path, product(block.place.shape) * static_cast<std::int64_t>(size_of(block.type)));
  if (product(block.place.shape) == 0)
    return;
  MpiFile shared(request_.comm, path, hints_, transfer_, failure_timeout_);
  shared.write(0, block, request_.sync);
  if (request_.sync) {
    const Span waiting(*request_.trace, Phase::sync);
    shared.sync();
  }
}

namespace {

/// A block as a message: its box, then its values.
std::string packed(const Block &block) {
  const Box &part = block.place.block;
  const std::size_t bytes = static_cast<std::size_t>(part.size()) * size_of(block.type);
  std::string text(sizeof part + bytes, '\0');
  std::memcpy(text.data(), &part, sizeof part);
  convert_block(block.place, block.type, block.type, block.data, text.data() + sizeof part);
  if (block.checksum)
    block.checksum->add(text.data() + sizeof part, bytes);
  return text;
}

/// Copies the values of a received block to their places in the whole array.
void unpack(const std::string &text, const Index3 &shape, std::size_t size, char *whole) {
  Box part;
  std::memcpy(static_cast<void *>(&part), text.data(), sizeof part);
  grid::copy_part(part, size, part, text.data() + sizeof part, {{0, 0, 0}, shape}, whole);
}

} // namespace

/// Rank 0 gathers the blocks of all ranks and writes them.
void MpiioEngine::write_alone(const Block &block, const std::string &path) {
  const Communicator &comm = request_.comm;
  std::string ours;
  std::exception_ptr failure; // kept until all ranks have taken part in the gather
  try {
    ours = packed(block);
  } catch (...) {
    failure = std::current_exception();
  }
  const std::vector<std::string> all = comm.gather(ours, 0);
  comm.agree([&] {
    if (failure)
      std::rethrow_exception(failure);
    if (comm.rank() != 0)
      return;
    const std::size_t size = size_of(block.type);
    std::string whole(static_cast<std::size_t>(product(block.place.shape)) * size, '\0');
    for (const auto &text : all)
      if (!text.empty()) // the text of a rank that failed is empty
        unpack(text, block.place.shape, size, whole.data());
    const FileDescriptor made = create_file(path);
    write_all(made.get(), whole.data(), static_cast<std::int64_t>(whole.size()), 0, path);
    if (!request_.sync)
      return;
    const Span span(*request_.trace, Phase::sync);
    if (::fsync(made.get()) != 0)
      throw file_error("sync", path, errno);
  });
}

void MpiioEngine::read_stored(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const {
  const std::string path = file(stored(step, variable.name).at("file").get<std::string>());
  const Span span(*request_.trace, Phase::read, box.size() * static_cast<std::int64_t>(size_of(variable.type)));
  const FileDescriptor binary(path, O_RDONLY | O_NOFOLLOW);
  read_box(binary.get(), path, 0, variable.shape, box, size_of(variable.type), data);
}

std::unique_ptr<Engine> open_mpiio(const OpenRequest &request, Parameters parameters) {
  return std::make_unique<MpiioEngine>(request, parameters);
}

} // namespace

EngineEntry mpiio_entry() {
  EngineTraits traits{.name = "mpiio", .family = "mpiio"};
  traits.longest_name = 200; // of a file at most 255, with its number and what drafts are called
  traits.step_files = {"{variable}-[0-9]*.bin", "snapshot-[0-9]*.xdmf", "series.xdmf"};
  traits.model = {.pattern = "shared",
                  .file_per_variable = true,
                  .collective_parameter = "transfer",
                  .collective_default = "auto",
                  .preference = 5};
  return sidecar_entry(std::move(traits), open_mpiio);
}

} // namespace tailrace::io
