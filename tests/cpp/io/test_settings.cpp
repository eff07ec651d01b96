// Tests how a series is opened: the priority of engines and parameters, and the arguments for the Lustre program lfs.
#include "io/shared_folder.hpp"
#include <tailrace/io/series.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::io;
namespace fs = std::filesystem;

namespace {

/// Sets an environment variable for the lifetime of this object.
class Environment {
public:
  Environment(const char *name, const std::string &value) : name_(name) {
    if (const char *found = std::getenv(name))
      before_ = found;
    ::setenv(name, value.c_str(), 1);
  }
  ~Environment() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  Environment(const Environment &) = delete;
  Environment &operator=(const Environment &) = delete;

private:
  const char *name_;
  std::optional<std::string> before_;
};

class Settings : public testing::Test {
protected:
  Series open(const std::string &name, const Options &options = {}) {
    return {folder + "/" + name, Mode::write, comm, options};
  }
  static Options with(const std::map<std::string, std::string> &parameters, const std::string &engine = "") {
    Options options;
    options.engine = engine;
    options.parameters = parameters;
    return options;
  }
  template <class Error, class Work> void expect_error(Work work, const std::string &says) {
    try {
      work();
      ADD_FAILURE() << "no error that says: " << says;
    } catch (const Error &error) {
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
  }
  /// Writes one step with one value per rank.
  void write_step(Series &out) {
    const std::int64_t rank = comm.rank();
    const Box block{{rank, 0, 0}, {1, 1, 1}};
    const double value = 1;
    out.begin_step(1, 0);
    out.write("ux", &value, {{comm.size(), 1, 1}, block, block});
    out.end_step();
    out.close();
  }
  static std::string content(const fs::path &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// Puts a program called lfs first on PATH, which writes its arguments and the size of its target to `lfs.log`.
  std::string stand_in(const std::string &setstripe) {
    const fs::path tools = folder + "/tools", script = tools / "lfs";
    if (comm.rank() == 0) {
      fs::create_directories(tools);
      std::ofstream(script) << "#!/bin/sh\n"
                               "for target; do :; done\n"
                               "if [ \"$1\" = getstripe ]; then echo 4; exit 0; fi\n"
                               "bytes=0; [ ! -f \"$target\" ] || bytes=$(wc -c < \"$target\")\n"
                               "[ ! -d \"$target\" ] || bytes=$(ls \"$target\" | wc -l)\n"
                               "echo \"$* [$bytes]\" >> '"
                            << folder << "/lfs.log'\n"
                            << setstripe << "\n";
      fs::permissions(script, fs::perms::owner_all);
    }
    comm.barrier();
    return tools.string() + ":" + std::getenv("PATH");
  }
  Communicator comm{MPI_COMM_WORLD};
  test::SharedFolder made;
  const std::string &folder = made;
};

TEST_F(Settings, TheEngineIsTheCallsThenTheEnvironmentsThenThePaths) {
  EXPECT_EQ(open("a.sion").engine(), "sion");
  const Environment environment("TAILRACE_ENGINE", "raw");
  EXPECT_EQ(open("b.sion").engine(), "raw");
  EXPECT_EQ(open("c.sion", with({}, "null")).engine(), "null");
}

TEST_F(Settings, WhatIsThereIsReadAsWhatItIs) {
  {
    Series out = open("run");
    write_step(out);
  }
  const Environment environment("TAILRACE_ENGINE", "sion");
  EXPECT_EQ(Series(folder + "/run", Mode::read, comm).engine(), "raw");
}

TEST_F(Settings, ParametersOfTheCallWinOverTheEnvironments) {
  const Environment environment("TAILRACE_PARAMETERS", "checksums=off");
  {
    Series out = open("off");
    write_step(out);
  }
  EXPECT_EQ(Series(folder + "/off", Mode::read, comm).unchecked(0), std::vector<std::string>{"ux"});
  {
    Series out = open("on", with({{"checksums", "on"}}));
    write_step(out);
  }
  EXPECT_TRUE(Series(folder + "/on", Mode::read, comm).unchecked(0).empty());
}

TEST_F(Settings, ParametersOfAnotherEngineAreNotOurs) {
  const Environment environment("TAILRACE_PARAMETERS", " sion:files = 2 , raw:checksums=off");
  Series out = open("run");
  write_step(out);
  EXPECT_EQ(Series(folder + "/run", Mode::read, comm).unchecked(0), std::vector<std::string>{"ux"});
}

TEST_F(Settings, UnknownOnesAreErrorsOnAllRanksThatNameTheNearest) {
  const auto try_to_open = [&] { open("run"); };
  {
    const Environment environment("TAILRACE_ENGINE", "sino");
    expect_error<InputError>(try_to_open, "did you mean sion?");
  }
  {
    const Environment environment("TAILRACE_PARAMETERS", "cheksums=off");
    expect_error<InputError>(try_to_open, "did you mean 'checksums'?");
  }
  {
    const Environment environment("TAILRACE_PARAMETERS", "siom:files=2");
    expect_error<InputError>(try_to_open, "did you mean sion?");
  }
  {
    const Environment environment("TAILRACE_PARAMETERS", "checksums");
    expect_error<InputError>(try_to_open, "expected name=value");
  }
  if (comm.size() > 1) { // one rank has different settings
    const Environment environment("TAILRACE_PARAMETERS", comm.rank() == 1 ? "cheksums=off" : "");
    expect_error<InputError>(try_to_open, "did you mean 'checksums'?");
  }
  expect_error<InputError>([&] { open("run", with({{"stripe_size", "4 MB"}})); }, "stripe_size");
}

/// The parameters are the engines and whether an engine writes a file or a directory.
class Striping : public Settings, public testing::WithParamInterface<std::string> {};

TEST_P(Striping, IsSetAsAskedBeforeTheFirstByte) {
  const std::string path = stand_in("[ -e \"$target\" ] || touch \"$target\"");
  const Environment environment("PATH", path);
  std::string notes;
  {
    Series out = open("run", with({{"stripe_count", "8"}, {"stripe_size", "4M"}}, GetParam()));
    for (const auto &note : out.notes())
      notes += note;
    write_step(out);
  }
  comm.barrier();
  const std::string log = content(folder + "/lfs.log");
  EXPECT_EQ(log.rfind("setstripe -c 8 -S 4M " + folder + "/run", 0), 0u) << log;
  EXPECT_EQ(log.find("[0]") + 4, log.size()) << "once, and while there was nothing in it: " << log;
  if (comm.rank() == 0) {
    EXPECT_NE(notes.find("stripe count 4"), std::string::npos) << notes;
  }
}

TEST_P(Striping, RefusedIsAnErrorInItsWords) {
  const std::string path = stand_in("echo 'lfs setstripe: no such pool' >&2; exit 1");
  const Environment environment("PATH", path);
  expect_error<IoError>([&] { open("run", with({{"stripe_count", "8"}}, GetParam())); }, "no such pool");
}

TEST_P(Striping, WithoutLustreIsANote) {
  const Environment environment("PATH", folder); // a PATH without lfs
  const Series out = open("run", with({{"stripe_count", "8"}}, GetParam()));
  std::string notes;
  for (const auto &note : out.notes())
    notes += note;
  if (comm.rank() == 0) {
    EXPECT_NE(notes.find("striping does not apply"), std::string::npos) << notes;
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, Striping, testing::Values("raw", "sion", "hdf5"),
                         [](const auto &engine) { return engine.param; });

} // namespace
