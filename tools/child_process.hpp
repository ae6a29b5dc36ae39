// A process that this command started: this program again, with other arguments, and a pipe to hear from it. It dies with
// its parent, and its parent with a descriptor hears of its death.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::tools {

class ChildProcess {
 public:
  /// Runs this program with `arguments`, to which it appends the number of the pipe's writing end. Call while this process
  /// has one thread. Errors: resource.
  [[nodiscard]] static Result<ChildProcess> start(std::vector<std::string> arguments);

  ChildProcess(ChildProcess&&) noexcept = default;
  ChildProcess& operator=(ChildProcess&&) = delete;
  /// Kills it if it runs.
  ~ChildProcess();

  [[nodiscard]] pid_t id() const noexcept { return id_; }
  /// Readable once the process has ended.
  [[nodiscard]] int process_descriptor() const noexcept { return process_.get(); }
  /// The pipe that it writes to; at its end once nobody can write any more.
  [[nodiscard]] int pipe_descriptor() const noexcept { return pipe_.get(); }

  void send_signal(int signal) const noexcept;
  /// Takes the exit status if the process has ended; true then.
  bool reap() noexcept;
  /// Set once reaped: the exit code, or minus the signal that killed it.
  [[nodiscard]] std::optional<int> status() const noexcept { return status_; }

 private:
  ChildProcess(pid_t id, FileDescriptor process, FileDescriptor pipe) noexcept
      : id_(id), process_(std::move(process)), pipe_(std::move(pipe)) {}

  pid_t id_;
  FileDescriptor process_;  // empty once moved from
  FileDescriptor pipe_;
  std::optional<int> status_;
};

}  // namespace spindrift::tools
