// Runs the `spindrift` command as a user would: its own process, standard input and output, exit code.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include <spindrift/core/file_descriptor.hpp>

namespace spindrift::test {

struct CommandResult {
  int code = -1;  ///< minus the signal that killed it
  std::string output;
  std::string errors;
};

/// A running command. Killed when destroyed before its end.
class Command {
 public:
  explicit Command(std::vector<std::string> arguments, const char* program = SPINDRIFT_COMMAND);
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  [[nodiscard]] pid_t id() const noexcept { return id_; }
  void write(std::string_view text);
  void close_input() { input_.reset(); }
  void send_signal(int signal) const;
  /// Waits until standard output or standard error has held `text`. False if the command ended, or the patience did, before.
  [[nodiscard]] bool wait_for(std::string_view text);
  /// The text that it has written to standard error so far.
  [[nodiscard]] const std::string& errors() const noexcept { return result_.errors; }
  /// The same of standard output.
  [[nodiscard]] const std::string& output() const noexcept { return result_.output; }
  /// Waits for the end. A command that outlasts the patience of a minute is killed, which shows in the code.
  CommandResult finish();

 private:
  bool read_some();

  pid_t id_ = -1;
  FileDescriptor input_;
  FileDescriptor output_;
  FileDescriptor errors_;
  CommandResult result_;
  std::chrono::steady_clock::time_point deadline_;
  bool reaped_ = false;
};

/// Runs a command to its end.
CommandResult run(std::vector<std::string> arguments, std::string_view input = {});

/// A directory of one test, removed with all it holds.
class Directory {
 public:
  Directory();
  ~Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Writes a file and returns its path.
  std::string file(const std::string& name, std::string_view text) const;

 private:
  std::string path_;
};

}  // namespace spindrift::test
