// An open file descriptor that closes itself. At most one FileDescriptor owns a number at any time.
#pragma once

#include <unistd.h>

#include <utility>

#include <spindrift/core/forks.hpp>

namespace spindrift {

/// Move-only; empty when default-constructed or moved from. Not thread-safe.
class FileDescriptor {
 public:
  FileDescriptor() noexcept = default;
  /// Takes ownership; a negative number, as failed system calls return it, makes an empty one.
  explicit FileDescriptor(int number) noexcept : number_(number < 0 ? none : number) {}
  FileDescriptor(FileDescriptor&& other) noexcept
      : number_(std::exchange(other.number_, none)), kept_(std::exchange(other.kept_, false)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      reset();
      number_ = std::exchange(other.number_, none);
      kept_ = std::exchange(other.kept_, false);
    }
    return *this;
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() { reset(); }

  /// The number for a system call; -1 if empty.
  [[nodiscard]] int get() const noexcept { return number_; }
  explicit operator bool() const noexcept { return number_ != none; }

  void reset() noexcept {
    if (number_ == none) return;
    const int number = std::exchange(number_, none);
    std::exchange(kept_, false) ? close_kept(number) : static_cast<void>(::close(number));
  }

  /// From now on no child that this process forks has it. Unless it is empty.
  void keep_from_children() {
    if (number_ == none || std::exchange(kept_, true)) return;
    spindrift::keep_from_children(number_);
  }

 private:
  static constexpr int none = -1;
  int number_ = none;
  bool kept_ = false;  // from children
};

}  // namespace spindrift
