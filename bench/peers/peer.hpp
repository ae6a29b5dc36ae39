// The programs of all peers have this in common, Spindrift's own among them: the same members, messages, watch and counting,
// so that nothing but the middleware differs. Each peer's program brings one function, that of a member.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <spindrift/bench/processes.hpp>

namespace spindrift::peers {

inline constexpr std::uint32_t members_max = 16;

struct Options {
  std::uint32_t members = 3;
  std::uint32_t senders = 1;  ///< the first of the members
  std::uint64_t bytes = 1024;
  double warm_up = 0.3;  ///< seconds
  double watch = 1;      ///< seconds
  std::string place;     ///< what the peer needs to find its servers; see its program
};

/// One member's counts, on lines that nobody else writes.
struct alignas(cache_line_bytes) Tally {
  std::atomic<std::uint64_t> delivered{0};
  std::atomic<std::uint64_t> lost{0};
  std::atomic<std::uint64_t> repeated{0};
};

struct PeerArena;

/// A member's view of the run. Member by member in a process of its own.
class Scene {
 public:
  Scene(const PeerArena& arena, std::uint32_t self);

  [[nodiscard]] const Options& options() const noexcept;
  [[nodiscard]] std::uint32_t self() const noexcept { return self_; }
  [[nodiscard]] bool sends() const noexcept { return self_ < options().senders; }

  /// This member is connected to all others; returns when all members are.
  void ready() noexcept;
  /// Senders send until then.
  [[nodiscard]] bool stopped() const noexcept;
  /// This sender will send no more. Once, by every sender.
  void sent_all() noexcept;
  /// Everybody has sent all: receivers may go. Until then they take what comes, so that no sender is stuck.
  [[nodiscard]] bool over() const noexcept;
  /// Sleeps until then.
  void await_over() const noexcept;

  /// The next message of this sender, written to where it is sent from.
  void write(std::span<std::byte> to) noexcept;
  /// The next message of this sender, for middleware that copies it itself.
  [[nodiscard]] std::span<const std::byte> next_message() noexcept;
  /// The last message was written in vain: the next takes its place.
  void take_back() noexcept { --written_; }
  /// A message as it was delivered: reads it, counts it, and counts what was left out before it. What comes again or too
  /// late is counted apart.
  void on_delivery(std::span<const std::byte> message) noexcept;

 private:
  const PeerArena& arena_;
  std::uint32_t self_;
  std::vector<std::byte> source_;
  std::uint64_t written_ = 0;
  std::uint64_t delivered_ = 0;
  std::vector<std::uint64_t> expected_;  ///< by sender
};

/// This thread and those that it starts are in the network namespace of that name from here on. Throws Exception: resource.
void enter_network(const std::string& name);

/// The main function of a peer's program: reads the options, runs `member` in one process per member, and prints one JSON
/// object: messages per second delivered at the member that delivered the fewest, and how many were lost or came twice.
/// `senders_deliver`: whether a sender gets its own messages; otherwise senders do not count.
int run_peer(int argc, char** argv, bool senders_deliver, const std::function<void(Scene&)>& member);

}  // namespace spindrift::peers
