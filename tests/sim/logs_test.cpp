// The checkers of logs find what they are for: stories made by hand, each with one violation.
#include <catch2/catch.hpp>

#include <spindrift/views/versions.hpp>

#include "story.hpp"
#include "views/log_books.hpp"

namespace spindrift::sim {
namespace {

Plan logged_plan(bool object) {
  Plan plan = three_nodes(DeliveryMode::ordered, 0);
  plan.subgroups[0].logged = true;
  plan.subgroups[0].object = object;
  plan.disks.resize(3);
  return plan;
}

/// Three processes with logs; a node's next process has its number plus three, and so on.
struct LogStory : Story {
  explicit LogStory(bool object = false) : Story(logged_plan(object)) {
    history.set_decided([](const View&) { return false; });
    found(0, {0, 1, 2});
  }
  [[nodiscard]] static std::uint32_t node_of(std::uint32_t process) { return process % 3; }
  [[nodiscard]] std::string ended() const { return Story::found(); }

  View view_of(std::uint64_t id, const std::vector<std::uint32_t>& processes, std::vector<std::uint32_t> holders) const {
    View made;
    made.id = ViewId(id);
    for (const std::uint32_t process : processes) {
      made.members.emplace_back(node_of(process));
      made.incarnations.push_back(100 + process);
    }
    made.subgroups = layout_of(plan.subgroups)(made.members, nullptr);
    for (const std::uint32_t holder : holders) {
      const auto rank = made.rank_of(NodeId(holder));
      made.subgroups[0].log_holders.push_back({NodeId(holder), rank ? made.incarnations[rank->value()] : 100 + holder});
    }
    return made;
  }
  void enter(std::uint32_t process, const View& view, bool loading = false) {
    history.on_view(process, {view, {}, {}, {}, {}}, {loading});
    books.on_view(process, view, {loading});
  }
  void found(std::uint64_t id, const std::vector<std::uint32_t>& processes, std::vector<std::uint32_t> loading = {}) {
    std::vector<std::uint32_t> holders;
    for (const std::uint32_t process : processes) holders.push_back(node_of(process));
    const View view = view_of(id, processes, holders);
    for (const std::uint32_t process : processes)
      enter(process, view, std::ranges::find(loading, process) != loading.end());
  }
  /// All processes end; these are the next of their nodes.
  void stop_all(const std::vector<std::uint32_t>& next) {
    for (std::uint32_t process = 0; process < 3; ++process) history.on_end(process);
    for (const std::uint32_t process : next) history.on_start(process, node_of(process), 100 + process);
  }
  void append(std::uint32_t process, const std::vector<std::byte>& payload, std::uint64_t sequence, bool right = true) {
    NodeLog& log = logs[node_of(process)];
    LogEntry entry{NodeId(0), ViewId(0), SequenceNumber(sequence), payload};
    entry.link = link_behind(right ? log.end().link : Digest{{1, 2}}, entry);
    log.now.entries.push_back(std::make_shared<const LogEntry>(entry));
    books.on_append(process, 0, log.now.entries.size() - 1, entry);
  }
  void append_everywhere(const std::vector<std::byte>& payload, std::uint64_t sequence) {
    for (std::uint32_t process = 0; process < 3; ++process) append(process, payload, sequence);
  }
  /// All disks have two messages, of which so many are reported durable.
  void have_two(std::uint64_t reported) {
    for (std::uint64_t i = 0; i < 2; ++i) append_everywhere(message(0), i);
    write_everything();
    books.on_durable(0, 0, reported);
  }
  void write_everything() {
    for (NodeLog& log : logs) log.durable = log.now.entries.size();
  }
  void read_everything() {
    for (std::uint32_t process = 0; process < 3; ++process) {
      for (std::uint64_t version = 0; version < logs[process].now.entries.size(); ++version)
        books.on_given(process, 0, version, logs[process].now.entries[version]->payload);
    }
  }

