// The handshake's messages: agreement, every kind of difference, and bytes that are no message at all.
#include <catch2/catch.hpp>

#include <spindrift/views/hello.hpp>

using namespace spindrift;
using namespace spindrift::views;

namespace {

const GroupIdentity ours{"flight", {11, 22}};

}  // namespace

TEST_CASE("a hello of the same group agrees and carries node and incarnation") {
  const auto greeting = decode_greeting(encode_hello(ours, {NodeId(7), 99}), ours);
  REQUIRE((greeting && greeting->hello));
  CHECK(greeting->hello->node == NodeId(7));
  CHECK(greeting->hello->incarnation == 99);
}

TEST_CASE("a difference is named, with what to do about it") {
  const auto name = decode_greeting(encode_hello({"other", {11, 22}}, {NodeId(1), 1}), ours);
  REQUIRE((name && name->mismatch));
  CHECK(name->mismatch->message().find("\"other\"") != std::string::npos);
  const auto digest = decode_greeting(encode_hello({"flight", {11, 23}}, {NodeId(1), 1}), ours);
  REQUIRE((digest && digest->mismatch));
  CHECK(digest->mismatch->message().find("configurations differ") != std::string::npos);
  CHECK_FALSE(digest->mismatch->fix().empty());

  auto other_version = encode_hello(ours, {NodeId(1), 1});
  other_version[4] = std::byte{200};
  const auto version = decode_greeting(other_version, ours);
  REQUIRE((version && version->mismatch));
  CHECK(version->mismatch->message().find("protocol versions differ: 1 and 200") != std::string::npos);
}

TEST_CASE("reasons travel, cut to size and made printable") {
  const auto refusal = decode_greeting(encode_refusal("no\x1b[2Jway"), ours);
  REQUIRE((refusal && refusal->refusal));
  CHECK(*refusal->refusal == "no?[2Jway");
  const auto stop = decode_greeting(encode_stop(std::string(9999, 'x')), ours);
  REQUIRE((stop && stop->stop));
  CHECK(stop->stop->size() == 512);
}

TEST_CASE("anything else is no greeting, whatever its length") {
  const auto hello = encode_hello(ours, {NodeId(7), 99});
  for (std::size_t length = 0; length < hello.size(); ++length) {
    CHECK_FALSE(decode_greeting(std::span(hello).first(length), ours));
  }
  auto longer = hello;
  longer.push_back(std::byte{0});
  CHECK_FALSE(decode_greeting(longer, ours));
  auto unknown_kind = hello;
  unknown_kind[8] = std::byte{9};
  CHECK_FALSE(decode_greeting(unknown_kind, ours));
  auto other_magic = hello;
  other_magic[0] = std::byte{0};
  CHECK_FALSE(decode_greeting(other_magic, ours));
  auto behind_the_name = hello;
  behind_the_name.back() = std::byte{'x'};
  CHECK_FALSE(decode_greeting(behind_the_name, ours));
  CHECK_FALSE(decode_greeting(encode_refusal(""), ours));
}
