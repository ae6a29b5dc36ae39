// Versions of a Persistent field (persistent.hpp): how many are kept, why one cannot be read, and what deltas are.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>

#include <spindrift/core/result.hpp>

namespace spindrift {

/// A time of a node's logs: nanoseconds since 1970, UTC, as the node's clock had it; never earlier than that of what is
/// before it there. A std::chrono::system_clock::time_point converts to one.
using LogTime = std::chrono::sys_time<std::chrono::nanoseconds>;

/// A version of a field that can be read.
struct KeptVersion {
  std::uint64_t version = 0;  ///< of the update that made it: Delivery::version, the same at all members
  LogTime time{};             ///< of that update in the log of this node; differs between members
  friend bool operator==(const KeptVersion&, const KeptVersion&) = default;  ///< whether both are equal
};

/// T can be changed by deltas that are kept instead of copies: it has a type `Delta`, which can be copied, and
/// `apply(const Delta&)`, which changes a value by one. The same deltas on equal values must give equal values.
template <class T>
concept AppliesDeltas = requires(T& value, const typename T::Delta& delta) {
  requires std::copy_constructible<typename T::Delta>;
  value.apply(delta);
};

/// How much a field keeps. The same at all members, as the program is.
struct KeepVersions {
  std::size_t count = 0;  ///< the last so many versions, the present one among them; 0: all that were not trimmed
  /// For types with deltas: a whole copy is kept when so many deltas have followed the one before, so that reading applies
  /// at most so many, and those of one update; at least 1.
  std::size_t deltas_max = 64;
};

/// Whether a field's value as of some version, or time, can be read.
enum class VersionState : std::uint8_t {
  kept,       ///< it can
  never_was,  ///< the field had no version yet then, and will not have one so early
  trimmed,    ///< it had one, which is not kept any more
  not_yet,    ///< what the value will be then is not known here yet
};

/// Thrown where a field's value is asked for that cannot be read. The error's kind is bad_argument, and would_block for
/// `not_yet`. To callers at other members it comes as a ReplicaError.
class NoVersion : public Exception {
 public:
  /// `error` has the words.
  NoVersion(VersionState why, Error error) : Exception(std::move(error)), why_(why) {}
  /// Never `kept`.
  [[nodiscard]] VersionState why() const noexcept { return why_; }

 private:
  VersionState why_;
};

namespace replicated {

/// The question that has no answer, for the words of a NoVersion.
struct AskedVersion {
  std::string words;                   ///< "version 7", "time 1700000000.000000000"
  VersionState state;                  ///< not `kept`
  std::string place;                   ///< of the field
  const KeptVersion* first = nullptr;  ///< kept; null: none is
};
/// Has the words.
[[nodiscard]] NoVersion no_version(const AskedVersion& asked);
/// Seconds since 1970, with nine digits behind the point.
[[nodiscard]] std::string words_of(LogTime time);

}  // namespace replicated
}  // namespace spindrift
