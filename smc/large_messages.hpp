// The large messages of one subgroup at one member: its own bulk ring, whose bytes go to those who get them from the sender,
// and from those on to the others; and what of other senders' is here.
//
// The invariant to remember: bytes are staged before the word that vouches for them is pushed, the sender's `committed` or,
// of what this member hands on, its `forwarded`.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include <spindrift/core/counters.hpp>
#include <spindrift/smc/bulk_ring.hpp>
#include <spindrift/smc/relay.hpp>
#include <spindrift/smc/ring_reader.hpp>
#include <spindrift/smc/subgroup_rows.hpp>

namespace spindrift::smc {

class LargeMessages {
 public:
  /// The subgroup has bulk rings. `rows` outlive this object; `ring` too, the own one in the row, or null.
  LargeMessages(SubgroupRows& rows, Relay relay, SendRing* ring, CounterBlock& counters);
  /// The rings can be read.
  void start();

  /// The own ring; null if this member does not send here.
  [[nodiscard]] BulkRing* ring() noexcept { return ring_ ? &*ring_ : nullptr; }
  [[nodiscard]] const BulkRing* ring() const noexcept { return ring_ ? &*ring_ : nullptr; }
  /// The first `published` own messages go out with this step. The bytes of the large ones that do.
  std::uint64_t send(std::uint64_t published);
  /// Bytes of the own bulk ring that hold published messages with an index of at least `count`.
  [[nodiscard]] std::uint64_t bytes_behind(std::uint64_t count) const;
  /// Everybody has delivered the first `count` own messages, so everybody who handed one on is through with it.
  void release(std::uint64_t count);

  /// Whether a word of that member for which a message waits says more than the last step read.
  [[nodiscard]] bool has_news_from(std::uint32_t position) const;
  /// How many of the messages that another sender has published are here with all their bytes, up to the first that is not.
  /// On the way this member hands on what it has to. `highest`: how many the sender can have published as others see it.
  /// The count says nothing if bytes or words were impossible (`SubgroupRows::fault`).
  [[nodiscard]] std::uint64_t held(std::size_t sender, std::uint64_t published, std::uint64_t highest);

 private:
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
    std::uint64_t forwarded = 0;  ///< the own word
  };
  /// A piece of the own bulk ring.
  struct Piece {
    std::uint64_t index;  ///< of its message
    std::uint64_t end;    ///< in the stream
  };

  [[nodiscard]] bool relayed() const noexcept { return relay_ != relay::direct && rows_.members() > 2; }
  [[nodiscard]] std::uint32_t position_of(std::size_t sender) const { return rows_.role(rows_.sender(sender)).position; }
  [[nodiscard]] std::uint32_t source_of(std::size_t sender, const Large& large, std::uint32_t member) const;
  [[nodiscard]] bool gets_from_here(std::size_t sender, const Large& large, std::uint32_t member) const;
  /// The word in which that member says what it handed on of the sender's.
  [[nodiscard]] std::uint64_t forwarded_word(std::uint32_t position, std::size_t sender) const;
  [[nodiscard]] bool read_records(std::size_t sender, std::uint64_t published);
  [[nodiscard]] bool is_here(std::size_t sender, const Large& large, std::uint64_t highest);
  void write(std::size_t sender, const Large& large);

  SubgroupRows& rows_;
  Relay relay_;
  std::optional<BulkRing> ring_;
  std::deque<Piece> pieces_;                              // of the own ring, in flight
  std::vector<Walk> walks_;                               // by sender rank
  std::vector<std::vector<std::uint64_t>> forwarded_by_;  // by position, by sender rank; validated
  Counter sent_;
  Counter handed_on_;
};

}  // namespace spindrift::smc
