#pragma once

#include <tailrace/support/communicator.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace tailrace::test {

/// A temporary directory whose path all ranks know. Constructor and destructor create and remove it: collective.
class SharedFolder {
public:
  SharedFolder() {
    std::string name;
    if (comm_.rank() == 0) {
      char pattern[] = "/tmp/tailrace_test_XXXXXX";
      name = mkdtemp(pattern);
    }
    path_ = comm_.broadcast(name, 0);
  }
  ~SharedFolder() {
    comm_.barrier();
    std::error_code ignored;
    if (comm_.rank() == 0)
      std::filesystem::remove_all(path_, ignored);
  }
  SharedFolder(const SharedFolder &) = delete;
  SharedFolder &operator=(const SharedFolder &) = delete;

  operator const std::string &() const { return path_; }

private:
  Communicator comm_{MPI_COMM_WORLD};
  std::string path_;
};

} // namespace tailrace::test
