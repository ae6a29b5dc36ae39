// The ends of a topic under measurement: a type of each size, how it is filled and checked, and qualities as policies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include <dds/dds.hpp>
#include <spindrift/bench/payload.hpp>
#include <spindrift/bench/topics.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::bench {

/// So many bytes without a gap.
template <std::size_t bytes>
struct BenchSample {
  std::uint32_t number;
  std::array<std::uint8_t, bytes - sizeof(std::uint32_t)> rest;
};

/// Calls `use` with a sample of that size, one of `sample_sizes`.
template <class Use>
decltype(auto) with_type_of(std::uint64_t bytes, const Use& use) {
  if (bytes == sample_sizes[0]) return use(BenchSample<sample_sizes[0]>{});
  if (bytes == sample_sizes[1]) return use(BenchSample<sample_sizes[1]>{});
  return use(BenchSample<sample_sizes[2]>{});
}

/// Fills all of a sample, wherever it lies.
template <class T>
void fill(T& sample, std::uint32_t number, const T& source) noexcept {
  std::memcpy(&sample, &source, sizeof sample);
  sample.number = number;
}
/// Reads one byte of each line; returns the sample's number.
inline std::uint32_t read_sample(std::span<const std::byte> bytes) noexcept {
  keep(read_lines(bytes));
  std::uint32_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

/// The numbers of samples as they come, from 1 on.
class SampleOrder {
 public:
  explicit SampleOrder(bool gaps) : gaps_(gaps) {}
  void take(std::uint32_t number) {
    if (number <= last_ || (!gaps_ && number != last_ + 1)) {
      throw Exception(Error(ErrorKind::bad_input, "sample " + std::to_string(number) + " comes behind sample " +
                                                      std::to_string(last_)));
    }
    last_ = number;
    ++count_;
  }
  [[nodiscard]] std::uint32_t last() const noexcept { return last_; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

 private:
  const bool gaps_;
  std::uint32_t last_ = 0;
  std::uint64_t count_ = 0;
};

/// The topic of a quality; a reader has the same.
[[nodiscard]] inline dds::topic::qos::TopicQos topic_qos(TopicQuality quality) {
  using dds::core::policy::Durability;
  using dds::core::policy::Reliability;
  const auto patience = dds::core::Duration::from_secs(60);
  dds::topic::qos::TopicQos qos;
  qos << Reliability::Reliable(patience);
  if (quality == TopicQuality::unordered) qos << Reliability::BestEffort().max_blocking_time(patience);
  if (quality == TopicQuality::stored) qos << Durability::Transient();
  if (quality == TopicQuality::logged) qos << Durability::Persistent();
  return qos;
}

}  // namespace spindrift::bench
