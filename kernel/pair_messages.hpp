// The messages of a pool's pairs on their way to the users: to ports, or to who asks a pair; and calls, the first messages
// of pairs that nobody knows yet.
//
// Remember: the core keeps the order of a pair's messages, and gives the next one until it was consumed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/kernel/large_fetches.hpp>
#include <spindrift/kernel/listener.hpp>
#include <spindrift/kernel/virtual_pairs.hpp>

namespace spindrift::kernel {

/// A message of an accepted pair.
struct PortMessage {
  PairId from;
  std::vector<std::byte> bytes;
};

class PairMessages {
 public:
  PairMessages(VirtualPairs& pairs, PoolPeers& peers, PoolMemory& memory, LargeFetches& fetches, const PoolOptions& options)
      : pairs_(pairs), peers_(peers), memory_(memory), fetches_(fetches), options_(options) {}

  // These do what Pool's functions of the same names say.
  [[nodiscard]] Result<void> bind(Port port, CompletionQueue& completions, std::uint32_t pairs_max);
  [[nodiscard]] Result<std::optional<PortMessage>> pop(Port port);
  [[nodiscard]] Result<std::optional<PairId>> next_accepted(Port port);
  [[nodiscard]] std::optional<std::vector<std::byte>> take(PairId pair);

  /// A pass begins.
  void set_time(Time now) noexcept { now_ = now; }
  /// A message has come into a buffer of the physical queue pair; the buffer is free again afterwards.
  void on_received(PhysicalPair& physical, const PhysicalEvent& event);
  /// Goes on with large messages.
  void take_fetched();
  /// Looks at the calls that wait, if a place became free since.
  void take_waiting_calls();
  [[nodiscard]] bool may_take_calls() const noexcept { return !waiting_.empty() && places_freed() != freed_seen_; }

  [[nodiscard]] std::uint64_t accepted() const noexcept { return accepted_; }
  [[nodiscard]] std::uint64_t rejected() const noexcept { return rejected_; }

 private:
  void on_call(const vq_header& header, std::span<const std::byte> metadata, std::span<const std::byte> payload);
  void keep(VirtualPair& pair, const vq_header& header, std::span<const std::byte> payload);
  [[nodiscard]] Result<void> hear(const PendingCall& call);
  [[nodiscard]] Result<VirtualPair*> accept(Listener& listener, const PendingCall& call);
  [[nodiscard]] Result<Listener*> listener_at(Port port);
  void note_debt(const VirtualPair& pair);
  void serve(VirtualPair& pair);
  void announce(VirtualPair& pair);
  [[nodiscard]] std::vector<std::byte> take_announced(VirtualPair& pair);
  [[nodiscard]] bool make_room(VirtualPair& pair, std::uint32_t bytes);
  void on_fetched(VirtualPair& pair, std::uint8_t status);
  void consume(VirtualPair& pair);
  [[nodiscard]] std::uint64_t places_freed() const noexcept { return pairs_.freed() + peers_.forgotten(); }

  VirtualPairs& pairs_;
  PoolPeers& peers_;
  PoolMemory& memory_;
  LargeFetches& fetches_;
  const PoolOptions options_;
  std::map<Port, Listener> listeners_;
  PendingCalls waiting_;
  std::uint64_t freed_seen_ = 0;  ///< places, when the waiting calls were looked at
  Time now_{};
  std::uint64_t accepted_ = 0;
  std::uint64_t rejected_ = 0;
};

}  // namespace spindrift::kernel