  std::vector<NodeLog> logs = std::vector<NodeLog>(3);
  LogBooks books{plan, history, report, [this](std::uint32_t node, std::uint32_t) -> const NodeLog& { return logs[node]; }};
};

}  // namespace

TEST_CASE("an honest story of logs violates nothing") {
  LogStory story;
  for (std::uint64_t i = 0; i < 4; ++i) story.append_everywhere(story.message(0), i);
  story.write_everything();
  for (std::uint32_t process = 0; process < 3; ++process) story.books.on_durable(process, 0, 4);
  CHECK(story.books.incomplete({0, 1, 2}));
  story.read_everything();
  CHECK_FALSE(story.books.incomplete({0, 1, 2}));
  CHECK(story.ended() == "nothing");
}

TEST_CASE("an entry that another log has otherwise is found, unless all had stopped (D1)") {
  LogStory story;
  const auto first = story.message(0);
  story.append_everywhere(first, 0);
  const auto second = story.message(0);
  const auto third = story.message(1);
  story.append(0, second, 1);
  SECTION("while they run") {
    story.append(1, third, 2);
    CHECK(story.ended() == "D1");
  }
  SECTION("there is a gap") {
    story.append(1, second, 1);
    story.append(1, third, 2);
    story.logs[2].now = story.logs[1].now;
    story.append(2, story.message(1), 3);
    CHECK(story.ended() == "nothing");
    story.logs[0].now = story.logs[2].now;
    story.logs[0].now.entries.push_back(story.logs[0].now.entries.back());
    story.append(0, story.message(1), 5);
    CHECK(story.ended() == "D1");
  }
  SECTION("those that have it do not found") {
    story.stop_all({4, 5});
    story.found(1, {4, 5});
    story.append(4, third, 2);
    story.append(5, third, 2);
    CHECK(story.ended() == "nothing");
  }
  SECTION("one that founds begins with another log than the rest") {
    story.stop_all({3, 4, 5});
    story.found(1, {3, 4, 5});
    CHECK(story.ended() == "D1");
  }
}

TEST_CASE("a first view without what was reported durable is found (D2)") {
  for (const bool reported : {false, true}) {
    LogStory story;
    story.have_two(reported ? 2 : 1);
    story.stop_all({3, 4});
    for (NodeLog& log : story.logs) log.now.entries.resize(1);
    story.found(1, {3, 4});
    CHECK(story.ended() == (reported ? "D2" : "nothing"));
  }
}

TEST_CASE("a log without its first messages goes on as the one that has them") {
  LogStory story;
  for (std::uint64_t i = 0; i < 4; ++i) story.append_everywhere(story.message(0), i);
  story.write_everything();
  story.read_everything();
  for (std::uint32_t process = 0; process < 3; ++process) story.books.on_durable(process, 0, 4);
  story.logs[0].now.trim(3);
  story.logs[1].now.trim(4);
  bool changed = false;
  SECTION("as it was") {}
  SECTION("but for the link behind what it has trimmed") {
    story.logs[0].now.begin.link.words[0] ^= 1;
    changed = true;
  }
  story.stop_all({3, 4});
  story.found(1, {3, 4});
  CHECK(story.ended() == (changed ? "D2" : "nothing"));
  if (changed) return;
  story.append(3, story.message(0), 4);
  story.append(4, story.message(1), 4);
  CHECK(story.ended() == "D1");
}

TEST_CASE("an application that is given what its log has trimmed, or too little of the rest, is found (D7)") {
  LogStory story;
  for (std::uint64_t i = 0; i < 4; ++i) story.append_everywhere(story.message(0), i);
  const LogEntries all = story.logs[0].entries();
  story.logs[0].now.trim(2);
  CHECK(story.books.given(0, 0) == 2);
  SECTION("from there on") {
    for (std::uint64_t version = 2; version < 4; ++version) story.books.on_given(0, 0, version, all[version]->payload);
    CHECK(story.ended() == "nothing");
  }
  SECTION("one that it has trimmed") {
    story.books.on_given(0, 0, 1, all[1]->payload);
    CHECK(story.ended() == "D7");
  }
  SECTION("without the first that is there") {
    story.books.on_given(0, 0, 3, all[3]->payload);
    CHECK(story.ended() == "D7");
  }
}

TEST_CASE("a log of an object that begins late, and has no checkpoint in it with its link, is found (D9)") {
  LogStory story(true);
  for (std::uint64_t i = 0; i < 4; ++i) story.append_everywhere(story.message(0), i);
  LogContent& log = story.logs[0].now;
  const auto place = [&](std::uint64_t version) { return views::LogPoint{version, story.logs[1].now.link_at(version)}; };
  log.trim(2);
  log.checkpoint = place(3);
  std::string found = "D9";
  SECTION("it has one") { found = "nothing"; }
  SECTION("it has one where it begins") {
    log.checkpoint = place(2);
    found = "nothing";
  }
  SECTION("it has one where it ends") {
    log.checkpoint = place(4);
    found = "nothing";
  }
  SECTION("it has none") { log.checkpoint.reset(); }
  SECTION("it has one before its beginning") { log.checkpoint = place(1); }
  SECTION("it has one behind its end") {
    log.entries.resize(3);
    log.checkpoint = place(4);
    story.books.on_open(0);  // the rest is to come
    CHECK(story.ended() == "nothing");
  }
  SECTION("it has another link there") { log.checkpoint->link.words[0] ^= 1; }
  SECTION("it begins with its first message") {
    log = story.logs[1].now;
    found = "nothing";
  }
  story.books.on_loaded(0, 0);
  CHECK(story.ended() == found);
}

TEST_CASE("a process that begins with a log that begins late, without a checkpoint, is found (D9)") {
  LogStory story(true);
  for (std::uint64_t i = 0; i < 4; ++i) story.append_everywhere(story.message(0), i);
  story.logs[0].now.trim(2);
  SECTION("at its start") { story.books.on_open(0); }
  SECTION("in its view") { story.books.on_view(0, story.view_of(0, {0, 1, 2}, {0, 1, 2}), {false}); }
  CHECK(story.ended() == "D9");
}

TEST_CASE("an object is made from a checkpoint and what follows, or from all messages, else it is found (D7)") {
  LogStory story(true);
  for (std::uint64_t i = 0; i < 4; ++i) story.append_everywhere(story.message(0), i);
  const LogEntries all = story.logs[0].entries();
  story.logs[0].now.checkpoint = views::LogPoint{3, all[2]->link};
  story.logs[0].now.trim(2);
  const auto give = [&](std::uint64_t version) { story.books.on_given(0, 0, version, all[version]->payload); };
  CHECK(story.books.given(0, 0) == 0);
  std::string found = "D7";
  SECTION("the state and what follows") {
    story.books.on_state(0, 0);
    CHECK(story.books.given(0, 0) == 3);
    give(3);
    found = "nothing";
  }
  SECTION("what was before its log's beginning is given, and so is what follows") {
    for (std::uint64_t version = 0; version < 4; ++version) give(version);
    found = "nothing";
  }
  SECTION("what its log has, without a state") { give(2); }
  SECTION("the state and a message that is part of it") {
    story.books.on_state(0, 0);
    give(2);
  }
  SECTION("the state twice") {
    story.books.on_state(0, 0);
    story.books.on_state(0, 0);
  }
  CHECK(story.ended() == found);
}

TEST_CASE("a link that is not that of the log's messages is found (D3)") {
  LogStory story;
  story.append_everywhere(story.message(0), 0);
  story.append(0, story.message(0), 1, false);
  CHECK(story.ended() == "D3");
}

TEST_CASE("an application that is not given the log's messages one by one is found (D7)") {
  LogStory story;
  const auto first = story.message(0);
  const auto second = story.message(0);
  story.append_everywhere(first, 0);
  story.append_everywhere(second, 1);
  SECTION("one is left out") { story.books.on_given(0, 0, 1, second); }
  SECTION("one comes twice") {
    story.books.on_given(0, 0, 0, first);
    story.books.on_given(0, 0, 0, first);
  }
  SECTION("another comes in its place") { story.books.on_given(0, 0, 0, second); }
  SECTION("one comes that no log has") {
    story.books.on_given(0, 0, 0, first);
    story.books.on_given(0, 0, 1, second);
    story.books.on_given(0, 0, 2, story.message(0));
  }
  CHECK(story.ended() == "D7");
}

TEST_CASE("a version that is told to be durable before all members have it is found (D8)") {
  LogStory story;
  story.append_everywhere(story.message(0), 0);
  story.append_everywhere(story.message(0), 1);
  story.write_everything();
  SECTION("one has it in memory alone") {
    story.logs[2].durable = 1;
    story.books.on_durable(0, 0, 2);
  }
  SECTION("one has another log") {
    std::swap(story.logs[2].now.entries[0], story.logs[2].now.entries[1]);
    story.books.on_durable(0, 0, 2);
  }
  SECTION("nobody has it") { story.books.on_durable(0, 0, 3); }
  SECTION("it was told before") {
    story.books.on_durable(0, 0, 2);
    story.books.on_durable(0, 0, 1);
  }
  CHECK(story.ended() == "D8");
}

TEST_CASE("messages that a log has twice, or not in the order of their thread, are found") {
  LogStory story;
  const auto first = story.message(0);
  const auto second = story.message(0);
  SECTION("twice") {
    story.append(0, first, 0);
    story.append(0, first, 1);
    CHECK(story.ended() == "M2");
  }
  SECTION("with a gap") {
    story.append(0, second, 0);
    CHECK(story.ended() == "M3");
  }
  SECTION("with one that was given up") {
    story.history.on_dropped(0, 0, 1);
    story.append(0, second, 0);
    CHECK(story.ended() == "nothing");
  }
}

TEST_CASE("what somebody is owed of a log in the end is found") {
  LogStory story;
  const auto owed = [&] {
    const auto found = story.books.incomplete({0, 1, 2});
    return std::string(found ? found->invariant : "nothing");
  };
  story.append_everywhere(story.message(0), 0);
  story.write_everything();
  CHECK(owed() == "D7");
  story.read_everything();
  CHECK(owed() == "L2");
  for (std::uint32_t process = 0; process < 3; ++process) story.books.on_durable(process, 0, 1);
  CHECK(owed() == "nothing");
  static_cast<void>(story.message(1));
  CHECK(owed() == "M8");
  story.books.check_left(1, {false});
  CHECK(story.ended() == "M8");
}

TEST_CASE("a founding that does not wait for one that has the log, and was in the view before, is found (D2)") {
  for (const bool there : {false, true}) {
    LogStory story;
    story.append_everywhere(story.message(0), 0);
    View second = story.view_of(1, {0, 1}, {there ? 0U : 2U});
    second.subgroups[0].senders = second.subgroups[0].members = {NodeId(there ? 0 : 1)};
    story.history.set_decided([&](const View& view) { return view.id == second.id; });
    story.history.blame(2);
    for (const std::uint32_t process : {0U, 1U}) {
      story.history.on_view(process, {second, {}, {}, {{NodeId(2), "silent"}}, {}}, {false});
      story.books.on_view(process, second, {true});
    }
    story.stop_all({4, 5});
    View third = story.view_of(2, {4}, {there ? 0U : 2U});
    third.subgroups[0].members.clear();
    story.enter(4, third);
    CHECK(story.ended() == (there ? "D2" : "nothing"));
  }
}

TEST_CASE("a subgroup that waits for its log beside a holder that is back is found (L1), unless its disk was lost") {
  LogStory story;
  story.append(0, story.message(0), 0);
  story.stop_all({3, 4});
  View first = story.view_of(1, {3, 4}, {});
  first.subgroups[0].members.clear();
  first.subgroups[0].senders.clear();
  first.subgroups[0].log_holders = {{NodeId(0), 100}};
  first.subgroups[0].inadequate = "its log is with node 0";
  first.roster.version = views::logs_return_since;
  std::string expected = "L1";
  SECTION("it says what it has") {}
  SECTION("it has lost it") {
    story.logs[0] = {.lost_before = 3};
    expected = "nothing";
  }
  SECTION("in a view of an earlier version") {
    first.roster.version = views::logs_return_since - 1;
    expected = "nothing";
  }
  for (const std::uint32_t process : {3U, 4U}) {
    story.history.on_view(process, {first, {}, {}, {}, {}}, {false});
  }
  const auto found = story.books.incomplete({3, 4});
  CHECK(std::string(found ? found->invariant : "nothing") == expected);
}

TEST_CASE("a log that is taken up without what was reported durable is found (D2), unless that was given up right before") {
  enum class Reported { no, yes, given_up, given_up_long_before };
  for (const auto reported : {Reported::no, Reported::yes, Reported::given_up, Reported::given_up_long_before}) {
    LogStory story;
    story.have_two(reported == Reported::no ? 1 : 2);
    View waiting = story.view_of(1, {2}, {0, 1});
    waiting.subgroups[0].members.clear();
    waiting.subgroups[0].senders.clear();
    waiting.subgroups[0].inadequate = "its log is with nodes 0, 1";
    story.history.set_decided([](const View&) { return true; });
    for (const std::uint32_t gone : {0U, 1U}) {
      story.history.blame(gone);
      story.history.on_end(gone);
    }
    story.history.on_view(2, {waiting, {}, {}, {{NodeId(0), "silent"}, {NodeId(1), "silent"}}, {}}, {false});
    story.books.on_view(2, waiting, {false});
    story.logs[0].now.entries.resize(1);
    story.logs[0].durable = 1;
    if (reported == Reported::given_up) story.books.on_adopted(0, waiting.id, 0);
    if (reported == Reported::given_up_long_before) story.books.on_adopted(0, ViewId(0), 0);
    story.history.on_start(3, 0, 103);
    const View back = story.view_of(2, {2, 3}, {0});
    story.history.on_view(2, {back, {NodeId(0)}, {}, {}, {}}, {true});
    story.books.on_view(2, back, {true});
    const bool found = reported == Reported::yes || reported == Reported::given_up_long_before;
    CHECK(story.ended() == (found ? "D2" : "nothing"));
    CHECK(story.report.hits(Probe::log_taken_up) == 1);
  }
}

TEST_CASE("a subgroup that waits for its log beside one that founded with it is found") {
  LogStory story;
  story.append_everywhere(story.message(0), 0);
  story.stop_all({3, 4});
  View first = story.view_of(1, {3, 4}, {0, 1});
  first.subgroups[0].members.clear();
  first.subgroups[0].senders.clear();
  first.subgroups[0].inadequate = "its log is with nodes 0, 1";
  for (const std::uint32_t process : {3U, 4U}) story.enter(process, first);
  const auto found = story.books.incomplete({3, 4});
  REQUIRE(found);
  CHECK(std::string(found->invariant) == "L1");
}

}  // namespace spindrift::sim
