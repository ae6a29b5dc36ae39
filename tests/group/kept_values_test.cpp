// The values of one field by version: what can be read, in how much memory, and by how many deltas.
#include <catch2/catch.hpp>

#include <deque>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <spindrift/group/kept_values.hpp>
#include <spindrift/group/replicated_bytes.hpp>

namespace spindrift::replicated {
namespace {

/// A text that grows. Counts copies and deltas that were applied.
struct Text {
  using Delta = std::string;
  Text() = default;
  explicit Text(std::string is) : text(std::move(is)) {}
  Text(const Text& other) : text(other.text) { ++copies; }
  Text(Text&&) = default;
  Text& operator=(const Text&) = default;
  Text& operator=(Text&&) = default;
  ~Text() = default;
  void apply(const std::string& more) {
    ++applied;
    text += more;
    if (more == "throw") throw std::runtime_error(more);
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(text);
  }
  std::string text;
  static inline int copies = 0;
  static inline int applied = 0;
};
static_assert(AppliesDeltas<Text>);
static_assert(!AppliesDeltas<std::string>);

KeptVersion version(std::uint64_t of) { return {of, LogTime(std::chrono::nanoseconds(10 * of))}; }
template <class T>
KeptValues<T> values_of(KeepVersions keep = {}, T initial = {}) {
  return {std::make_shared<T>(std::move(initial)), keep};
}
constexpr std::uint64_t far = 1000000;

std::string text_at(const KeptValues<Text>& values, std::uint64_t of) {
  REQUIRE(values.state(of, far) == VersionState::kept);
  return values.value(values.find(of))->text;
}

template <class T>
std::vector<std::byte> bytes_of(const KeptValues<T>& values) {
  std::vector<std::byte> bytes;
  ValueWriter writer(bytes);
  values.save(writer);
  return bytes;
}
template <class T>
void load(KeptValues<T>& to, const std::vector<std::byte>& bytes) {
  ValueReader reader(bytes);
  to.load(reader);
  reader.expect_end();
}

}  // namespace

TEST_CASE("a value is as the latest version that is not later has left it") {
  auto values = values_of<int>();
  values.edit() = 7;  // before there is a version
  CHECK(values.present() == 7);
  CHECK(values.first() == nullptr);
  CHECK(values.state(0, far) == VersionState::never_was);
  for (const std::uint64_t of : {3U, 5U, 9U}) {
    values.begin(version(of));
    values.edit() = static_cast<int>(of);
    values.edit() *= 2;
  }
  CHECK(values.state(2, far) == VersionState::never_was);
  CHECK(*values.value(values.find(3)) == 6);
  CHECK(*values.value(values.find(4)) == 6);
  CHECK(*values.value(values.find(8)) == 10);
  CHECK(values.find(8) == version(5));
  CHECK(*values.value(values.find(9)) == 18);
  CHECK(*values.value(values.find(far - 1)) == 18);
  CHECK(values.state(far, far) == VersionState::not_yet);
  CHECK(values.kept() == std::vector{version(3), version(5), version(9)});
}

TEST_CASE("a value of a time is as the latest version that is not later has left it") {
  auto values = values_of<int>();
  const auto time = [](std::uint64_t ns) { return LogTime(std::chrono::nanoseconds(ns)); };
  for (const std::uint64_t of : {3U, 4U, 9U}) {
    values.begin({of, time(of == 4 ? 30 : 10 * of)});  // two of one time
    values.set(static_cast<int>(of));
  }
  CHECK(values.state(time(29), time(100)) == VersionState::never_was);
  CHECK(values.find(time(30)).version == 4);
  CHECK(values.find(time(89)).version == 4);
  CHECK(values.find(time(99)).version == 9);
  CHECK(values.state(time(99), time(100)) == VersionState::kept);
  CHECK(values.state(time(100), time(100)) == VersionState::not_yet);
  values.trim(9);
  CHECK(values.state(time(89), time(100)) == VersionState::trimmed);
  CHECK(values.state(time(29), time(100)) == VersionState::never_was);
}

TEST_CASE("a value that was read stays as it is, whatever follows") {
  auto values = values_of<Text>();
  values.begin(version(1));
  values.apply("one");
  const auto of_latest = values.value(version(1));
  values.apply(" more");  // in the same version
  CHECK(of_latest->text == "one");
  const auto whole = values.value(version(1));
  values.begin(version(2));
  values.edit().text = "two";
  values.begin(version(3));
  values.apply("three");
  values.set(Text("four"));
  CHECK(whole->text == "one more");
  CHECK(text_at(values, 1) == "one more");
  CHECK(text_at(values, 2) == "two");
  CHECK(text_at(values, 3) == "four");
}

TEST_CASE("the last versions are kept, as many as is said, and those before were trimmed") {
  for (const std::size_t count : {1U, 2U, 5U}) {
    auto values = values_of<Text>({.count = count, .deltas_max = 3});
    for (std::uint64_t of = 10; of < 30; ++of) {
      values.begin(version(of));
      values.apply(std::string(1, static_cast<char>('a' + of - 10)));
      const std::uint64_t first = std::max<std::uint64_t>(10, of + 1 - count);
      CHECK(values.first()->version == first);
      CHECK(values.kept().size() == of + 1 - first);
      if (first > 10) CHECK(values.state(first - 1, far) == VersionState::trimmed);
      CHECK(values.state(9, far) == VersionState::never_was);
      const std::string all = "abcdefghijklmnopqrst";
      for (std::uint64_t each = first; each <= of; ++each) CHECK(text_at(values, each) == all.substr(0, each - 9));
    }
  }
}

TEST_CASE("trimming keeps what is needed to read a version, and never the latest goes") {
  auto values = values_of<int>();
  values.trim(5);
  for (const std::uint64_t of : {10U, 20U, 30U}) {
    values.begin(version(of));
    values.set(static_cast<int>(of));
  }
  values.trim(9);
  values.trim(10);
  CHECK(values.first()->version == 10);
  values.trim(29);
  CHECK(values.first()->version == 20);
  CHECK(values.state(19, far) == VersionState::trimmed);
  CHECK(*values.value(values.find(29)) == 20);
  values.trim(10);  // behind what is gone
  CHECK(values.first()->version == 20);
  values.trim(far);
  CHECK(values.kept() == std::vector{version(30)});
  CHECK(values.present() == 30);
}

TEST_CASE("a value by deltas costs few of them, and copies are made as seldom") {
  auto values = values_of<Text>({.count = 0, .deltas_max = 8});
  Text::copies = 0;
  for (std::uint64_t of = 0; of < 800; ++of) {
    values.begin(version(of));
    for (std::uint64_t i = 0; i <= of % 3; ++i) values.apply("x");
  }
  CHECK(Text::copies > 100);
  CHECK(Text::copies < 250);
  std::size_t bytes = 0;
  for (std::uint64_t of = 0; of < 800; ++of) {
    bytes += 1 + of % 3;
    Text::applied = 0;
    Text::copies = 0;
    CHECK(text_at(values, of).size() == bytes);
    CHECK(Text::applied < 8);
    CHECK(Text::copies <= 1);
  }
}

TEST_CASE("a delta that throws leaves a version as it has left the value") {
  auto values = values_of<Text>();
  values.begin(version(1));
  values.apply("one ");
  values.begin(version(2));
  values.apply("two ");
  CHECK_THROWS_AS(values.apply("throw"), std::runtime_error);
  values.apply(" three");
  values.begin(version(3));
  values.apply(" four");
  CHECK(text_at(values, 1) == "one ");
  CHECK(text_at(values, 2) == "one two throw three");
  CHECK(text_at(values, 3) == "one two throw three four");
}

TEST_CASE("a copy of all values goes its own way, and one that is moved stays the same") {
  auto values = values_of<Text>();
  values.begin(version(1));
  values.apply("one");
  KeptValues<Text> copy = values;
  copy.apply(" of the copy");
  values.apply(" of the first");
  CHECK(copy.present().text == "one of the copy");
  CHECK(values.present().text == "one of the first");
  KeptValues<Text> assigned = values_of<Text>();
  assigned = values;
  assigned.edit().text = "assigned";
  CHECK(values.present().text == "one of the first");
  const auto lent = values.value(version(1));
  KeptValues<Text> moved = std::move(values);
  moved.apply(", moved");
  CHECK(lent->text == "one of the first");
  CHECK(text_at(moved, 1) == "one of the first, moved");
}

// All kinds of changes and bounds, against a list of whole values.
TEST_CASE("values of random changes are what a list of copies has") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned end) { return static_cast<unsigned>(random() % end); };
    const KeepVersions keep{.count = below(3) == 0 ? 0 : 1 + below(12), .deltas_max = below(6)};
    auto values = values_of<Text>(keep, Text("initial "));
    std::string present = "initial ";
    std::deque<std::pair<std::uint64_t, std::string>> model;
    std::uint64_t next = below(4);
    std::vector<std::pair<std::shared_ptr<const Text>, std::string>> lent;
    for (unsigned step = 0; step < 60; ++step, next += 1 + below(3)) {
      values.begin(version(next));
      for (unsigned changes = below(4); changes > 0; --changes) {
        const std::string more(1, static_cast<char>('a' + below(26)));
        switch (below(6)) {
          case 0: values.edit().text += more; present += more; break;
          case 1: values.set(Text(more)); present = more; break;
          default: values.apply(more); present += more;
        }
      }
      model.emplace_back(next, present);
      if (below(10) == 0) {
        const std::uint64_t trimmed = next - below(8) % (next + 1);
        values.trim(trimmed);
        while (model.size() > 1 && model[1].first <= trimmed) model.pop_front();
      }
      while (keep.count != 0 && model.size() > keep.count) model.pop_front();
      REQUIRE(values.present().text == present);
      REQUIRE(values.kept().size() == model.size());
      for (const auto& [of, text] : model) REQUIRE(text_at(values, of) == text);
      lent.emplace_back(values.value(version(model[below(static_cast<unsigned>(model.size()))].first)), "");
      lent.back().second = lent.back().first->text;
    }
    for (const auto& [value, text] : lent) REQUIRE(value->text == text);
  }
}

