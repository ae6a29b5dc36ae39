// Buckets by powers of two, and what their counters say.
#include <catch2/catch.hpp>

#include <map>

#include <spindrift/core/histogram.hpp>

using namespace spindrift;

namespace {

HistogramValues values_of(const CounterBlock& block, std::string_view name) {
  HistogramValues values;
  for (const CounterValue& counter : block.values()) {
    const auto part = histogram_part(counter.name);
    if (part && part->histogram == name) put(values, *part, counter.value);
  }
  return values;
}

std::map<std::uint64_t, std::uint64_t> filled(const HistogramValues& values) {
  std::map<std::uint64_t, std::uint64_t> filled;
  for (const HistogramValues::Bucket& bucket : values.buckets) {
    if (bucket.count > 0) filled[bucket.bound] = bucket.count;
  }
  return filled;
}

}  // namespace

TEST_CASE("a value is counted in the bucket with the least bound that it is not above") {
  auto block = CounterBlock::in_memory(Histogram::counters(5));
  Histogram histogram(block, "us", 5);
  for (const std::uint64_t value : {0U, 1U, 2U, 3U, 4U, 5U, 16U}) histogram.add(value);
  const HistogramValues values = values_of(block, "us");
  CHECK(filled(values) == std::map<std::uint64_t, std::uint64_t>{{1, 2}, {2, 1}, {4, 2}, {8, 1}, {16, 1}});
  CHECK(values.buckets.size() == 5);
  CHECK(values.over == 0);
  CHECK(values.sum == 31);
  histogram.add(17);
  histogram.add(~std::uint64_t{0} / 2);
  CHECK(values_of(block, "us").over == 2);
  CHECK(values_of(block, "us").count() == 9);
}

TEST_CASE("a histogram made again goes on with the same counters") {
  auto block = CounterBlock::in_memory(Histogram::counters(3) + 1);
  Histogram(block, "us", 3).add(2);
  Counter other = block.counter("other");
  Histogram(block, "us", 3).add(2);
  CHECK(values_of(block, "us").count() == 2);
  CHECK(values_of(block, "us").sum == 4);
  CHECK(other.get() == 0);
}

TEST_CASE("a histogram without counters counts into nowhere") {
  Histogram nowhere;
  nowhere.add(1);
}

TEST_CASE("a percentile is the bound of the bucket that it lies in") {
  HistogramValues values{{{1, 50}, {2, 49}, {4, 1}}, 0, 0};
  CHECK(values.percentile(50) == 1U);
  CHECK(values.percentile(51) == 2U);
  CHECK(values.percentile(99) == 2U);
  CHECK(values.percentile(100) == 4U);
  values.over = 2;
  CHECK(values.percentile(100) == ~std::uint64_t{0});
  CHECK(HistogramValues{{{1, 1}}, 0, 0}.percentile(50) == 1U);
  CHECK_FALSE(HistogramValues{{{1, 0}}, 0, 0}.percentile(50));
}

TEST_CASE("what came between two looks is their difference, unless another process counted") {
  const HistogramValues before{{{1, 5}, {2, 1}}, 1, 20};
  const HistogramValues after{{{1, 7}, {2, 1}}, 2, 30};
  const auto between = after.since(before);
  REQUIRE(between);
  CHECK(filled(*between) == std::map<std::uint64_t, std::uint64_t>{{1, 2}});
  CHECK(between->over == 1);
  CHECK(between->sum == 10);
  CHECK_FALSE(before.since(after));
  CHECK_FALSE(after.since({{{1, 5}}, 1, 20}));
}

TEST_CASE("a counter's name says which part of a histogram it is, if it is one") {
  const auto bucket = histogram_part("subgroup.a_to_b.own_us_to_64");
  REQUIRE(bucket);
  CHECK(bucket->histogram == "subgroup.a_to_b.own_us");
  CHECK(bucket->kind == HistogramPart::Kind::bucket);
  CHECK(bucket->bound == 64);
  CHECK(histogram_part("x_over_4")->kind == HistogramPart::Kind::over);
  CHECK(histogram_part("x_sum")->kind == HistogramPart::Kind::sum);
  for (const char* name : {"sent", "x_to_", "x_to_4a", "_to_4", "_sum", "x_to_99999999999999999999"})
    CHECK_FALSE(histogram_part(name));
}
