// The exception that a replica's method threw, on its way to the caller.
#pragma once

#include <cstddef>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace spindrift {

/// The caller of a replicated method gets this for an exception that another replica's method threw, unless it was one of
/// the standard library's: those are thrown as what they were.
class ReplicaError : public std::runtime_error {
 public:
  /// `message` is what `what()` says.
  ReplicaError(std::string type_name, const std::string& message)
      : std::runtime_error(message), type_name_(std::move(type_name)) {}
  /// Name of the type that was thrown, as written in C++.
  [[nodiscard]] const std::string& type_name() const noexcept { return type_name_; }

 private:
  std::string type_name_;
};

namespace replicated {

/// The longest text of an exception that travels, and of its type's name; what is longer is cut.
inline constexpr std::size_t exception_text_max = 400;

/// Appends type and text of `thrown`.
void put_exception(std::vector<std::byte>& to, const std::exception_ptr& thrown);
/// Throws BadBytes. What it returns has the type that was thrown if that is one of the standard library's, otherwise
/// ReplicaError.
[[nodiscard]] std::exception_ptr take_exception(std::span<const std::byte> from);

}  // namespace replicated
}  // namespace spindrift
