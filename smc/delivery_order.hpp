// Takes messages out of the senders' rings and hands them over in the order of the subgroup's mode: one message of each
// sender in turn, or first in, first out per sender.
//
// The invariant to remember: that a message was delivered is stored after the upcall that delivered it, for then its sender
// may overwrite it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/smc/delivery_batch.hpp>
#include <spindrift/smc/ring_reader.hpp>
#include <spindrift/smc/subgroup_progress.hpp>

namespace spindrift::smc {

class DeliveryOrder {
 public:
  /// Upcalls have at most `batch_max` messages. Everything referred to outlives this object.
  DeliveryOrder(SubgroupRows& rows, const SubgroupProgress& progress, std::uint64_t batch_max, DeliverySink& sink,
                CounterBlock& counters);
  /// The rings can be read; not called if the view never begins here.
  void start();

  /// Everything below was delivered; ordered mode.
  [[nodiscard]] std::uint64_t delivered() const noexcept { return delivered_; }
  /// Messages of each sender handed over; unordered mode.
  [[nodiscard]] std::span<const std::uint64_t> consumed() const noexcept { return consumed_; }
  /// Whether there is something to hand over, perhaps only for the sink to accept it.
  [[nodiscard]] bool waiting() const noexcept;

  /// Messages of all senders, nulls included, that could be handed over so far; never falls.
  [[nodiscard]] std::uint64_t deliverable_count() const noexcept;
  /// Those of them that were.
  [[nodiscard]] std::uint64_t delivered_count() const noexcept;

  /// Hands over what is `waiting`, as far as the turn goes. False: the sink takes nothing now.
  bool deliver(const TurnLimits& turn);

  // The end of a view.

  /// Unordered mode: whatever is here, the sink takes it now.
  void hand_over_all();
  /// Ordered mode: goes on in sequence order over what the trim has, and leaves out the rest. A sender whose bytes are
  /// impossible loses its rest.
  void finish(std::span<const std::uint64_t> trim);
  /// The next of the first `end` own messages that was not taken before and is no null.
  [[nodiscard]] std::optional<std::span<const std::byte>> next_own(std::uint64_t end);

 private:
  /// A sender's place in a round that begins with the sender whose turn it is.
  struct Turn {
    std::size_t place;
    std::size_t sender;
  };
  void deliver_ordered(TurnLimits left);
  void deliver_unordered(TurnLimits left);
  bool take(std::size_t sender, SequenceNumber sequence);
  [[nodiscard]] std::uint64_t take_rounds(std::uint64_t next, std::uint64_t end);
  [[nodiscard]] std::uint64_t pass_nulls(std::uint64_t rounds, std::size_t places);

  SubgroupRows& rows_;
  const SubgroupProgress& progress_;
  DeliveryBatch batch_;
  std::vector<RingReader> readers_;      // by sender rank
  std::vector<Turn> turns_;              // room for each sender's
  std::vector<std::uint64_t> consumed_;  // by sender rank
  std::uint64_t delivered_ = 0;
  std::size_t next_sender_ = 0;  // ordered: delivered_ modulo senders; unordered: with whom the next turn begins
  Counter nulls_;
};

/// Reads the ring of that sender, and its large messages.
[[nodiscard]] RingReader reader_of(const SubgroupRows& rows, std::size_t sender);

}  // namespace spindrift::smc
