// How far the members of a subgroup are: how much every sender has published, how much of it is here, and what all others
// say that they received and delivered.
//
// The invariant to remember: nothing is acknowledged that is not here with all its bytes, and nothing is stable that
// somebody has not acknowledged.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <spindrift/smc/subgroup_rows.hpp>

namespace spindrift::smc {

class SubgroupProgress {
 public:
  /// `rows` outlive this object.
  explicit SubgroupProgress(SubgroupRows& rows);

  /// Whether a word of that member says more than the last step read.
  [[nodiscard]] bool has_news_from(Rank rank) const;

  /// Messages of each sender, nulls included, that are published as far as is visible here; validated.
  [[nodiscard]] std::span<const std::uint64_t> published() const noexcept { return published_; }
  /// Those of them that are here with all their bytes and were taken; the count may end within a null run.
  [[nodiscard]] std::span<const std::uint64_t> taken() const noexcept { return taken_; }
  /// Sequence numbers below it are here.
  [[nodiscard]] std::uint64_t received() const noexcept { return received_; }
  /// Sequence numbers below it are with every member.
  [[nodiscard]] std::uint64_t stable() const noexcept { return stable_; }
  /// Every member has delivered so far: sequence numbers, or in unordered mode own messages.
  [[nodiscard]] std::uint64_t delivered_everywhere() const noexcept { return delivered_everywhere_; }
  /// Own messages that every member has delivered; both modes.
  [[nodiscard]] std::uint64_t own_delivered_everywhere() const noexcept;
  /// Logged: one more than the frontier below which every member's log is durable, with all before this view; 0: not even
  /// that is.
  [[nodiscard]] std::uint64_t durable_everywhere() const noexcept;
  /// Own messages that another member has delivered, by its position and as last read; both modes.
  [[nodiscard]] std::uint64_t own_delivered_by(std::size_t position) const noexcept;

  /// The other members that have delivered least, if that is not all there is here; for people.
  [[nodiscard]] std::vector<Rank> furthest_behind() const;

  /// The most that a sender can have published. `delivered`: the frontier here, or that sender's messages in unordered mode.
  [[nodiscard]] std::uint64_t published_highest(std::uint64_t delivered) const noexcept;
  /// Reads how much another sender has published. False: the count is impossible.
  [[nodiscard]] bool read_published(std::size_t sender, std::uint64_t highest);
  /// The first `count` messages of a sender are here; true if that is news.
  bool take(std::size_t sender, std::uint64_t count);
  /// The first `count` own messages go out with this step.
  void publish(std::uint64_t count);
  /// Tells the others what is here. Ordered mode; true if that is news.
  bool acknowledge();
  /// Tells the others how far the own log is durable, likewise. True if that is news.
  bool persist(std::uint64_t word);
  /// Reads what all others acknowledge. `delivered` is how far this member is, see `delivered_everywhere`. True if more is
  /// stable than before.
  bool read_acknowledgements(std::uint64_t delivered);

 private:
  struct Member {
    std::uint64_t received = 0;
    std::uint64_t delivered = 0;  ///< in unordered mode, own messages consumed there
    std::uint64_t persisted = 0;
  };
  /// The word in which that member says how far it is with delivering.
  [[nodiscard]] std::uint64_t delivered_word(Rank rank) const;

  SubgroupRows& rows_;
  std::uint64_t window_of_all_;           // records in flight of all senders together
  std::vector<std::uint64_t> published_;  // by sender rank
  std::vector<std::uint64_t> taken_;      // by sender rank
  std::vector<Member> members_;           // by position
  std::uint64_t received_ = 0;
  std::uint64_t stable_ = 0;
  std::uint64_t delivered_everywhere_ = 0;
  std::uint64_t persisted_ = 0;
};

}  // namespace spindrift::smc
