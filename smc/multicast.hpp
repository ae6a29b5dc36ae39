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
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/counters.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/smc/bulk_ring.hpp>
#include <spindrift/smc/delivery.hpp>
#include <spindrift/smc/relay.hpp>
#include <spindrift/smc/ring_reader.hpp>
#include <spindrift/smc/send_ring.hpp>
#include <spindrift/sst/table.hpp>

namespace spindrift::smc {

/// What a subgroup delivers before it is the next one's turn: the upcall with which it has as many messages, or bytes, is
/// the last of its turn.
struct TurnLimits {
  std::uint64_t messages = 1024;
  std::uint64_t bytes = std::uint64_t{1} << 20;
};
inline constexpr TurnLimits no_limits{~std::uint64_t{0}, ~std::uint64_t{0}};

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
  Relay relay = Relay::rotation;
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

/// Where deliveries go. Called by the step, on the poller thread.
class DeliverySink {
 public:
  virtual ~DeliverySink() = default;
  /// The batch, in delivery order; never empty. The payloads are valid until it returns.
  virtual void on_delivery(SubgroupId subgroup, std::span<const Delivery> batch) = 0;
  /// Space became free in the own ring of this subgroup.
  virtual void on_space(SubgroupId subgroup) = 0;
  /// Whether the application is ready to take deliveries of this subgroup; until then they wait, and nothing is lost. Asked
  /// before every batch.
  [[nodiscard]] virtual bool accepts(SubgroupId subgroup) const = 0;
};

/// A peer wrote what no correct member writes.
struct PeerFault {
  NodeId node;
  std::string what;
};

class Multicast {
 public:
  /// Of one at most.
  static constexpr std::size_t counters_max = 16;

  /// The member must be in the subgroup. `table` and `sink` outlive this object; every member's row is attached before the
  /// first step.
  Multicast(SubgroupId id, sst::Table& table, Policy policy, DeliverySink& sink, CounterBlock& counters);
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

  /// The own ring; nothing if this member does not send here.
  [[nodiscard]] SendRing* ring() noexcept { return ring_ ? &*ring_ : nullptr; }
  /// The own ring for large messages; nothing if this member does not send here, or the profile has none.
  [[nodiscard]] BulkRing* bulk_ring() noexcept { return bulk_ ? &*bulk_ : nullptr; }

  /// Whether something waits for `deliver`, perhaps only for the sink to accept it.
  [[nodiscard]] bool deliverable() const noexcept;

  /// Set when a peer's bytes were impossible; until the end of the view the object does nothing more then.
  [[nodiscard]] const std::optional<PeerFault>& fault() const noexcept { return fault_; }

  // Frontiers, for status, shutdown and checkers. Ordered mode unless said otherwise.
  [[nodiscard]] SubgroupId id() const noexcept { return id_; }
  [[nodiscard]] const SubgroupView& subgroup() const noexcept { return subgroup_; }
  [[nodiscard]] std::uint64_t received_frontier() const noexcept { return received_; }
  [[nodiscard]] std::uint64_t stable_frontier() const noexcept { return stable_; }
  [[nodiscard]] std::uint64_t delivered_frontier() const noexcept { return delivered_; }
  /// Own messages that were published and lie beyond the trim; unordered mode, after `finish`.
  [[nodiscard]] std::uint64_t own_beyond(std::span<const std::uint64_t> trim) const noexcept;
  /// Frontier below which every member has delivered; ordered mode.
  [[nodiscard]] std::uint64_t delivered_everywhere() const noexcept { return delivered_everywhere_; }
  /// Own messages that every member has delivered; both modes.
  [[nodiscard]] std::uint64_t own_delivered_everywhere() const noexcept { return own_released_; }
  /// Messages of each sender acknowledged (ordered) or consumed (unordered) here, by sender rank.
  [[nodiscard]] std::span<const std::uint64_t> received_of() const noexcept { return received_of_; }

 private:
  friend class AblatedStepper;

  struct Member {
    Rank rank;
    std::uint64_t received = 0;
    std::uint64_t delivered = 0;
  };
  /// What a rank of the view is here: its position among members and senders, `nowhere` where it is none.
  struct Role {
    std::uint32_t position;
    std::uint32_t sender;
  };
  static constexpr std::uint32_t nowhere = ~std::uint32_t{0};
  /// One large message, as its record and its place in the sender's stream say.
  struct Large {
    std::uint64_t index;    ///< of the message
    std::uint64_t ordinal;  ///< among the sender's large ones, those that were given up left out
    std::uint64_t offset;   ///< in the bulk ring
    std::uint64_t length;
  };
  /// One sender's records, looked at when they are published: which large messages there are, and whether they are here.
  struct Walk {
    RingReader reader;
    std::uint64_t large = 0;      ///< messages met
    std::deque<Large> waiting{};  ///< whose bytes their sources have yet to vouch for, or an earlier one's
    std::deque<Large> duties{};   ///< to be handed on by this member, as soon as they are here
  };
  /// A piece of the own bulk ring.
  struct Piece {
    std::uint64_t index;  ///< of its message
    std::uint64_t end;    ///< in the stream
  };

