// The codec of files and wires: the bytes are those of the documents, and no reader leaves what it was given.
#include <catch2/catch.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/ids.hpp>

using namespace spindrift;

namespace {

struct Pair {
  std::uint64_t first;
  std::uint32_t second;
  std::uint32_t third;
  bool operator==(const Pair&) const = default;
};
struct Padded {
  std::uint64_t first;
  std::uint32_t second;
};
enum class Choice : std::uint32_t { one };

static_assert(WireField<std::uint8_t> && WireField<ViewId> && WireField<Pair> && WireField<std::array<std::uint64_t, 2>>);
static_assert(!WireField<bool> && !WireField<Choice> && !WireField<Padded> && !WireField<double> && !WireField<const char*>);
static_assert(!WireField<std::span<const std::byte>> && !WireField<std::string_view> && !WireField<std::vector<int>>);

std::vector<int> numbers(std::span<const std::byte> bytes) {
  std::vector<int> numbers;
  for (const std::byte byte : bytes) numbers.push_back(std::to_integer<int>(byte));
  return numbers;
}

}  // namespace

TEST_CASE("fields lie one behind the other, the lowest byte first") {
  const std::vector<int> expected{1, 2, 0, 4, 3, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0};
  const auto bytes = field_bytes(std::uint8_t{1}, std::uint16_t{2}, std::uint32_t{0x304}, ViewId(5));
  CHECK(numbers(bytes) == expected);

  ByteWriter writer;
  writer.put(std::uint8_t{1}, std::uint16_t{2}).put(std::uint32_t{0x304}).put(ViewId(5));
  CHECK(writer.size() == expected.size());
  CHECK(numbers(writer.take()) == expected);
}

TEST_CASE("a reader takes what a writer put, in place where it is a run of bytes") {
  ByteWriter writer(std::vector<std::byte>(2, std::byte{9}));
  writer.put(Pair{1, 2, 3}).put_text("abcdef", 4).put_bytes(field_bytes(std::uint16_t{7}));
  const std::vector<std::byte> bytes = writer.take();

  ByteReader reader(bytes);
  CHECK(reader.get<std::uint16_t>() == 0x909);
  CHECK(reader.get<Pair>() == Pair{1, 2, 3});
  const auto text = reader.get_bytes(4);
  CHECK(text.data() == bytes.data() + 2 + sizeof(Pair));
  CHECK(printable(text) == "abcd");
  CHECK(reader.ok());
  CHECK_FALSE(reader.complete());
  CHECK(reader.rest().size() == 2);
  CHECK(reader.get<std::uint16_t>() == 7);
  CHECK(reader.complete());
}

TEST_CASE("a field that is cut off is 0 and so is every one behind it, though it would fit") {
  const auto bytes = field_bytes(std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3});
  ByteReader reader(bytes);
  CHECK(reader.get<std::uint8_t>() == 1);
  CHECK(reader.get<std::uint32_t>() == 0);
  CHECK_FALSE(reader.ok());
  CHECK(reader.rest().empty());
  CHECK(reader.get<std::uint8_t>() == 0);
  CHECK(reader.get_bytes(0).empty());
  CHECK_FALSE(reader.complete());
}

TEST_CASE("a run of bytes that is longer than what is there is none, up to the largest size") {
  const auto bytes = field_bytes(std::uint64_t{1});
  for (const std::size_t count : {std::size_t{9}, SIZE_MAX}) {
    ByteReader reader(bytes);
    CHECK(reader.get_bytes(count).empty());
    CHECK_FALSE(reader.ok());
  }
  ByteReader reader(bytes);
  CHECK(reader.get_bytes(8).size() == 8);
  CHECK(reader.complete());
}

TEST_CASE("the field at the front is there if all its bytes are") {
  const auto bytes = field_bytes(std::uint64_t{0x0102}, std::uint8_t{3});
  CHECK(field_at_front<std::uint64_t>(bytes) == 0x0102);
  CHECK(field_at_front<std::uint64_t>(std::span(bytes).first(8)) == 0x0102);
  CHECK_FALSE(field_at_front<std::uint64_t>(std::span(bytes).first(7)));
}

TEST_CASE("a peer's text cannot move a terminal's cursor") {
  const std::array<char, 6> text{'a', '\x1b', '\n', '\x7f', '~', '\x80'};
  CHECK(printable(std::as_bytes(std::span(text))) == "a???~?");
}
