// Fields that keep their versions, message by message: which update made which, what can be read where, and what is refused.
#include <catch2/catch.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <spindrift/group/persistent.hpp>

#include "group_fixture.hpp"
#include "persistent_fixture.hpp"

namespace spindrift {
namespace {

/// Two fields, one with deltas.
class Notebook {
 public:
  struct Lines {
    using Delta = std::string;
    void apply(const std::string& line) { all.push_back(line); }
    std::vector<std::string> all;
  };

  Notebook() { title_.set("untitled"); }

  std::uint64_t rename(const std::string& title) {
    title_.edit() = title + "?";
    title_.edit() = title;
    return *title_.latest_version();
  }
  void write(const std::string& line) { lines_.edit(line); }
  void rename_and_write(const std::string& text) {
    title_.set(text);
    lines_.edit(text);
  }
  void rename_and_throw(const std::string& title) {
    title_.set(title);
    throw std::runtime_error("thrown");
  }
  void nothing() {
    if (on_nothing) on_nothing();
  }
  void trim(std::uint64_t below) { title_.trim(below); }
  std::string read_by_time(std::int64_t ns) { return *title_.at_time(at_ns(ns)); }
  std::string title_before(std::uint64_t version) { return *title_.at(version); }

  [[nodiscard]] std::string title() const { return *title_; }
  [[nodiscard]] std::string title_at(std::uint64_t version) const { return *title_.at(version); }
  [[nodiscard]] std::string title_at_time(std::int64_t ns) const { return *title_.at_time(at_ns(ns)); }
  [[nodiscard]] int title_state(std::uint64_t version) const { return static_cast<int>(title_.state(version)); }
  [[nodiscard]] std::vector<std::uint64_t> versions() const {
    std::vector<std::uint64_t> all;
    for (const KeptVersion& kept : title_.versions()) all.push_back(kept.version);
    return all;
  }
  [[nodiscard]] std::vector<std::int64_t> times() const {
    std::vector<std::int64_t> all;
    for (const KeptVersion& kept : title_.versions()) all.push_back(kept.time.time_since_epoch().count());
    return all;
  }
  [[nodiscard]] std::vector<std::string> lines_at(std::uint64_t version) const { return lines_.at(version)->all; }
  void break_the_rules() const { const_cast<Notebook*>(this)->title_.set("broken"); }
  [[nodiscard]] Persistent<std::string>* field() const { return &const_cast<Notebook*>(this)->title_; }

  static inline std::function<void()> on_nothing{};

 private:
  Persistent<std::string> title_;
  Persistent<Lines> lines_{KeepVersions{.count = 0, .deltas_max = 4}};

 public:
  using Methods =
      Replicates<&Notebook::rename, &Notebook::write, &Notebook::rename_and_write, &Notebook::rename_and_throw,
                 &Notebook::nothing, &Notebook::trim, &Notebook::read_by_time, &Notebook::title_before,
                 &Notebook::title_state, &Notebook::title_at, &Notebook::title_at_time, &Notebook::versions>;
};
using Fixture = PersistentFixture<Notebook>;

/// Fields that come with an update.
class Cabinet {
 public:
  void put(const std::string& name, int value) { fields_[name].set(value); }
  [[nodiscard]] int at(const std::string& name, std::uint64_t version) const { return *fields_.at(name).at(version); }
  [[nodiscard]] Persistent<int> copy(const std::string& name) const { return fields_.at(name); }
  using Methods = Replicates<&Cabinet::put>;

