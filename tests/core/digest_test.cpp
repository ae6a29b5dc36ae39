// Digests: equal input, equal digest, however the input is cut.
#include <catch2/catch.hpp>

#include <string>

#include <spindrift/core/digest.hpp>

using namespace spindrift;

TEST_CASE("a digest is the same on every machine") {
  // XXH3-128 with seed 0 of no bytes and of "abc", as the reference implementation prints them.
  CHECK(digest_of("").to_string() == "99aa06d3014798d86001c324468d497f");
  CHECK(digest_of("abc").to_string() == "06b05ab6733a618578af5f94892f3950");
}

TEST_CASE("a running digest does not depend on the pieces") {
  const std::string text(100'000, 'x');
  RunningDigest digest;
  CHECK(digest.value() == digest_of(""));
  for (std::size_t at = 0, size = 1; at < text.size(); at += size, size = size * 2 + 1)
    digest.add(std::string_view(text).substr(at, size));
  CHECK(digest.value() == digest_of(text));
  digest.add("y");
  CHECK(digest.value() == digest_of(text + "y"));
  CHECK_FALSE(digest.value() == digest_of(text));
}
