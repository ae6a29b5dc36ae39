// A record of what a member of a group delivered, in so few words that all messages of a long run fit: a judge that has the
// records of all members finds messages that were lost, doubled, out of order or damaged, and sequences that differ.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spindrift/core/ids.hpp>
#include <spindrift/smc/delivery.hpp>

namespace spindrift::bench {

inline constexpr std::size_t recorded_views_max = 256;
inline constexpr std::size_t recorded_nodes_max = 32;  ///< their ids are below it
inline constexpr std::uint64_t stamped_bytes_min = 16;

/// Marks a payload of at least `stamped_bytes_min` at both of its ends as the sender's message of that number, from 1 on.
void stamp(std::span<std::byte> payload, NodeId sender, std::uint64_t number) noexcept;

/// The members of a view, each a bit by its id.
using MemberSet = std::uint64_t;
[[nodiscard]] constexpr MemberSet member_bit(std::size_t node) noexcept { return MemberSet{1} << node; }

struct DeliveredView {
  MemberSet members = 0;     ///< 0: this member was not in that view
  std::uint64_t count = 0;   ///< of messages that it delivered there
  std::uint64_t digest = 0;  ///< over these, in the order of delivery
};

/// Numbers of one sender's messages; 0: none was delivered.
struct DeliveredSender {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

/// A delivery that cannot follow the one before.
struct DeliveryFault {
  std::uint64_t view = 0;
  std::uint64_t sender = 0;
  std::uint64_t expected = 0;  ///< the number; 0: any
  std::uint64_t number = 0;    ///< that was delivered instead; 0: the payload is not as a sender stamped it
};

/// Written by one member, in memory that the judge may share. Plain data.
struct DeliveredRecord {
  std::array<DeliveredView, recorded_views_max> views{};      ///< by id
  std::array<DeliveredSender, recorded_nodes_max> senders{};  ///< by id
  std::uint64_t sent = 0;                                     ///< by this member itself; written by its sending thread alone
  std::uint64_t view = 0;                                     ///< the id of the present one
  std::uint64_t fault_count = 0;
  DeliveryFault first_fault{};

  /// The view that follows; false if there is no room for it, or for its members.
  [[nodiscard]] bool begin_view(ViewId id, std::span<const NodeId> members) noexcept;
  void add(const Delivery& message) noexcept;

  [[nodiscard]] std::optional<std::size_t> first_view() const noexcept;  ///< nothing: it was in none
  [[nodiscard]] std::optional<std::size_t> last_view() const noexcept;
  [[nodiscard]] std::uint64_t delivered() const noexcept;  ///< messages of all views
};

/// Everything by which the records of a group's members, by node id, differ from what virtual synchrony promises, in words
/// for people: every member delivers each sender's messages without a gap, a repetition or a change of order, from its first
/// view to its last one, and members of a view the same sequence in it. Members that were there when a sender left have all
/// that it sent. All members have left in order, or were never there.
[[nodiscard]] std::vector<std::string> broken_promises(std::span<const DeliveredRecord* const> records);

}  // namespace spindrift::bench
