// Names of parts, and what their values say.
#include <spindrift/core/histogram.hpp>

#include <algorithm>
#include <bit>
#include <charconv>

#include <spindrift/core/check.hpp>

namespace spindrift {
namespace {

constexpr std::string_view to = "_to_";
constexpr std::string_view over = "_over_";
constexpr std::string_view sum = "_sum";

std::string text_of(std::string_view name, std::string_view what, std::uint64_t bound) {
  return std::string(name).append(what).append(std::to_string(bound));
}

std::optional<HistogramPart> part_with_bound(std::string_view counter, std::string_view what, HistogramPart::Kind kind) {
  const std::size_t at = counter.rfind(what);
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  HistogramPart part{counter.substr(0, at), kind, 0};
  const std::string_view digits = counter.substr(at + what.size());
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), part.bound);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return part;
}

}  // namespace

Histogram::Histogram(CounterBlock& block, std::string_view name, std::size_t bounds) : bounds_(bounds) {
  CHECK(bounds >= 1 && bounds <= 63);
  counters_ = block.run(counters(bounds), [&](std::size_t i) {
    if (i == bounds + 1) return std::string(name).append(sum);
    return i < bounds ? text_of(name, to, std::uint64_t{1} << i) : text_of(name, over, std::uint64_t{1} << (bounds - 1));
  });
}

void Histogram::add(std::uint64_t value) noexcept {
  if (bounds_ == 0) return;
  const auto bucket = static_cast<std::size_t>(value <= 1 ? 0 : std::bit_width(value - 1));
  counters_[std::min(bucket, bounds_)].add(1);
  counters_[bounds_ + 1].add(value);
}

std::uint64_t HistogramValues::count() const noexcept {
  std::uint64_t count = over;
  for (const Bucket& bucket : buckets) count += bucket.count;
  return count;
}

std::optional<std::uint64_t> HistogramValues::percentile(unsigned of_hundred) const noexcept {
  const std::uint64_t all = count();
  if (all == 0) return std::nullopt;
  const std::uint64_t whole = all / 100 * of_hundred;
  const std::uint64_t wanted = whole + (all % 100 * of_hundred + 99) / 100;
  std::uint64_t below = 0;
  for (const Bucket& bucket : buckets) {
    below += bucket.count;
    if (below >= wanted) return bucket.bound;
  }
  return ~std::uint64_t{0};
}

std::optional<HistogramValues> HistogramValues::since(const HistogramValues& earlier) const {
  if (buckets.size() != earlier.buckets.size() || over < earlier.over) return std::nullopt;
  HistogramValues difference{buckets, over - earlier.over, sum - std::min(sum, earlier.sum)};
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const Bucket& before = earlier.buckets[i];
    if (before.bound != buckets[i].bound || before.count > buckets[i].count) return std::nullopt;
    difference.buckets[i].count -= before.count;
  }
  return difference;
}

std::optional<HistogramPart> histogram_part(std::string_view counter) {
  if (const auto part = part_with_bound(counter, to, HistogramPart::Kind::bucket)) return part;
  if (const auto part = part_with_bound(counter, over, HistogramPart::Kind::over)) return part;
  if (!counter.ends_with(sum) || counter.size() == sum.size()) return std::nullopt;
  return HistogramPart{counter.substr(0, counter.size() - sum.size()), HistogramPart::Kind::sum, 0};
}

void put(HistogramValues& into, const HistogramPart& part, std::uint64_t value) {
  switch (part.kind) {
    case HistogramPart::Kind::bucket: into.buckets.push_back({part.bound, value}); return;
    case HistogramPart::Kind::over: into.over = value; return;
    case HistogramPart::Kind::sum: into.sum = value; return;
  }
}

}  // namespace spindrift
