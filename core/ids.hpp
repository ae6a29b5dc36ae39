// Distinct types for numbers that must not mix. All count from 0.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace spindrift {

/// A number that only mixes with its own kind. Trivially copyable; the representation is `value()`.
template <class Tag, class Representation>
class Strong {
 public:
  using representation = Representation;  ///< an unsigned integer

  constexpr Strong() noexcept = default;
  constexpr explicit Strong(Representation value) noexcept : value_(value) {}  ///< any value

  [[nodiscard]] constexpr Representation value() const noexcept { return value_; }  ///< as it was given
  constexpr auto operator<=>(const Strong&) const noexcept = default;  ///< by value
  constexpr Strong& operator++() noexcept {  ///< the next one
    ++value_;
    return *this;
  }

 private:
  Representation value_ = 0;
};

/// Names a process for its whole life; chosen in the config, unique in the group.
using NodeId = Strong<struct NodeIdTag, std::uint32_t>;
/// Number of an agreed view; grows by one with each installed view.
using ViewId = Strong<struct ViewIdTag, std::uint64_t>;
/// Position in the view's list of members.
using Rank = Strong<struct RankTag, std::uint32_t>;
/// Position in a subgroup's list of senders.
using SenderRank = Strong<struct SenderRankTag, std::uint32_t>;
/// Position in the view's list of subgroups.
using SubgroupId = Strong<struct SubgroupIdTag, std::uint32_t>;
/// The k-th message of one sender in one view and subgroup.
using MessageIndex = Strong<struct MessageIndexTag, std::uint64_t>;
/// index · senders + sender rank: the place in the round-robin delivery order.
using SequenceNumber = Strong<struct SequenceNumberTag, std::uint64_t>;

/// The unit in which memory of one process becomes visible to another.
inline constexpr std::size_t cache_line_bytes = 64;

}  // namespace spindrift
/// So that ids are keys of unordered containers.
template <class Tag, class Representation>
struct std::hash<spindrift::Strong<Tag, Representation>> {
  std::size_t operator()(const spindrift::Strong<Tag, Representation>& id) const noexcept {  ///< of its value
    return std::hash<Representation>{}(id.value());
  }
};
