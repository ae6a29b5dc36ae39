// Greetings and control messages: what was sent is read, and nothing else is taken for it.
#include <catch2/catch.hpp>

#include <cstring>
#include <vector>

#include <spindrift/fabric/connected/wire.hpp>

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::connected;

namespace {

void store(std::span<std::byte> bytes, std::size_t word, std::uint64_t value) {
  std::memcpy(bytes.data() + 8 * word, &value, sizeof value);
}

}  // namespace

TEST_CASE("a greeting travels, also with padding behind it, and a changed one is none") {
  GreetingBytes bytes = encode(Greeting{NodeId(7), 42, 3, 4, 5});
  std::vector<std::byte> padded(bytes.begin(), bytes.end());
  padded.resize(200);
  const auto greeting = decode_greeting(padded);
  REQUIRE(greeting);
  CHECK(greeting->node == NodeId(7));
  CHECK(greeting->incarnation == 42);
  CHECK(greeting->attempt == 3);
  CHECK(greeting->word == 4);
  CHECK(greeting->proof == 5);
  CHECK_FALSE(decode_greeting(std::span(bytes).first(47)));
  const std::size_t word = GENERATE(0U, 1U, 2U, 4U);
  store(bytes, word, word == 1 ? std::uint64_t{1} << 32U : 0);
  CHECK_FALSE(decode_greeting(bytes));
}

TEST_CASE("an exposure travels, and one without bytes, out of the address space or of no kind of access is none") {
  const Exposure exposure{RegionKey(5), 6, 7, 4096, Access::write};
  ExposureBytes bytes = encode(exposure);
  const auto control = decode_control(bytes);
  REQUIRE(control);
  REQUIRE(control->kind == Kind::exposed);
  CHECK(control->exposure.region == RegionKey(5));
  CHECK(control->exposure.remote_key == 6);
  CHECK(control->exposure.address == 7);
  CHECK(control->exposure.bytes == 4096);
  CHECK(control->exposure.access == Access::write);
  SECTION("cut") { CHECK_FALSE(decode_control(std::span(bytes).first(bytes.size() - 1))); }
  SECTION("empty") {
    store(bytes, 4, 0);
    CHECK_FALSE(decode_control(bytes));
  }
  SECTION("too long") {
    store(bytes, 4, ~std::uint64_t{0});
    CHECK_FALSE(decode_control(bytes));
  }
  SECTION("no access") {
    store(bytes, 5, 2);
    CHECK_FALSE(decode_control(bytes));
  }
}

TEST_CASE("a word travels with its kind, a message with its bytes, and an unknown kind is none") {
  const WordBytes given_back = encode(Kind::unmapped, 99);
  REQUIRE(decode_control(given_back));
  CHECK(decode_control(given_back)->remote_key == 99);
  CHECK(decode_control(encode(Kind::goodbye, 0))->kind == Kind::goodbye);
  CHECK(decode_control(encode(Kind::alive, 0))->kind == Kind::alive);
  const WordBytes user = encode(Kind::user, 0x41);
  CHECK(decode_control(user)->payload.size() == 8);
  CHECK(decode_control(std::span(user).first(8))->payload.empty());
  CHECK_FALSE(decode_control(std::span(user).first(7)));
  CHECK_FALSE(decode_control(std::span(given_back).first(8)));
  CHECK_FALSE(decode_control(encode(static_cast<Kind>(0), 0)));
  CHECK(decode_control(encode(Kind::sealed, 0))->kind == Kind::sealed);
  CHECK_FALSE(decode_control(encode(static_cast<Kind>(static_cast<std::uint64_t>(Kind::revoked) + 1), 0)));
}

TEST_CASE("a part of lists of revoked certificates travels with what follows it, and an empty one, or too much, is none") {
  const std::vector<std::byte> lists(message_bytes_max, std::byte{5});
  CHECK(revoked_messages({}).empty());
  const auto messages = revoked_messages(lists);
  REQUIRE(messages.size() == 2);
  const auto first = decode_control(messages[0]);
  const auto second = decode_control(messages[1]);
  REQUIRE((first && second && first->kind == Kind::revoked));
  CHECK(first->rest == 8);
  CHECK(first->payload.size() == message_bytes_max - 8);
  CHECK(second->rest == 0);
  CHECK(second->payload.size() == 8);
  std::vector<std::byte> changed = messages[1];
  store(changed, 1, revoked_bytes_max);
  CHECK(decode_control(changed));
  store(changed, 1, revoked_bytes_max + 1);
  CHECK_FALSE(decode_control(changed));
  CHECK_FALSE(decode_control(encode(Kind::revoked, 0)));
  CHECK_FALSE(decode_control(std::span(messages[1]).first(8)));
}

TEST_CASE("small writes travel together, in their order, until a message is full") {
  std::vector<std::byte> message;
  std::vector<std::byte> bytes(64, std::byte{3});
  std::size_t count = 0;
  for (; append(message, {count, 10 * count, bytes}); ++count) bytes[0] = static_cast<std::byte>(count + 1);
  CHECK(count == (writes_bytes_max - header_bytes) / (24 + 64));
  CHECK(message.size() <= writes_bytes_max);
  const std::vector<std::byte> large(small_write_bytes_max + 1);
  std::vector<std::byte> another;
  CHECK_FALSE(append(another, {1, 1, large}));
  CHECK(another.empty());

  const auto control = decode_control(message);
  REQUIRE((control && control->kind == Kind::writes));
  std::span<const std::byte> left = control->payload;
  for (std::size_t i = 0; i < count; ++i) {
    const auto write = take_write(left);
    REQUIRE(write);
    CHECK(write->remote_key == i);
    CHECK(write->address == 10 * i);
    CHECK(write->bytes.size() == 64);
    CHECK(write->bytes[0] == static_cast<std::byte>(i == 0 ? 3 : i));
  }
  CHECK(left.empty());
}

TEST_CASE("a list of small writes that is cut or says more than it has is broken") {
  std::vector<std::byte> message;
  const std::vector<std::byte> bytes(8, std::byte{1});
  REQUIRE(append(message, {1, 2, bytes}));
  for (std::size_t size = 1; size + header_bytes < message.size(); ++size) {
    std::span<const std::byte> cut(message.data() + header_bytes, size);
    CHECK_FALSE(take_write(cut));
  }
  store(message, 3, GENERATE(as<std::uint64_t>(), 9, small_write_bytes_max + 1, ~std::uint64_t{0}));
  std::span<const std::byte> left(message.data() + header_bytes, message.size() - header_bytes);
  CHECK_FALSE(take_write(left));
}
