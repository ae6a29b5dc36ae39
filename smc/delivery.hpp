// A delivery: one message as the application receives it.
#pragma once

#include <cstddef>
#include <span>

#include <spindrift/core/ids.hpp>

namespace spindrift {
/// One delivered message, in round-robin order (Spindle, section 2.1). `payload` points into the sender's ring: valid until
/// the upcall returns, 8-byte aligned.
struct Delivery {
  NodeId sender;            ///< may have left the group since
  SenderRank sender_rank;   ///< its position among the senders of that view
  MessageIndex index;       ///< grows per sender; indices taken by null-sends are skipped
  SequenceNumber sequence;  ///< ordered mode: place in the total order, equal at all members. Unordered mode: 0
  std::span<const std::byte> payload;  ///< as it was built; may be empty
  ViewId view{};  ///< in which it was sent and is delivered; `index` and `sequence` begin anew in each
  std::uint64_t version = 0;  ///< so many messages are before it in the subgroup's log, or were in its history since that
                              ///< began, if it has the one or the other. Others: 0
};

}  // namespace spindrift
