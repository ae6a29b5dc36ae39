// A node's id as something that one process of a host has at a time, whatever becomes of that process's children.
#pragma once

#include <sys/types.h>

#include <mutex>
#include <optional>
#include <string>

#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::fabric {

/// The lock on a file in a directory, held by this object alone: other processes are kept out by the kernel, which takes
/// the lock back when the process that took it ends, also if a child that it forked lives on; other objects of this process
/// by a list. Move-only; may be used by any thread. An object that a forked child inherits holds nothing and does nothing.
class NodeLock {
 public:
  /// Takes the lock, making the file if it is missing; nothing if somebody has it. The file that is locked is the one that
  /// the name means. Errors: resource.
  [[nodiscard]] static Result<std::optional<NodeLock>> try_take(int directory, const std::string& name);
  /// Whether somebody has it: this process or another.
  [[nodiscard]] static bool held(int directory, const std::string& name);
  /// The process that holds the lock, this one or another; nothing: none does, or it is out of sight and has not written
  /// down yet which it is.
  [[nodiscard]] static std::optional<pid_t> holder(int directory, const std::string& name);

  NodeLock(NodeLock&& other) noexcept;
  NodeLock& operator=(NodeLock&&) = delete;
  ~NodeLock();

  /// Whether this process took it; a child that has a copy of the object did not.
  [[nodiscard]] bool ours() const noexcept;
  /// Whether the name still means the file that is locked.
  [[nodiscard]] bool named(int directory) const noexcept;

 private:
  struct Key {
    dev_t device;
    ino_t directory;
    std::string name;
    auto operator<=>(const Key&) const = default;
  };
  struct Held;

  NodeLock(FileDescriptor file, Key key) noexcept;

  [[nodiscard]] static std::optional<Key> key_of(int directory, const std::string& name);

  FileDescriptor file_;
  Key key_;
  pid_t process_;
};

/// The turn of those who change what lies in a directory: while one lives, nobody else in any process has one.
class Turn {
 public:
  /// Waits for it. Errors: resource.
  [[nodiscard]] static Result<Turn> wait(int directory, const std::string& name);

 private:
  Turn(std::unique_lock<std::mutex> here, FileDescriptor file) noexcept : here_(std::move(here)), file_(std::move(file)) {}

  std::unique_lock<std::mutex> here_;
  FileDescriptor file_;
};

}  // namespace spindrift::fabric
