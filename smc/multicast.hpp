// The small-message multicast of one subgroup at one member: a pure protocol object, stepped by the poller.
//
// One step runs the send, receive and delivery predicates once, each over everything that is there (opportunistic batching:
// never waiting for more). The invariant to remember: a frontier in the own row is stored only after what it promises is
// true, and posting happens after all state of the step was computed, by the caller, through Table::push.
//
// From Spindle (sections 3.1–3.4): batching, null-sends as one integer, posting outside of any lock. Different here: bytes
// instead of slots, counts instead of highest numbers, headers validated when they are used.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/counters.hpp>
#include <spindrift/core/histogram.hpp>
#include <spindrift/smc/delivery_order.hpp>
#include <spindrift/smc/large_messages.hpp>
#include <spindrift/smc/latencies.hpp>
#include <spindrift/smc/send_ring.hpp>
#include <spindrift/smc/subgroup_progress.hpp>
#include <spindrift/smc/subgroup_rows.hpp>
#include <spindrift/sst/table.hpp>

namespace spindrift::smc {

/// How much at once. What experiments change besides is in smc/ablation.hpp.
struct Policy {
  std::uint64_t delivery_batch_max = 512;  ///< messages per upcall
  TurnLimits turn{};
  /// Ring bytes are posted only while fewer bytes than these wait for all receivers together: acknowledgements travel behind
  /// them. The greater of a number for the port, enough for 400 Gb/s while the poller is away for 5 µs, and one for each
  /// receiver, so that words to very many do not hold back messages. What sockets take comes on top.
  std::uint64_t unsent_bytes_max = 256 * 1024;
  std::uint64_t unsent_bytes_each = 16 * 1024;
  /// How large messages travel between mirrored rows. The same at all members; `direct` where rows may be mapped.
  Relay relay = relay::rotation;
};

/// Bytes on their way to so many receivers, with which nothing more is published.
[[nodiscard]] constexpr std::uint64_t unsent_most(const Policy& policy, std::uint64_t mirrors) noexcept {
  return std::max(policy.unsent_bytes_max, mirrors * policy.unsent_bytes_each);
}
/// Ring bytes that a step may publish, to `backlog.mirrors` receivers each; at least one record if not 0. Where no receiver
/// is mirrored, all of them.
[[nodiscard]] constexpr std::uint64_t publish_bytes(const Policy& policy, const sst::Table::Backlog& backlog) noexcept {
  if (backlog.mirrors == 0) return ~std::uint64_t{0};
  const std::uint64_t most = unsent_most(policy, backlog.mirrors) + backlog.buffered_bytes;
  if (backlog.unsent_bytes >= most) return 0;
  return (most - backlog.unsent_bytes - 1) / backlog.mirrors + 1;
}

/// Another member, and what it has still to deliver of what this one has published.
struct Lag {
  Rank rank;
  std::uint64_t messages = 0;  ///< of this member, nulls included
  std::uint64_t bytes = 0;     ///< what these take in the own rings, heads and padding included
};

class Multicast {
 public:
  /// One multicast takes at most so many counters.
  static constexpr std::size_t counters_max = 16 + Latencies::counters_count + 2 * Histogram::counters(batch_bounds);

  /// The member must be in the subgroup. `table` and `sink` outlive this object; every member's row is attached before the
  /// first step.
  Multicast(SubgroupId id, sst::Table& table, const Policy& policy, DeliverySink& sink, CounterBlock& counters);
  Multicast(const Multicast&) = delete;
  Multicast& operator=(const Multicast&) = delete;

  /// Prepares reading; call once when all rows are attached.
  void start();

  /// Whether the own application committed something that no step has taken yet. Cheap; the poller asks on every pass.
  [[nodiscard]] bool has_news() const noexcept { return ring_ && ring_->has_committed(); }
  /// Whether a word of that member's row says more of this subgroup than the last step read. Cheap as well.
  [[nodiscard]] bool has_news_from(Rank rank) const;

  /// First half of a pass: send (see `publish_bytes`), receive, acknowledge. Stores frontiers; the caller pushes. True if
  /// anything changed.
  bool send_and_receive(std::uint64_t publish_bytes_max);
  /// Second half: hands everything stable (ordered) or here (unordered) to the sink, as far as the turn goes, then advances
  /// `delivered` in the own row; the caller pushes it with the next pass. True if anything was delivered.
  bool deliver(const TurnLimits& turn);
  /// Behind both, logged subgroups: all before the view, and sequence numbers below `word` - 1, are durable in the own log;
  /// the caller pushes it with the next pass. True if that is news.
  bool persist(std::uint64_t word);
  // Around the first half of a pass that began at `now`: takes the times of own messages (smc/latencies.hpp).
  void on_turn(Time now) {
    if (latencies_) latencies_->on_turn(*ring_, now);
  }
  void on_stepped(Time now);

