// States on their way through a file: what is saved is what is loaded, or somebody hears of it.
#include <catch2/catch.hpp>

#include <algorithm>
#include <istream>
#include <iterator>
#include <ostream>
#include <string>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/group/state_file.hpp>

#include "file_size_limit.hpp"

using namespace spindrift;
using namespace spindrift::group;
using Catch::Matchers::Contains;

TEST_CASE("a state that goes through a file comes out as it went in, piece by piece") {
  std::string saved;
  for (int i = 0; i < 40000; ++i) saved += std::to_string(i) + "\n";
  const auto kept = keep_state([&](std::ostream& to) { to << saved; });
  REQUIRE(kept->bytes() == saved.size());
  std::string loaded;
  const auto collected = collect_state([&](std::istream& from) { loaded.assign(std::istreambuf_iterator(from), {}); });
  std::vector<std::byte> piece(1000);
  for (std::uint64_t at = 0; at < kept->bytes(); at += piece.size()) {
    piece.resize(std::min<std::uint64_t>(piece.size(), kept->bytes() - at));
    kept->read(at, piece);
    collected->write(piece);
  }
  collected->finish();
  CHECK(loaded == saved);
}

TEST_CASE("a state that its file does not take is an error, wherever it stops, not a shorter state") {
  // In the midst of saving, and with the last flush alone.
  const std::size_t bytes = GENERATE(std::size_t{1} << 20U, std::size_t{5000});
  const FileSizeLimit limit(4096);
  CHECK_THROWS_WITH(keep_state([&](std::ostream& to) { to << std::string(bytes, 'x'); }), Contains("write a state"));
}
