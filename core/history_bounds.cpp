// The memory that bounds allow, and the subgroups that can have them.
#include <spindrift/core/history_bounds.hpp>

#include <algorithm>
#include <limits>

namespace spindrift {
namespace {

/// The smallest size that bounds the messages alone; the largest number there is: none does.
std::uint64_t messages_most(const HistoryBounds& bounds, std::uint64_t message_bytes_max) {
  constexpr std::uint64_t unbounded = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t by_bytes = bounds.bytes == 0 ? unbounded : bounds.bytes;
  // Neither factor is above 2^33, so the product fits.
  const std::uint64_t by_count =
      bounds.messages == 0 ? unbounded : bounds.messages * HistoryBounds::bytes_of(message_bytes_max);
  return std::min(by_bytes, by_count);
}

}  // namespace

std::uint64_t HistoryBounds::memory_most(std::uint64_t message_bytes_max) const noexcept {
  if (!any()) return 0;
  const std::uint64_t messages_alone = messages_most(completed(), message_bytes_max);
  return messages_alone + history_spare_bytes + bytes_of(message_bytes_max);
}

std::optional<HistoryFault> fault_of(const HistoryBounds& bounds, DeliveryMode mode, SubgroupStorage storage,
                                     std::uint64_t message_bytes_max) {
  if (!bounds.any()) return std::nullopt;
  if (mode == DeliveryMode::unordered) {
    return HistoryFault{"it keeps a history, and is unordered: its members have no order in common to keep",
                        "let it be ordered, or remove its history"};
  }
  if (bounds.messages > history_messages_most || bounds.bytes > history_bytes_most || bounds.age_ms > history_age_ms_most ||
      (bounds.by_age_alone() && storage == SubgroupStorage::memory)) {
    return HistoryFault{"it keeps a history of impossible bounds",
                        "give at most " + std::to_string(history_messages_most) + " messages, " +
                            std::to_string(history_bytes_most) + " bytes and " + std::to_string(history_age_ms_most) +
                            " ms, and not the age alone"};
  }
  const std::uint64_t largest = HistoryBounds::bytes_of(message_bytes_max);
  if (bounds.bytes != 0 && bounds.bytes < largest) {
    return HistoryFault{"it keeps a history of " + std::to_string(bounds.bytes) +
                            " bytes, in which its largest message, of " + std::to_string(largest) +
                            " with its head, has no room",
                        "give the history at least " + std::to_string(largest) +
                            " bytes, or lower max_smc_payload_size in the subgroup's profile"};
  }
  return std::nullopt;
}

}  // namespace spindrift
