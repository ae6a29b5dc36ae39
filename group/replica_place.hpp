// The place in the order up to which a replica has applied what was delivered. The poller writes it, any thread reads it.
#pragma once

#include <array>
#include <cstdint>

#include <spindrift/group/feed_end.hpp>
#include <spindrift/group/observation.hpp>

namespace spindrift::replicated {

class ReplicaPlace {
 public:
  ReplicaPlace() noexcept = default;
  ReplicaPlace(const ReplicaPlace&) = delete;
  ReplicaPlace& operator=(const ReplicaPlace&) = delete;

  /// The message has been applied. The poller, in the order; may be said twice of one.
  void advance(const MessagePlace& applied) noexcept;
  /// The last message that was applied here; nothing but zeros: none was since this replica began. Any thread.
  [[nodiscard]] MessagePlace now() const noexcept;
  /// All up to that message is applied here. False: or it is not known, for a state that came says nothing of places. Any
  /// thread.
  [[nodiscard]] bool has(const MessagePlace& place) const noexcept;

 private:
  [[nodiscard]] group::FeedEnd read() const noexcept;

  std::array<std::uint64_t, group::SharedEnd::words> memory_{};
  group::SharedEnd end_{memory_};
  group::FeedEnd applied_;  // the poller's, of which the others read a copy
};

}  // namespace spindrift::replicated
