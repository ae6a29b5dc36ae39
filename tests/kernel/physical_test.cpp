// The seam's own small part: its words.
#include <catch2/catch.hpp>

#include <set>

#include <spindrift/kernel/physical.hpp>

using namespace spindrift::kernel;

TEST_CASE("every status has words of its own") {
  std::set<std::string_view> words;
  for (unsigned status = 0; status <= static_cast<unsigned>(OperationStatus::flushed); ++status)
    words.insert(to_string(static_cast<OperationStatus>(status)));
  CHECK(words.size() == static_cast<unsigned>(OperationStatus::flushed) + 1);
  CHECK(words.count("unknown") == 0);
}