 private:
  std::map<std::string, Persistent<int>> fields_;
};

template <class Call>
VersionState reason_of(const Call& call) {
  try {
    static_cast<void>(call());
  } catch (const NoVersion& why) {
    return why.why();
  }
  return VersionState::kept;
}

}  // namespace

TEST_CASE("an update makes one version of a field, that of its message, whatever it changes and how often") {
  Fixture fixture(2);
  CHECK(fixture[1].query<&Notebook::title>() == "untitled");
  CHECK(fixture[1].query<&Notebook::versions>().empty());
  CHECK(fixture.update<&Notebook::rename>(4, "one") == 4);
  fixture.update<&Notebook::nothing>(5);
  fixture.update<&Notebook::rename_and_write>(7, "two");
  fixture.update<&Notebook::write>(8, "three");
  for (std::size_t which = 0; which < 2; ++which) {
    CHECK(fixture[which].query<&Notebook::versions>() == std::vector<std::uint64_t>{4, 7});
    CHECK(fixture[which].query<&Notebook::times>() == std::vector<std::int64_t>{5000, 8000});
    CHECK(fixture[which].query<&Notebook::title_at>(4u) == "one");
    CHECK(fixture[which].query<&Notebook::title_at>(6u) == "one");
    CHECK(fixture[which].query<&Notebook::title_at>(7u) == "two");
    CHECK(fixture[which].query<&Notebook::title_at>(8u) == "two");
    CHECK(fixture[which].query<&Notebook::lines_at>(7u) == std::vector<std::string>{"two"});
    CHECK(fixture[which].query<&Notebook::lines_at>(8u) == std::vector<std::string>{"two", "three"});
  }
}

TEST_CASE("what never was, what was trimmed and what is not yet are three answers, each by a sentence") {
  Fixture fixture(1);
  const auto state = [&](std::uint64_t version) {
    return static_cast<VersionState>(fixture[0].query<&Notebook::title_state>(version));
  };
  CHECK(state(0) == VersionState::not_yet);
  fixture.update<&Notebook::nothing>(3);
  CHECK(state(3) == VersionState::never_was);
  for (std::uint64_t version = 4; version < 10; ++version) fixture.update<&Notebook::rename>(version, "title");
  fixture.update<&Notebook::trim>(10, 6u);
  CHECK(state(3) == VersionState::never_was);
  CHECK(state(5) == VersionState::trimmed);
  CHECK(state(6) == VersionState::kept);
  CHECK(state(10) == VersionState::kept);
  CHECK(state(11) == VersionState::not_yet);
  const auto error = [&](std::uint64_t version) {
    return thrown_by([&] { static_cast<void>(fixture[0].query<&Notebook::title_at>(version)); }).value();
  };
  CHECK(error(3).to_string() ==
        "subgroup orders, node 0: a Persistent field cannot be read as of version 3: it had no version yet then, and its "
        "first is version 6, of time 0.000007000; fix: ask for its first version, or a later one");
  CHECK_THAT(error(5).to_string(), Catch::Contains("version 5: that was trimmed, and its first is version 6"));
  CHECK_THAT(error(11).to_string(), Catch::Contains("version 11: what it will be then is not known here yet"));
  CHECK(error(5).kind() == ErrorKind::bad_argument);
  CHECK(error(11).kind() == ErrorKind::would_block);
  CHECK(reason_of([&] { return fixture[0].query<&Notebook::title_at>(5u); }) == VersionState::trimmed);
}

TEST_CASE("an update that throws has made its version, and a replay makes it again") {
  Fixture fixture(1);
  fixture.update<&Notebook::rename>(0, "one");
  CHECK_THROWS_AS(fixture.update<&Notebook::rename_and_throw>(1, "two"), std::runtime_error);
  fixture.update<&Notebook::trim>(2, 1u);
  fixture.update<&Notebook::rename>(3, "three");
  fixture.add(NodeId(1));
  fixture.replay(1);
  fixture.install_view();
  CHECK(fixture[1].query<&Notebook::versions>() == std::vector<std::uint64_t>{1, 3});
  CHECK(fixture[1].query<&Notebook::times>() == fixture[0].query<&Notebook::times>());
  CHECK(fixture[1].query<&Notebook::title_at>(2u) == "two");
  CHECK(reason_of([&] { return fixture[1].query<&Notebook::title_at>(0u); }) == VersionState::trimmed);
}

TEST_CASE("a query reads by time what is settled, and an ordered one up to its own place") {
  Fixture fixture(1);
  fixture.update<&Notebook::rename>(0, "one");  // of time 1000
  fixture.update<&Notebook::rename>(2, "two");  // of 3000
  const auto at_time = [&](std::int64_t ns) { return fixture[0].query<&Notebook::title_at_time>(ns); };
  CHECK(at_time(1000) == "one");
  CHECK(at_time(2999) == "one");
  CHECK(at_time(3000) == "two");
  CHECK(at_time(3499) == "two");
  CHECK(reason_of([&] { return at_time(3500); }) == VersionState::not_yet);
  CHECK(reason_of([&] { return at_time(999); }) == VersionState::never_was);
  const auto beside = fixture[0].query_at<&Notebook::title_at_time>(NodeId(0), 3499);
  fixture.deliver_all();
  CHECK(beside.get() == "two");  // the poller runs it between two messages
  for (const auto& [ns, expected] : {std::pair(5999, VersionState::kept), std::pair(6000, VersionState::not_yet)}) {
    const auto call = fixture[0].ordered_query<&Notebook::title_at_time>(ns);
    fixture.deliver(5);  // of 6000
    CHECK(reason_of([&] { return call.get(); }) == expected);
  }
}

TEST_CASE("an update reads by version, its own included, and not by time") {
  Fixture fixture(1);
  fixture.update<&Notebook::rename>(0, "one");
  CHECK(fixture.update<&Notebook::title_before>(1, 0u) == "one");
  CHECK(fixture.update<&Notebook::title_before>(2, 2u) == "one");
  CHECK_THROWS_AS(fixture.update<&Notebook::title_before>(3, 4u), NoVersion);
  const auto error = thrown_by([&] { static_cast<void>(fixture.update<&Notebook::read_by_time>(4, 1000)); });
  REQUIRE(error);
  CHECK(error->kind() == ErrorKind::bad_argument);
  CHECK_THAT(error->to_string(), Catch::Contains("times differ from member to member"));
}

TEST_CASE("a query by an update sees what that has seen, and what another object's update calls is none of this object's") {
  Fixture fixture(1);
  Fixture other(1);
  fixture.update<&Notebook::rename>(0, "one");
  std::optional<std::string> seen;
  Notebook::on_nothing = [&] { seen = fixture[0].query<&Notebook::title_at>(3U); };
  fixture.update<&Notebook::nothing>(3);
  CHECK(seen == "one");
  std::optional<Error> refused;
  Notebook::on_nothing = [&] {
    refused = thrown_by([&] { fixture[0].query<&Notebook::break_the_rules>(); });
    if (!refused) refused = thrown_by([&] { fixture[0].query<&Notebook::field>()->set("broken"); });
  };
  fixture.update<&Notebook::nothing>(4);
  CHECK(refused);
  Notebook::on_nothing = [&] { refused = thrown_by([&] { fixture[0].query<&Notebook::field>()->set("broken"); }); };
  refused.reset();
  other.update<&Notebook::nothing>(5);
  CHECK(refused);
  Notebook::on_nothing = {};
  CHECK(fixture[0].query<&Notebook::title>() == "one");
}

TEST_CASE("a change by a query, or beside the methods of the object, is refused where it is seen") {
  Fixture fixture(1);
  for (std::uint64_t round = 0; round < 2; ++round) {  // without a version, and with one
    const auto by_query = thrown_by([&] { fixture[0].query<&Notebook::break_the_rules>(); });
    REQUIRE(by_query);
    CHECK(by_query->kind() == ErrorKind::bad_argument);
    CHECK_THAT(by_query->to_string(), Catch::Contains("subgroup orders, node 0: a Persistent field was changed by a query"));
    Persistent<std::string>* const field = fixture[0].query<&Notebook::field>();
    const auto beside = thrown_by([&] { field->set("broken"); });
    REQUIRE(beside);
    CHECK_THAT(beside->to_string(), Catch::Contains("in no method of its object"));
    CHECK_THROWS_AS(field->edit(), Exception);
    CHECK_THROWS_AS(field->trim(0), Exception);
    CHECK(fixture[0].query<&Notebook::title>() == (round == 0 ? "untitled" : "one"));
    fixture.update<&Notebook::rename>(round, "one");
  }
}

TEST_CASE("a field outside of any object has an initial value, and no versions") {
  Persistent<int> field(3);
  field.edit() = 4;
  CHECK(*field == 4);
  CHECK_FALSE(field.latest_version());
  CHECK_FALSE(field.first_version());
  CHECK(field.state(0) == VersionState::not_yet);
  CHECK(field.state_at(at_ns(0)) == VersionState::not_yet);
}

TEST_CASE("fields that an update makes have versions from then on, and a copy that leaves the object keeps its own") {
  PersistentFixture<Cabinet> fixture(1);
  fixture.update<&Cabinet::put>(0, "a", 1);
  fixture.update<&Cabinet::put>(1, "b", 2);
  fixture.update<&Cabinet::put>(2, "a", 3);
  CHECK(fixture[0].query<&Cabinet::at>("a", 1u) == 1);
  CHECK(fixture[0].query<&Cabinet::at>("b", 2u) == 2);
  CHECK(reason_of([&] { return fixture[0].query<&Cabinet::at>("b", 0u); }) == VersionState::never_was);
  const Persistent<int> copy = fixture[0].query<&Cabinet::copy>("a");
  fixture.update<&Cabinet::put>(3, "a", 4);
  CHECK(*copy == 3);
  CHECK(*copy.at(1) == 1);
  CHECK(*copy.at_time(at_ns(3000)) == 3);
  CHECK(reason_of([&] { return copy.at(3); }) == VersionState::not_yet);
  CHECK(reason_of([&] { return copy.at_time(at_ns(3001)); }) == VersionState::not_yet);
}

TEST_CASE("an object with such a field is not made in a subgroup that is not logged, and is told how it would be") {
  const auto error = thrown_by([] { ReplicaFixture<Notebook> fixture(1); });
  REQUIRE(error);
  CHECK(error->kind() == ErrorKind::bad_argument);
  CHECK_THAT(error->to_string(), Catch::StartsWith("subgroup orders, node 0: a Persistent field has no versions") &&
                                     Catch::Contains("this one is not logged") &&
                                     Catch::Contains("fix: let the layout say \"storage\": \"logged\""));
  ReplicaFixture<Cabinet> later(1);
  const auto call = later[0].update<&Cabinet::put>("a", 1);
  later.deliver_all();
  CHECK_THROWS_AS(call.get(), Exception);
}

}  // namespace spindrift
