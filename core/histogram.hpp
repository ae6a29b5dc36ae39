// How often values of which magnitude occurred: a counter for each power of two, so that to add a value costs little, and
// whoever reads the file of counters can tell how the values lie, also between two looks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/counters.hpp>

namespace spindrift {

class Histogram {
 public:
  /// A histogram of so many bounds, 1, 2, 4 …, takes so many counters: one up to each of them, one beyond, and the sum.
  [[nodiscard]] static constexpr std::size_t counters(std::size_t bounds) noexcept { return bounds + 2; }

  /// Counts into nowhere.
  Histogram() noexcept = default;
  /// The counters "NAME_to_1", "NAME_to_2", "NAME_to_4" …, "NAME_over_LAST" and "NAME_sum", of `bounds` bounds, 1 to 63, for
  /// the whole life of `block`.
  Histogram(CounterBlock& block, std::string_view name, std::size_t bounds);

  /// Counts it in the first bucket whose bound it is not above.
  void add(std::uint64_t value) noexcept;

 private:
  std::size_t bounds_ = 0;
  CounterRun counters_;
};

/// The values of a histogram's counters at one moment.
struct HistogramValues {
  struct Bucket {
    std::uint64_t bound = 0;  ///< the greatest value in it
    std::uint64_t count = 0;  ///< of values above the bound of the bucket before
  };
  std::vector<Bucket> buckets;  ///< their bounds grow
  std::uint64_t over = 0;       ///< values above all bounds
  std::uint64_t sum = 0;

  [[nodiscard]] std::uint64_t count() const noexcept;
  /// The bound of the bucket with the value that so many of a hundred are not above, 1 to 100; nothing: there are none. The
  /// greatest number where that value is above all bounds.
  [[nodiscard]] std::optional<std::uint64_t> percentile(unsigned of_hundred) const noexcept;
  /// The values that have come since that earlier moment; nothing: that was of another process.
  [[nodiscard]] std::optional<HistogramValues> since(const HistogramValues& earlier) const;
};

/// A counter that is part of a histogram, by its name.
struct HistogramPart {
  enum class Kind : std::uint8_t { bucket, over, sum };
  std::string_view histogram;  ///< the name that all its parts have in common; lies in the counter's
  Kind kind = Kind::bucket;
  std::uint64_t bound = 0;  ///< of a bucket, or of the last one
};
/// Nothing: it is a counter by itself.
[[nodiscard]] std::optional<HistogramPart> histogram_part(std::string_view counter);
/// Puts a part's value in its place. Parts come in the order in which `Histogram` makes them.
void put(HistogramValues& into, const HistogramPart& part, std::uint64_t value);

}  // namespace spindrift
