// The part that all of dds:: has in common, in the shape of OMG's ISO C++ API (formal/2013-09-01): errors, times, handles,
// and entities that are references.
#pragma once

#include <chrono>
#include <concepts>
#include <compare>
#include <cstdint>
#include <limits>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/core/digest.hpp>

namespace spindrift::topics {

/// Keeps an entity for the process, until it is released; what is left at the process's end ends then.
void retain(std::shared_ptr<void> entity);
void release(const void* entity);

}  // namespace spindrift::topics

namespace dds::core {

/// All that these calls throw is one of these, and a std::exception as well. `what()` has the place, the cause and the fix.
class Exception {
 public:
  virtual ~Exception() = default;
  [[nodiscard]] virtual const char* what() const noexcept = 0;
};

/// One of them: a standard exception that is an Exception, too.
template <class Standard>
class StandardException : public Exception, public Standard {
 public:
  using Standard::Standard;
  [[nodiscard]] const char* what() const noexcept override { return Standard::what(); }
};

/// An error that is none of those below.
class Error : public StandardException<std::logic_error> {
  using StandardException::StandardException;
};
/// An entity, its participant or its group is closed.
class AlreadyClosedError : public StandardException<std::logic_error> {
  using StandardException::StandardException;
};
/// A policy that stays as it was when the entity was made; it says which.
class ImmutablePolicyError : public StandardException<std::logic_error> {
  using StandardException::StandardException;
};
class IllegalOperationError : public StandardException<std::logic_error> {
  using StandardException::StandardException;
};
class InvalidArgumentError : public StandardException<std::invalid_argument> {
  using StandardException::StandardException;
};
/// An entity whose kind is known only when the program runs is of another type.
class InvalidDowncastError : public StandardException<std::runtime_error> {
  using StandardException::StandardException;
};
/// The entity is not enabled yet.
class NotEnabledError : public StandardException<std::logic_error> {
  using StandardException::StandardException;
};
/// Policies that do not go with each other.
class InconsistentPolicyError : public StandardException<std::logic_error> {
  using StandardException::StandardException;
};
/// A reference is nil.
class NullReferenceError : public StandardException<std::runtime_error> {
  using StandardException::StandardException;
};
class OutOfResourcesError : public StandardException<std::runtime_error> {
  using StandardException::StandardException;
};
/// Others have it otherwise, such as a topic's type.
class PreconditionNotMetError : public StandardException<std::logic_error> {
  using StandardException::StandardException;
};
class TimeoutError : public StandardException<std::runtime_error> {
  using StandardException::StandardException;
};
/// A part of DDS that is not here; it says which, and why.
class UnsupportedError : public StandardException<std::logic_error> {
  using StandardException::StandardException;
};

/// A length of time, in nanoseconds, or without an end. Not negative.
class Duration {
 public:
  constexpr Duration() noexcept = default;
  constexpr Duration(std::int64_t sec, std::uint32_t nanosec) noexcept : nanoseconds_(sec * 1'000'000'000 + nanosec) {}
  template <class Rep, class Period>
  constexpr Duration(std::chrono::duration<Rep, Period> length) noexcept  // NOLINT: implicit by design
      : nanoseconds_(std::chrono::duration_cast<std::chrono::nanoseconds>(length).count()) {}

  [[nodiscard]] static constexpr Duration zero() noexcept { return {}; }
  [[nodiscard]] static constexpr Duration infinite() noexcept { return std::chrono::nanoseconds::max(); }
  [[nodiscard]] static constexpr Duration from_secs(std::int64_t count) noexcept { return std::chrono::seconds(count); }
  template <std::floating_point Seconds>
  [[nodiscard]] static constexpr Duration from_secs(Seconds count) noexcept {
    constexpr Seconds most = 9'000'000'000;
    return count < most ? Duration(std::chrono::duration<Seconds>(count)) : infinite();
  }
  [[nodiscard]] static constexpr Duration from_millisecs(std::int64_t count) noexcept {
    return std::chrono::milliseconds(count);
  }
  [[nodiscard]] static constexpr Duration from_microsecs(std::int64_t count) noexcept {
    return std::chrono::microseconds(count);
  }

  [[nodiscard]] constexpr std::int64_t sec() const noexcept { return nanoseconds_ / 1'000'000'000; }
  [[nodiscard]] constexpr std::uint32_t nanosec() const noexcept {
    return static_cast<std::uint32_t>(nanoseconds_ % 1'000'000'000);
  }
  [[nodiscard]] constexpr double to_secs() const noexcept { return static_cast<double>(nanoseconds_) / 1e9; }
  [[nodiscard]] constexpr std::int64_t to_millisecs() const noexcept { return nanoseconds_ / 1'000'000; }
  [[nodiscard]] constexpr std::int64_t to_microsecs() const noexcept { return nanoseconds_ / 1'000; }
  [[nodiscard]] constexpr std::int64_t to_nanosecs() const noexcept { return nanoseconds_; }
  constexpr auto operator<=>(const Duration&) const noexcept = default;
  /// Infinite stays infinite.
  constexpr Duration& operator+=(const Duration& other) noexcept {
    const bool ends = *this != infinite() && other != infinite();
    nanoseconds_ = ends ? nanoseconds_ + other.nanoseconds_ : infinite().nanoseconds_;
    return *this;
  }
  constexpr Duration& operator-=(const Duration& other) noexcept { return nanoseconds_ -= other.nanoseconds_, *this; }
  constexpr Duration& operator*=(std::int64_t factor) noexcept { return nanoseconds_ *= factor, *this; }
  constexpr Duration& operator/=(std::int64_t divisor) noexcept { return nanoseconds_ /= divisor, *this; }
  [[nodiscard]] friend constexpr Duration operator+(Duration a, const Duration& b) noexcept { return a += b; }
  [[nodiscard]] friend constexpr Duration operator-(Duration a, const Duration& b) noexcept { return a -= b; }
  [[nodiscard]] friend constexpr Duration operator*(Duration length, std::int64_t by) noexcept { return length *= by; }
  [[nodiscard]] friend constexpr Duration operator/(Duration length, std::int64_t by) noexcept { return length /= by; }

 private:
  std::int64_t nanoseconds_ = 0;
};

/// A point in time, since 1970 in UTC.
class Time {
 public:
  constexpr Time() noexcept = default;
  constexpr Time(std::int64_t sec, std::uint32_t nanosec) noexcept : since_(sec, nanosec) {}
  [[nodiscard]] static constexpr Time from_nanosecs(std::int64_t count) noexcept {
    return Time(count / 1'000'000'000, static_cast<std::uint32_t>(count % 1'000'000'000));
  }

  [[nodiscard]] constexpr std::int64_t sec() const noexcept { return since_.sec(); }
  [[nodiscard]] constexpr std::uint32_t nanosec() const noexcept { return since_.nanosec(); }
  [[nodiscard]] constexpr std::int64_t to_nanosecs() const noexcept { return since_.to_nanosecs(); }
  [[nodiscard]] static constexpr Time from_secs(std::int64_t count) noexcept { return Time(count, 0); }
  [[nodiscard]] static constexpr Time from_millisecs(std::int64_t count) noexcept {
    return from_nanosecs(count * 1'000'000);
  }
  [[nodiscard]] constexpr std::int64_t to_millisecs() const noexcept { return since_.to_millisecs(); }
  constexpr auto operator<=>(const Time&) const noexcept = default;
  constexpr Time& operator+=(const Duration& length) noexcept { return since_ += length, *this; }
  constexpr Time& operator-=(const Duration& length) noexcept { return since_ -= length, *this; }
  [[nodiscard]] friend constexpr Time operator+(Time at, const Duration& length) noexcept { return at += length; }
  [[nodiscard]] friend constexpr Time operator-(Time at, const Duration& length) noexcept { return at -= length; }
  [[nodiscard]] friend constexpr Duration operator-(const Time& a, const Time& b) noexcept { return a.since_ - b.since_; }

 private:
  Duration since_;
};

/// No entity, and no instance.
struct null_type {};
inline constexpr null_type null{};

/// Names an instance of a topic, or a writer or reader of the domain; the same at all participants.
class InstanceHandle {
 public:
  InstanceHandle() = default;
  InstanceHandle(null_type) noexcept {}  // NOLINT: implicit by design
  explicit InstanceHandle(const spindrift::Digest& name) noexcept : name_(name), nil_(false) {}
  [[nodiscard]] static InstanceHandle nil() { return {}; }
  [[nodiscard]] bool is_nil() const noexcept { return nil_; }
  [[nodiscard]] const spindrift::Digest& name() const noexcept { return name_; }  ///< spindrift's own
  bool operator==(const InstanceHandle&) const noexcept = default;
  bool operator==(null_type) const noexcept { return nil_; }
  /// Writes "nil", or 32 hexadecimal digits.
  friend std::ostream& operator<<(std::ostream& to, const InstanceHandle& handle) {
    return to << (handle.nil_ ? std::string("nil") : handle.name_.to_string());
  }
  bool operator<(const InstanceHandle& other) const noexcept {
    return std::pair(nil_, name_.words) < std::pair(other.nil_, other.name_.words);
  }

 private:
  spindrift::Digest name_;
  bool nil_ = true;
};
using InstanceHandleSeq = std::vector<InstanceHandle>;
using StringSeq = std::vector<std::string>;

/// Throws NullReferenceError.
[[noreturn]] void throw_nil();
/// Throws AlreadyClosedError.
[[noreturn]] void throw_closed();

/// Whether it is an entity that can be closed; a condition is none.
template <class Delegate>
concept Closable = requires(Delegate& each) {
  each.close();
  each.closed();
};

/// An entity: copies are the same one, which ends with the last of them, unless it is retained, or when it is closed. Any
/// thread.
template <class Delegate>
class Reference {
 public:
  Reference() = default;
  Reference(null_type) noexcept {}  // NOLINT: implicit by design
  explicit Reference(std::shared_ptr<Delegate> delegate) noexcept : delegate_(std::move(delegate)) {}

  [[nodiscard]] bool is_nil() const noexcept { return delegate_ == nullptr; }
  bool operator==(const Reference& other) const noexcept { return delegate_ == other.delegate_; }
  bool operator==(null_type) const noexcept { return is_nil(); }
  /// spindrift's own part of it. Throws NullReferenceError, AlreadyClosedError.
  [[nodiscard]] const std::shared_ptr<Delegate>& delegate() const {
    if (is_nil()) throw_nil();
    if constexpr (Closable<Delegate>) {
      if (delegate_->closed()) throw_closed();
    }
    return delegate_;
  }
  /// Ends the entity, and all that was made with it, whatever else refers to it: every call of any of them throws
  /// AlreadyClosedError from then on. Returns when none of its listener's functions runs. Throws PreconditionNotMetError: it
  /// is a topic that has writers or readers; IllegalOperationError: a listener closes its own participant.
  void close() requires Closable<Delegate> {
    const std::shared_ptr<Delegate> closing = delegate();
    closing->close();
    spindrift::topics::release(closing.get());
  }
  /// It stays when nothing refers to it any more, until it is closed, or the process ends.
  void retain() requires Closable<Delegate> { spindrift::topics::retain(delegate()); }

 protected:
  std::shared_ptr<Delegate> delegate_;
};

/// An entity as what it is, such as a DataReader<T> that came as AnyDataReader; nil stays nil. Throws InvalidDowncastError:
/// it is of another type.
template <class To, class From>
[[nodiscard]] To polymorphic_cast(const From& from) {
  if (from.is_nil()) return To(null);
  if constexpr (requires { from.template get<typename To::DataType>(); })
    return from.template get<typename To::DataType>();
  else
    return To(from);
}

}  // namespace dds::core
