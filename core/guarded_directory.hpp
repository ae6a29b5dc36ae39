// A directory that nobody but this user and root can have made, filled or replaced: found by looking at every directory on
// the way to it, and held open, so that what its name means later does not matter.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift {

/// Opens the directory of an absolute path, one component after the other and each relative to the one before. As sshd asks
/// of a home, each belongs to root or to this user, and others may write it only if it is sticky. Links are followed where
/// they are root's or this user's. Of the last components, at most `made_max` are made if they are missing, for this user
/// alone. Errors: refused (somebody else could replace what is there), resource. The place is the component in question.
[[nodiscard]] Result<FileDescriptor> open_guarded_directory(const std::string& path, std::size_t made_max);

/// The directory of one group. Move-only; its holder reaches its files even if its name is gone.
class GuardedDirectory {
 public:
  /// Opens `<runtime_directory>/<name>`, or makes it, and the runtime directory too. Besides what is said above, it must be
  /// this user's and writable by nobody else, sticky or not. `name` is a plain file name. Errors: refused, resource.
  [[nodiscard]] static Result<GuardedDirectory> open(const std::string& runtime_directory, const std::string& name);

  /// For the calls that end in "at".
  [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }
  /// For people: what it was called when it was opened.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// The path of a file in it, for calls that know nothing but paths; good while this object lives, in this process.
  [[nodiscard]] std::string through(std::string_view file_name) const;

 private:
  GuardedDirectory(FileDescriptor descriptor, std::string path) noexcept
      : descriptor_(std::move(descriptor)), path_(std::move(path)) {}

  FileDescriptor descriptor_;
  std::string path_;
};

}  // namespace spindrift
