// The method of a replicated object that runs on a thread now, for fields of the object that want to know of it: which
// message of the log it is for, and up to where the object has been given the log.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include <spindrift/core/result.hpp>

namespace spindrift {

class ReplicaChannel;

namespace replicated {

/// How far one replica is in its log. Stands for the replica: its address is what a field remembers of its object.
class ReplicaProgress {
 public:
  /// `channel` outlives it.
  explicit ReplicaProgress(ReplicaChannel& channel) noexcept : channel_(channel) {}

  /// While it lives, the replica handles the message of that version. On the poller thread.
  class Message {
   public:
    Message(ReplicaProgress& progress, std::uint64_t version) noexcept;
    ~Message();
    Message(const Message&) = delete;
    Message& operator=(const Message&) = delete;

   private:
    ReplicaProgress& progress_;
    const std::uint64_t version_;
  };

  [[nodiscard]] ReplicaChannel& channel() const noexcept { return channel_; }
  /// On the poller thread; nothing: it handles none.
  [[nodiscard]] std::optional<std::uint64_t> under_way() const noexcept { return under_way_; }
  /// The replica has a state that all messages of lower versions led to. While it handles none.
  void begin_at(std::uint64_t version) noexcept { applied_end_.store(version, std::memory_order_release); }
  /// From any thread: all messages of lower versions were handled.
  [[nodiscard]] std::uint64_t applied_end() const noexcept { return applied_end_.load(std::memory_order_acquire); }

 private:
  ReplicaChannel& channel_;
  std::optional<std::uint64_t> under_way_;
  std::atomic<std::uint64_t> applied_end_{0};
};

/// While it lives, its thread is in a method of that replica's object, or in its constructor. Ends on that thread; the last
/// to begin is the first to end.
class MethodScope {
 public:
  enum class Kind : std::uint8_t { making, update, query };

  /// The method runs for the message of that version, or for none. The object is locked.
  MethodScope(const ReplicaProgress& progress, Kind kind, std::optional<std::uint64_t> version = {}) noexcept;
  ~MethodScope();
  MethodScope(const MethodScope&) = delete;
  MethodScope& operator=(const MethodScope&) = delete;

  /// The innermost of the calling thread; null: there is none.
  [[nodiscard]] static const MethodScope* innermost() noexcept;
  /// The innermost of that replica; null: the thread is in no method of it.
  [[nodiscard]] static const MethodScope* of(const ReplicaProgress* progress) noexcept;

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] const ReplicaProgress& progress() const noexcept { return progress_; }
  /// The version of the message that it runs for, also if a method called it that runs for that. Nothing: none.
  [[nodiscard]] std::optional<std::uint64_t> version() const noexcept { return version_; }
  /// The object has seen all messages of lower versions, that of `version` included.
  [[nodiscard]] std::uint64_t applied_end() const noexcept { return applied_end_; }
  /// The time in the log of the message of `version`, which is one; nanoseconds since 1970.
  [[nodiscard]] std::uint64_t time_ns() const;
  /// No message that the object has not seen has a time before this, or will get one; nanoseconds since 1970.
  [[nodiscard]] std::uint64_t settled_ns() const;

 private:
  const ReplicaProgress& progress_;
  const MethodScope* const before_;
  const Kind kind_;
  std::optional<std::uint64_t> version_;
  std::uint64_t applied_end_ = 0;
};

/// The place of a field of an object of that replica, for errors; null: of none that is known.
[[nodiscard]] std::string place_of_field(const ReplicaProgress* progress);
/// The replica whose object's method, or constructor, makes a field on this thread; null: no one's. Throws bad_argument: its
/// subgroup is not logged.
[[nodiscard]] const ReplicaProgress* maker_of_field();
/// The scope of the update under way that changes a field; null: there is none, and the value becomes the initial one.
/// `home`: the replica whose object the field is in, as far as it is known; becomes that of the update. `has_versions`: it
/// has no initial value any more. Throws bad_argument: what runs is no update of that object.
[[nodiscard]] const MethodScope* update_of_field(const ReplicaProgress*& home, bool has_versions);
/// Throws bad_argument: the method under way is an update, which must not depend on times.
void refuse_times_in_update(const ReplicaProgress* home);

}  // namespace replicated
}  // namespace spindrift