  /// Whether something waits for `deliver`, perhaps only for the sink to accept it.
  [[nodiscard]] bool deliverable() const noexcept { return !fault() && !wedged_ && delivery_.waiting(); }

  /// Messages, nulls included, that could be delivered so far, and those of them that were handed over; of all senders.
  [[nodiscard]] std::uint64_t deliverable_count() const noexcept { return delivery_.deliverable_count(); }
  [[nodiscard]] std::uint64_t delivered_count() const noexcept { return delivery_.delivered_count(); }

  // The end of a view. After `wedge` neither half of a pass is run any more.

  /// Ends sending and receiving: what was received so far is final, and written to the own row for everybody. Unordered:
  /// hands all of it to the sink first, whether that accepts or not.
  void wedge();
  /// Whether this member holds everything below the trim, messages of each sender, and has delivered nothing beyond.
  [[nodiscard]] bool can_finish(std::span<const std::uint64_t> trim) const noexcept;
  /// Ordered mode: delivers up to it in sequence order, skipping what is beyond. A sender whose bytes are impossible loses
  /// its rest; `fault` says so.
  void finish(std::span<const std::uint64_t> trim);
  /// After `finish`: own messages beyond the trim, in order, committed by the application and not taken before. Nothing: no
  /// more. Valid until the row's memory goes.
  [[nodiscard]] std::optional<std::span<const std::byte>> next_leftover();
  /// Own messages that were published and lie beyond the trim; unordered mode, after `finish`.
  [[nodiscard]] std::uint64_t own_beyond(std::span<const std::uint64_t> trim) const noexcept;

  /// The own ring; null if this member does not send here.
  [[nodiscard]] SendRing* ring() noexcept { return ring_ ? &*ring_ : nullptr; }
  /// The own ring for large messages; null if this member does not send here, or the profile has none.
  [[nodiscard]] BulkRing* bulk_ring() noexcept { return large_ ? large_->ring() : nullptr; }
  /// Set when a peer's bytes were impossible; until the end of the view the object does nothing more then.
  [[nodiscard]] const std::optional<PeerFault>& fault() const noexcept { return rows_.fault(); }

  // How far this member is, for status, shutdown and checkers.
  [[nodiscard]] SubgroupId id() const noexcept { return rows_.id(); }
  [[nodiscard]] const SubgroupView& subgroup() const noexcept { return rows_.subgroup(); }
  /// Frontier below which every member has delivered; ordered mode.
  [[nodiscard]] std::uint64_t delivered_everywhere() const noexcept { return progress_.delivered_everywhere(); }
  /// See SubgroupProgress.
  [[nodiscard]] std::uint64_t durable_everywhere() const noexcept { return progress_.durable_everywhere(); }
  /// Frontier below which this member has delivered; ordered mode.
  [[nodiscard]] std::uint64_t delivered() const noexcept { return delivery_.delivered(); }
  /// Own messages that every member has delivered; both modes.
  [[nodiscard]] std::uint64_t own_delivered_everywhere() const noexcept { return progress_.own_delivered_everywhere(); }
  [[nodiscard]] std::vector<Rank> furthest_behind() const { return progress_.furthest_behind(); }
  /// All other members, by position, with what they have still to deliver of the own messages; empty if this one sends
  /// nothing here.
  [[nodiscard]] std::vector<Lag> lags() const;
  /// Own messages are in the own rings, published or not, that somebody has still to deliver.
  [[nodiscard]] bool holds_messages() const noexcept { return ring_ && ring_->used_percent() > 0; }
  /// How full the fullest is of what bounds own sends: the window, the ring, the ring for large messages; 1 at least where
  /// anything is in use, 0 if this member sends nothing here.
  [[nodiscard]] std::uint64_t ring_used_percent() const noexcept;
  /// Messages of each sender received (ordered) or consumed (unordered) here, by sender rank.
  [[nodiscard]] std::span<const std::uint64_t> received_of() const noexcept {
    return rows_.ordered() ? progress_.taken() : delivery_.consumed();
  }

 private:
  friend class AblatedStepper;

  /// `send_and_receive`, or the part of it that an experiment leaves (smc/multicast_step.hpp).
  template <typename Experiment>
  bool step(std::uint64_t publish_bytes_max, Experiment&& experiment);
  bool receive(std::uint64_t batch_max);
  void queue_owed_nulls();
  bool send(std::uint64_t records_max, std::uint64_t bytes_max);
  bool read_acknowledgements();
  bool release_space();

  SubgroupRows rows_;
  DeliverySink& sink_;
  Counter sent_messages_;
  Counter sent_bytes_;
  Histogram send_sizes_;
  Counter sent_null_runs_;
  Counter send_batches_;
  Counter receive_batches_;
  SubgroupProgress progress_;
  DeliveryOrder delivery_;
  std::optional<SendRing> ring_;
  std::optional<LargeMessages> large_;
  std::optional<Latencies> latencies_;  // with the own ring
  bool wedged_ = false;
};

}  // namespace spindrift::smc
