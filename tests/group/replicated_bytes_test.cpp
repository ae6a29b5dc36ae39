// A peer may write anything where replicated calls and answers are expected: none of it may harm, and all of it is reported.
#include <catch2/catch.hpp>

#include <cstring>
#include <map>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "replicated_fixture.hpp"

using namespace spindrift;
using replicated::BadBytes;
using Catch::Matchers::Contains;

namespace {

struct Tree {
  std::vector<Tree> branches;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(branches);
  }
};

struct Notebook {
  std::uint32_t write(const std::vector<std::string>& lines, bool loud) {
    for (const std::string& line : lines) text += line;
    return static_cast<std::uint32_t>(text.size()) + (loud ? 1U : 0U);
  }
  std::string text;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(text);
  }
  using Methods = Replicates<&Notebook::write>;
};

std::vector<std::byte> bytes_of(const auto&... values) {
  std::vector<std::byte> bytes;
  replicated::put(bytes, values...);
  return bytes;
}

}  // namespace

TEST_CASE("a count of more elements than there are bytes is refused before anything is allocated") {
  const std::uint64_t huge = std::uint64_t{1} << 62;
  std::string text;
  std::vector<std::uint64_t> numbers;
  std::map<int, int> map;
  CHECK_THROWS_AS(replicated::take(bytes_of(huge), text), BadBytes);
  CHECK_THROWS_AS(replicated::take(bytes_of(huge), numbers), BadBytes);
  CHECK_THROWS_AS(replicated::take(bytes_of(huge), map), BadBytes);
  CHECK(numbers.capacity() == 0);
}

TEST_CASE("values that nest without end are refused") {
  std::vector<std::byte> bytes;
  for (int level = 0; level < 100'000; ++level) replicated::put(bytes, std::uint64_t{1});
  Tree tree;
  CHECK_THROWS_WITH(replicated::take(bytes, tree), Contains("nest too deep"));
}

TEST_CASE("a bool is 0 or 1, a variant one of its types, and nothing follows the last value") {
  bool flag = false;
  std::variant<int, double> either;
  CHECK_THROWS_AS(replicated::take(bytes_of(std::uint8_t{2}), flag), BadBytes);
  replicated::take(bytes_of(std::uint8_t{1}), flag);
  CHECK(flag);
  CHECK_THROWS_AS(replicated::take(bytes_of(std::int32_t{7}, 1), either), BadBytes);
  std::string text;
  CHECK_THROWS_AS(replicated::take(bytes_of(std::string("a"), std::uint8_t{0}), text), BadBytes);
  std::uint32_t number = 0;
  CHECK_THROWS_AS(replicated::take(bytes_of(std::uint64_t{0}), number), BadBytes);
}

TEST_CASE("values that go to a stream are the bytes that they are in memory, whatever their sizes") {
  const std::vector<std::uint64_t> large(20'000, 7);
  const std::vector<std::string> many(30'000, "some text");
  std::vector<std::byte> whole;
  replicated::put(whole, std::string("head"), large, many, std::uint32_t{3});
  std::vector<std::byte> buffer;
  std::ostringstream stream;
  replicated::ValueWriter writer(buffer, &stream);
  writer(std::string("head"), large, many, std::uint32_t{3});
  CHECK(buffer.size() < 100'000);
  writer.flush();
  const std::string text = stream.str();
  CHECK(std::ranges::equal(whole, std::as_bytes(std::span(text))));
}

TEST_CASE("a call with bad bytes is reported with its sender, changes nothing and stops nothing") {
  ReplicaFixture<Notebook> books(2);
  static_cast<void>(books[0].update<&Notebook::write>(std::vector<std::string>{"ab", "c"}, true));
  const std::vector<std::byte> good = books.ordered().front().bytes;
  books.deliver_all();
  const auto text = [&](std::size_t which) {
    std::ostringstream saved;
    value_or_throw(books.core(which).save(saved));
    return saved.str();
  };
  const auto before = text(1);

  std::vector<std::vector<std::byte>> bad;
  for (std::size_t length = 0; length < good.size(); ++length) {
    bad.emplace_back(good.begin(), good.begin() + static_cast<long>(length));
  }
  for (const std::size_t at : {0U, 16U, 20U, 24U, 32U}) {
    bad.push_back(good);
    bad.back()[at] = std::byte{0xEE};
  }
  bad.push_back(good);
  bad.back().push_back(std::byte{});
  for (const auto& bytes : bad) books.deliver_to_all(NodeId(1), bytes);

  CHECK(books.members[0].channel->faults.size() == bad.size());
  CHECK(books.members[0].channel->faults.front().node == NodeId(1));
  const auto reason = [&](const std::string& words) {
    return std::ranges::any_of(books.members[0].channel->faults, [&](const auto& fault) {
      return fault.what.find(words) != std::string::npos;
    });
  };
  CHECK_THAT(books.members[0].channel->faults.front().what,
             Contains("it sent a message that is no replicated call in subgroup " + books.members[0].channel->subgroup()));
  CHECK(reason("it runs another version of the program"));
  CHECK(reason("a replicated call that nobody can have made: "));
  CHECK(text(1) == before);
  const auto after = books[0].update<&Notebook::write>(std::vector<std::string>{"d"}, false);
  books.deliver_all();
  CHECK(after.get() == 4);
}

TEST_CASE("an answer with bad bytes is reported and does not count as one") {
  ReplicaFixture<Notebook> books(2);
  const auto future = books[0].update<&Notebook::write>(std::vector<std::string>{"ab"}, false);
  books.deliver_ordered();
  REQUIRE(books.privately().size() == 1);
  const std::vector<std::byte> good = books.privately().front().bytes;
  books.privately().clear();
  std::size_t refused = 0;
  for (std::size_t length = 0; length < good.size(); ++length) {
    refused += books.refuses(0, NodeId(1), std::span(good).first(length)) ? 1 : 0;
  }
  CHECK(refused == good.size());
  std::vector<std::byte> neither = good;
  neither[16] = std::byte{2};
  CHECK(books.refuses(0, NodeId(1), neither));
  std::vector<std::byte> threw = good;
  threw[16] = std::byte{1};
  CHECK(books.refuses(0, NodeId(1), threw));
  CHECK(books.refuses(0, NodeId(0), good));
  CHECK_FALSE(books.refuses(0, NodeId(9), good));

  CHECK_FALSE(books.refuses(0, NodeId(1), good));
  CHECK(future.all().at(1).value() == 2);
  // The call is over: what comes now meets none.
  CHECK_FALSE(books.refuses(0, NodeId(1), good));
}

TEST_CASE("random changes of a call's bytes are reported or are another call, never harm") {
  ReplicaFixture<Notebook> books(2);
  static_cast<void>(books[0].update<&Notebook::write>(std::vector<std::string>{"abc", "", "defgh"}, true));
  const std::vector<std::byte> good = books.ordered().front().bytes;
  books.deliver_all();
  std::mt19937_64 random(1);
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::byte> bytes = good;
    const auto changes = 1 + random() % 4;
    for (std::uint64_t change = 0; change < changes; ++change) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    }
    books.deliver_to_all(NodeId(1), bytes);
    books.privately().clear();
  }
  CHECK(books.members[0].channel->faults.size() > 1000);
  const auto after = books[0].update<&Notebook::write>(std::vector<std::string>{}, false);
  books.deliver_all();
  CHECK(after.all().at(1).value() == after.get());
}
