// A process of its own at the other end of a connection.
#pragma once

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace spindrift::fabric::test {

/// A running fabric_peer; killed and waited for at the end of the test.
class Child {
 public:
  /// Over shm, or, if it is told where itself and node 1 listen, over the fabric that it is told after that.
  Child(const std::string& directory, const std::string& id, const std::string& role,
        const std::vector<std::string>& addresses = {}) {
    std::vector<std::string> words{FABRIC_PEER, directory, id, role};
    words.insert(words.end(), addresses.begin(), addresses.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    if (::posix_spawn(&pid_, FABRIC_PEER, nullptr, nullptr, arguments.data(), environ) != 0) {
      throw std::runtime_error("cannot start " FABRIC_PEER);
    }
  }
  ~Child() {
    kill(SIGKILL);
    reap();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void kill(int signal) const {
    if (pid_ > 0) ::kill(pid_, signal);
  }
  int reap() {
    int status = 0;
    if (pid_ > 0) ::waitpid(std::exchange(pid_, -1), &status, 0);
    return status;
  }
  /// Whether it is no more.
  [[nodiscard]] bool ended() {
    int status = 0;
    if (pid_ > 0 && ::waitpid(pid_, &status, WNOHANG) == pid_) pid_ = -1;
    return pid_ < 0;
  }
  [[nodiscard]] pid_t id() const noexcept { return pid_; }
  [[nodiscard]] std::string name(const std::string& node) const {
    return "process " + std::to_string(pid_) + " of node " + node;
  }

 private:
  pid_t pid_ = -1;
};

}  // namespace spindrift::fabric::test
