// The bits of statuses, by OMG's numbers.
#pragma once

#include <cstdint>

namespace spindrift::topics {

struct StatusBit {
  static constexpr std::uint32_t inconsistent_topic = 1U << 0;
  static constexpr std::uint32_t offered_deadline = 1U << 1;
  static constexpr std::uint32_t requested_deadline = 1U << 2;
  static constexpr std::uint32_t offered_incompatible = 1U << 5;
  static constexpr std::uint32_t requested_incompatible = 1U << 6;
  static constexpr std::uint32_t lost = 1U << 7;
  static constexpr std::uint32_t rejected = 1U << 8;
  static constexpr std::uint32_t data_on_readers = 1U << 9;
  static constexpr std::uint32_t data = 1U << 10;
  static constexpr std::uint32_t liveliness_lost = 1U << 11;
  static constexpr std::uint32_t liveliness = 1U << 12;
  static constexpr std::uint32_t publication = 1U << 13;
  static constexpr std::uint32_t subscription = 1U << 14;
};

}  // namespace spindrift::topics
