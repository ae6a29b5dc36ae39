// The history that a participant keeps of a topic for late joiners, by itself: of each instance the last, in one order.
#include <catch2/catch.hpp>

#include <spindrift/dds/topic_history.hpp>

using namespace spindrift;
using namespace spindrift::topics;

namespace {

using Numbers = std::vector<std::uint64_t>;

/// A sample of that instance, of which so many are kept; its number is its sequence.
KeptSample sample_of(std::uint64_t instance, std::uint64_t number, std::uint16_t depth = 2) {
  KeptSample made{.header = {}, .bytes = std::make_shared<const std::vector<std::byte>>()};
  made.header.key.words[0] = instance;
  made.header.sequence = number;
  made.header.durability = 2;
  made.header.depth = depth;
  return made;
}
TopicHistory history_of(std::initializer_list<KeptSample> samples) {
  TopicHistory made;
  for (const KeptSample& each : samples) made.keep(each);
  return made;
}
Numbers numbers(const TopicHistory& history) {
  Numbers all;
  for (const KeptSample& each : history.all()) all.push_back(each.header.sequence);
  return all;
}

}  // namespace

TEST_CASE("of each instance the last samples are kept, in the order in which they came") {
  TopicHistory history = history_of({sample_of(1, 1), sample_of(2, 2), sample_of(1, 3), sample_of(1, 4)});
  CHECK(numbers(history) == Numbers{2, 3, 4});
  history.keep(sample_of(1, 5, 1));  // its writer keeps fewer
  CHECK(numbers(history) == Numbers{2, 5});
  CHECK(history.take().size() == 2);
  CHECK(numbers(history).empty());
}

TEST_CASE("a sample of which a peer says that none is kept is not kept, and nothing goes for it") {
  TopicHistory history;
  history.keep(sample_of(1, 1, 0));
  CHECK(numbers(history).empty());
  history.keep(sample_of(1, 2));
  history.keep(sample_of(1, 3, 0));
  CHECK(numbers(history) == Numbers{2});
}

TEST_CASE("what was kept before lies in front of what came since, and makes room for it") {
  TopicHistory history = history_of({sample_of(1, 10), sample_of(3, 11)});
  history.load(history_of({sample_of(1, 1), sample_of(1, 2), sample_of(2, 3)}));
  CHECK(numbers(history) == Numbers{2, 3, 10, 11});
}
