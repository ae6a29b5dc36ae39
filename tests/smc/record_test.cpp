// The record header: one word, out and back, and nothing that is not one.
#include <catch2/catch.hpp>

#include <spindrift/smc/record.hpp>

using namespace spindrift;
using namespace spindrift::smc;

TEST_CASE("a header survives encoding, its number modulo 2^24") {
  const RecordHeader header{12345, RecordKind::null_run, (std::uint64_t{1} << 24) + 7};
  const auto decoded = RecordHeader::decode(Untrusted(header.encode()), 7);
  REQUIRE(decoded);
  CHECK(decoded->length == 12345);
  CHECK(decoded->kind == RecordKind::null_run);
  CHECK(decoded->number == 7);
}

TEST_CASE("a header of another record or of no known kind is refused") {
  const RecordHeader header{1, RecordKind::data, 5};
  CHECK_FALSE(RecordHeader::decode(Untrusted(header.encode()), 6));
  CHECK_FALSE(RecordHeader::decode(Untrusted(std::uint64_t{0}), 0));
  const std::uint64_t unknown_kind = header.encode() | std::uint64_t{0xf0} << 32;
  CHECK_FALSE(RecordHeader::decode(Untrusted(unknown_kind), 5));
}

TEST_CASE("a record takes its header and its payload, rounded up to eight bytes") {
  CHECK(record_bytes(0) == 8);
  CHECK(record_bytes(1) == 16);
  CHECK(record_bytes(8) == 16);
  CHECK(record_bytes(9) == 24);
}