TEST_CASE("values that were saved are the same where they are loaded, and go on alike") {
  std::mt19937 random(20261129);
  for (int run = 0; run < 60; ++run) {
    const KeepVersions keep{.count = random() % 3 == 0 ? 0U : 5U, .deltas_max = 3};
    auto values = values_of<Text>(keep, Text("initial "));
    auto loaded = values_of<Text>(keep);
    std::uint64_t last = 0;
    const auto change = [&](KeptValues<Text>& of, unsigned what) {
      of.begin(version(last));
      if (what == 0) of.set(Text("whole " + std::to_string(last) + " "));
      else of.apply(std::to_string(last) + " ");
    };
    for (unsigned i = 0; i < 2 * (random() % 20); ++i) {
      last += 1 + random() % 4;
      change(values, random() % 4);
    }
    load(loaded, bytes_of(values));
    for (int i = 0; i < 6; ++i) {
      REQUIRE(loaded.present().text == values.present().text);
      REQUIRE(loaded.kept() == values.kept());
      for (std::uint64_t of = 0; of <= last; ++of) {
        REQUIRE(loaded.state(of, last + 1) == values.state(of, last + 1));
        if (values.state(of, last + 1) == VersionState::kept) REQUIRE(text_at(loaded, of) == text_at(values, of));
      }
      last += 1 + random() % 4;
      const unsigned what = random() % 4;
      change(values, what);
      change(loaded, what);
    }
  }
}

