// Operating errors: what failed, where, why, and what to do about it. Never for bugs (check.hpp) nor for a peer's bytes
// (untrusted.hpp).
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <spindrift/core/check.hpp>

namespace spindrift {

/// The kinds of error that a program may want to tell apart; the text is for people. Each kind has one exit code of the
/// command.
enum class ErrorKind {
  bad_config,     ///< the configuration is wrong; nothing was started
  bad_argument,   ///< a call's argument is out of its documented range
  bad_input,      ///< a file or stream is broken
  refused,        ///< a peer refused us, or we refused it: config, version or id differ
  removed,        ///< the others go on without this node: it was silent or unreachable for too long, or broke the protocol
  given_up,       ///< they go on by a revival of the group without this node, and may lack what was delivered here
  no_majority,    ///< less than a majority of the view is left here; the rest may go on without us, so we must not
  member_lost,    ///< a member died before it could answer
  group_closed,   ///< the group is leaving or has left
  lagging,        ///< this member's handler was behind for too long, and by [SPINDRIFT] lagging_member it ended
  handler_failed, ///< a handler of the application threw, which ended this member
  would_block,    ///< no space now and the caller asked not to wait
  timed_out,      ///< others did not come in the configured time
  disk_full,      ///< there is no space on the disk for what must last; goes on when there is
  resource,       ///< the operating system refused: memory, descriptors, permissions
  unsupported,    ///< this machine or provider cannot do it
};

[[nodiscard]] std::string_view to_string(ErrorKind kind) noexcept;

/// An error with its chain of causes. Cheap to move; copies share the causes.
class Error {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}  ///< a sentence without a period

  /// The place where it happened: "derecho.cfg:12", a path, a node.
  Error&& at(std::string place) && { place_ = std::move(place); return std::move(*this); }
  /// The step that the reader can take against it, as an imperative.
  Error&& fix(std::string what_to_do) && { fix_ = std::move(what_to_do); return std::move(*this); }
  /// The error behind this one.
  Error&& because(Error cause) && { cause_ = std::make_shared<const Error>(std::move(cause)); return std::move(*this); }

  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }  ///< for programs
  [[nodiscard]] const std::string& message() const noexcept { return message_; }  ///< what failed
  [[nodiscard]] const std::string& place() const noexcept { return place_; }  ///< as `at` was told; may be empty
  [[nodiscard]] const std::string& fix() const noexcept { return fix_; }  ///< as `fix` was told; may be empty
  [[nodiscard]] const Error* cause() const noexcept { return cause_.get(); }  ///< null: none is known

  /// "place: message; because: …; fix: …" on one line.
  [[nodiscard]] std::string to_string() const;

 private:
  ErrorKind kind_;
  std::string message_;
  std::string place_;
  std::string fix_;
  std::shared_ptr<const Error> cause_;
};

/// The error of a failed system call: "open /dev/shm/x: Permission denied".
[[nodiscard]] Error system_error(std::string_view what, int error_number);

/// A value, or the error that prevented it.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      ///< success   NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  ///< failure   NOLINT: implicit by design

  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }  ///< whether there is a value
  explicit operator bool() const noexcept { return ok(); }                ///< the same

  [[nodiscard]] T& value() & { SPINDRIFT_CHECK(ok()); return std::get<0>(state_); }  ///< CHECKs ok
  [[nodiscard]] const T& value() const& { SPINDRIFT_CHECK(ok()); return std::get<0>(state_); }  ///< CHECKs ok
  [[nodiscard]] T&& value() && { SPINDRIFT_CHECK(ok()); return std::get<0>(std::move(state_)); }  ///< CHECKs ok
  [[nodiscard]] T& operator*() & { return value(); }  ///< CHECKs ok
  [[nodiscard]] const T& operator*() const& { return value(); }  ///< CHECKs ok
  [[nodiscard]] T* operator->() { return &value(); }  ///< CHECKs ok
  [[nodiscard]] const T* operator->() const { return &value(); }  ///< CHECKs ok

  [[nodiscard]] const Error& error() const& { SPINDRIFT_CHECK(!ok()); return std::get<1>(state_); }  ///< CHECKs !ok
  [[nodiscard]] Error&& error() && { SPINDRIFT_CHECK(!ok()); return std::get<1>(std::move(state_)); }  ///< CHECKs !ok

 private:
  std::variant<T, Error> state_;
};
/// Success, or the error that prevented it.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() noexcept = default;
  Result(Error error) : error_(std::make_unique<Error>(std::move(error))) {}  ///< failure   NOLINT: implicit by design

  [[nodiscard]] bool ok() const noexcept { return error_ == nullptr; }  ///< whether it is a success
  explicit operator bool() const noexcept { return ok(); }              ///< the same
  [[nodiscard]] const Error& error() const& { SPINDRIFT_CHECK(!ok()); return *error_; }  ///< CHECKs !ok
  [[nodiscard]] Error&& error() && { SPINDRIFT_CHECK(!ok()); return std::move(*error_); }  ///< CHECKs !ok

 private:
  std::unique_ptr<Error> error_;
};

// Hands an error up: the one way in which a function that returns a Result leaves when a step of it failed. The expression
// may hold commas. A step whose error needs a place or a cause of its own is written out instead.
//
//   SPINDRIFT_TRY(file.write(bytes));                       // for the error alone
//   SPINDRIFT_TRY_ASSIGN(const View view, read_view(path));  // for the value; declares `view` in the enclosing block
#define SPINDRIFT_TRY(...) SPINDRIFT_TRY_AS(SPINDRIFT_TRY_NAME(__COUNTER__), __VA_ARGS__)
#define SPINDRIFT_TRY_ASSIGN(declaration, ...) \
  SPINDRIFT_TRY_ASSIGN_AS(SPINDRIFT_TRY_NAME(__COUNTER__), declaration, __VA_ARGS__)

// Each use names its result differently, so that uses nest and follow each other without shadowing.
#define SPINDRIFT_TRY_JOIN(prefix, number) prefix##number
#define SPINDRIFT_TRY_NAME(number) SPINDRIFT_TRY_JOIN(spindrift_result_, number)
#define SPINDRIFT_TRY_AS(name, ...)                                       \
  do {                                                                    \
    if (auto name = (__VA_ARGS__); !name) return std::move(name).error(); \
  } while (false)
#define SPINDRIFT_TRY_ASSIGN_AS(name, declaration, ...) \
  auto name = (__VA_ARGS__);                            \
  if (!name) return std::move(name).error();            \
  declaration = std::move(name).value()

/// The public API throws this for an operating error. `what()` is `error().to_string()`.
class Exception : public std::exception {
 public:
  explicit Exception(Error error) : error_(std::move(error)), text_(error_.to_string()) {}  ///< of that error
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }  ///< one line
  [[nodiscard]] const Error& error() const noexcept { return error_; }  ///< with kind, place, cause and fix

 private:
  Error error_;
  std::string text_;
};

/// The border between Result inside and exceptions at the public API.
template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw Exception(std::move(result).error());
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

}  // namespace spindrift