  /// A sender's place in a round that begins with the sender whose turn it is.
  struct Turn {
    std::size_t place;
    std::size_t sender;
  };

  /// `send_and_receive`, or the part of it that an experiment leaves (smc/multicast_step.hpp).
  template <typename Experiment>
  bool step(std::uint64_t publish_bytes_max, Experiment&& experiment);
  bool receive(std::uint64_t batch_max);
  void queue_owed_nulls();
  bool send(std::uint64_t records_max, std::uint64_t bytes_max);
  bool acknowledge();
  bool read_frontiers();
  bool release_space();

  // large.cpp
  void start_large();
  [[nodiscard]] std::uint64_t held(std::size_t sender, std::uint64_t published);
  [[nodiscard]] bool read_records(std::size_t sender);
  [[nodiscard]] bool is_here(std::size_t sender, const Large& large);
  void hand_on(std::size_t sender, const Large& large);
  void send_large(std::uint64_t published);
  void release_pieces(std::uint64_t count);
  [[nodiscard]] bool waits_for_news_of(std::uint32_t position) const;
  [[nodiscard]] std::uint32_t position_of(std::size_t sender) const noexcept {
    return roles_[sender_ranks_in_view_[sender].value()].position;
  }
  [[nodiscard]] std::uint32_t own_position() const noexcept { return roles_[table_.self().value()].position; }
  [[nodiscard]] std::uint32_t source_of(std::size_t sender, std::uint64_t ordinal, std::uint32_t member) const noexcept;
  [[nodiscard]] bool gets_from_here(std::size_t sender, std::uint64_t ordinal, std::uint32_t member) const noexcept;

  bool deliver_ordered(TurnLimits left);
  bool deliver_unordered(TurnLimits left);
  void put(Delivery& delivery, std::size_t sender, MessageIndex index, SequenceNumber sequence,
           std::span<const std::byte> payload, ViewId view) const;
  bool take(std::size_t sender, SequenceNumber sequence);
  std::uint64_t take_rounds(std::uint64_t next, std::uint64_t end);
  std::uint64_t pass_nulls(std::uint64_t rounds, std::size_t places);
  void finish_ordered(std::span<const std::uint64_t> trim);
  void hand_over();
  bool hand_over_within(TurnLimits& left);
  void hand_over_all();

  [[nodiscard]] std::uint64_t committed_bound(std::size_t sender) const noexcept;
  [[nodiscard]] std::optional<std::uint64_t> read_count(Rank rank, std::uint64_t offset, std::uint64_t known,
                                                        std::uint64_t highest, const char* field);
  [[nodiscard]] const sst::SubgroupBlock& block(Rank rank) const { return *table_.layout(rank).subgroup(id_); }
  void report(Rank rank, std::string what);

  SubgroupId id_;
  sst::Table& table_;
  const SubgroupView& subgroup_;
  Policy policy_;
  DeliverySink& sink_;
  std::optional<SendRing> ring_;
  std::optional<BulkRing> bulk_;
  std::optional<SenderRank> own_sender_rank_;

  std::vector<Rank> sender_ranks_in_view_;  // by sender rank
  std::vector<Member> members_;             // by position in the subgroup
  std::vector<Role> roles_;                 // by rank in the view
  std::vector<RingReader> readers_;         // by sender rank
  std::vector<std::uint64_t> published_;    // by sender rank: messages published, as far as visible here; validated
  std::vector<std::uint64_t> committed_;    // by sender rank: of those, taken here; may end within a null run
  std::vector<std::uint64_t> received_of_;  // by sender rank: acknowledged (ordered) or consumed (unordered)
  std::vector<std::uint64_t> consumed_by_;  // by position, unordered mode: own messages consumed there; validated
  std::vector<Walk> walks_;                 // by sender rank; empty without bulk rings
  std::vector<std::uint64_t> forwarded_;    // by sender rank: own word
  std::vector<std::vector<std::uint64_t>> forwarded_by_;  // by position, by sender rank; validated
  std::deque<Piece> pieces_;                              // of the own bulk ring, in flight
  bool relayed_ = false;                                  // some large messages come from others than their senders
  std::vector<Turn> turns_;      // room for each sender's
  std::vector<Delivery> batch_;  // of the largest size always
  std::size_t batched_ = 0;      // of them, in use
  std::uint64_t batch_bytes_ = 0;

  std::uint64_t window_of_all_ = 0;  // records in flight of all senders together
  std::uint64_t received_ = 0;
  std::uint64_t stable_ = 0;
  std::uint64_t delivered_ = 0;
  std::uint64_t delivered_everywhere_ = 0;
  std::size_t next_sender_ = 0;  // ordered: delivered_ modulo senders; unordered: with whom the next turn begins
  std::uint64_t own_released_ = 0;
  bool wedged_ = false;
  std::optional<PeerFault> fault_;

  Counter sent_messages_;
  Counter sent_null_runs_;
  Counter send_batches_;
  Counter receive_batches_;
  Counter delivered_messages_;
  Counter delivered_bytes_;
  Counter delivered_nulls_;
  Counter delivery_batches_;
  Counter large_sent_;
  Counter large_handed_on_;
};

}  // namespace spindrift::smc