TEST_CASE("versions that do not follow each other are not loaded, and change nothing") {
  auto values = values_of<int>();
  for (const std::uint64_t of : {3U, 5U, 9U}) {
    values.begin(version(of));
    values.edit() = static_cast<int>(of);
  }
  const std::vector<std::byte> good = bytes_of(values);
  auto to = values_of<int>({}, 7);
  unsigned refused = 0;
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const unsigned flip : {1U, 128U, 255U}) {
      std::vector<std::byte> bad = good;
      bad[at] ^= static_cast<std::byte>(flip);
      try {
        auto fresh = values_of<int>({}, 7);
        load(fresh, bad);
        for (std::uint64_t of = 0; of < 12; ++of) {
          if (fresh.state(of, far) == VersionState::kept) static_cast<void>(fresh.value(fresh.find(of)));
        }
      } catch (const std::runtime_error&) {
        ++refused;
      }
    }
  }
  CHECK(refused > 100);
  // The first of two has no value that its deltas could begin with.
  std::vector<std::byte> bytes;
  ValueWriter writer(bytes);
  const std::vector<std::string> deltas{"more"};
  writer(std::uint64_t{3}, std::int64_t{30}, std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2});
  for (const int of : {3, 5}) writer(std::uint64_t(of), std::int64_t{10} * of, false, false, deltas);
  writer(Text("moremore"));
  auto by_deltas = values_of<Text>();
  CHECK_THROWS_AS(load(by_deltas, bytes), std::runtime_error);
  std::vector<std::byte> cut(good.begin(), good.end() - 1);
  CHECK_THROWS_AS(load(to, cut), std::runtime_error);
  CHECK(to.present() == 7);
  CHECK(to.latest() == nullptr);
}

}  // namespace spindrift::replicated
