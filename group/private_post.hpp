// A group's private messages, from a thread that sends one to the handler that takes it: the poller posts what waits as
// there is room, and counts what comes.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <spindrift/core/ids.hpp>
#include <spindrift/group/channel.hpp>
#include <spindrift/group/private_messages.hpp>
#include <spindrift/views/member.hpp>

namespace spindrift::group {

class PrivatePost {
 public:
  explicit PrivatePost(Environment& environment) noexcept : environment_(environment) {}
  /// `member` outlives this. Before any other call.
  void begin(views::Member& member, std::size_t bytes_max);

  // Any thread.
  [[nodiscard]] std::size_t bytes_max() const noexcept { return messages_.bytes_max(); }
  /// As Group::send_private; with a tag, a message of somebody else's than the application's.
  void send(NodeId to, std::span<const std::byte> message, std::uint64_t tag = PrivateMessages::of_application);
  /// The same without waiting: false if it would have to.
  [[nodiscard]] bool try_send(NodeId to, std::span<const std::byte> message);
  /// An answer of a replica; never waits.
  void send_answer(NodeId to, std::uint64_t tag, std::span<const std::byte> message);
  /// No more is taken.
  void close() { messages_.close(); }
  /// The same, and waits until the receivers have taken what was taken of the application here.
  void wind_up();

  // The poller.
  [[nodiscard]] bool any() const noexcept { return messages_.any(); }
  struct Posted {
    bool any = false;
    std::vector<std::vector<std::byte>> to_self;  ///< as if they had come
  };
  /// Posts what there is room for.
  [[nodiscard]] Posted post();
  /// Looks at what a member sent. Nothing: it was for this object.
  [[nodiscard]] std::optional<PrivateMessages::Incoming> open(NodeId from, std::span<const std::byte> message);
  /// The message that `open` returned has been dealt with.
  void on_taken(NodeId from, std::span<const std::byte> message);
  /// Too many answers wait for their callers to apply more of this subgroup's calls.
  [[nodiscard]] bool holds_up(const Channel& subgroup) const noexcept {
    return messages_.crowded() && subgroup.carries_replica();
  }
  /// A member left the view, or was removed from it.
  void on_gone(NodeId node) { messages_.on_gone(node); }
  /// Too many answers wait for their callers to give more.
  [[nodiscard]] bool crowded() const noexcept { return messages_.crowded(); }
  /// The member has left, or failed.
  void end() { messages_.end(); }

 private:
  [[nodiscard]] PrivateRoute route(NodeId to) const;
  [[nodiscard]] bool was_taken(PrivateMessages::Outcome outcome);

  Environment& environment_;
  views::Member* member_ = nullptr;
  PrivateMessages messages_;
};

}  // namespace spindrift::group
