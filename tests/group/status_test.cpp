// The status file: what is written is what is read, and whatever else lies there is refused by name.
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include <catch2/catch.hpp>

#include <spindrift/group/status_keeper.hpp>

using namespace spindrift;
using Catch::Matchers::Contains;
using views::NewView;
using group::read_status;
using group::MemberStatus;
using group::StatusKeeper;

namespace {

struct StatusFixture {
  StatusFixture() {
    std::string pattern = (std::filesystem::temp_directory_path() / "spindrift-test-XXXXXX").string();
    directory = ::mkdtemp(pattern.data());
    path = directory + "/1.status";
  }
  ~StatusFixture() { std::filesystem::remove_all(directory); }

  [[nodiscard]] MemberStatus first() const {
    MemberStatus status;
    status.group = "test";
    status.node = NodeId(1);
    status.incarnation = ~std::uint64_t{0};
    status.process = 42;
    status.state = "looking";
    return status;
  }
  /// Until the file says so, which another thread writes.
  template <class Condition>
  void await(Condition&& holds) const {
    while (!holds(value_or_throw(read_status(path)))) std::this_thread::yield();
  }
  void await_state(const std::string& state) const {
    await([&](const MemberStatus& status) { return status.state == state; });
  }
  void replace(const std::string& text) const { std::ofstream(path) << text; }
  [[nodiscard]] std::string text() const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  [[nodiscard]] std::string refusal() const {
    const auto read = read_status(path);
    return read ? "accepted" : read.error().to_string();
  }

  std::string directory;
  std::string path;
};

View view_of(std::uint64_t id, std::vector<NodeId> members) {
  View view{ViewId(id), members, {}, {}};
  for (const NodeId node : members) view.incarnations.push_back(100 + node.value());
  view.subgroups.push_back({"orders", members, members, DeliveryMode::ordered, {}, {}});
  view.subgroups.push_back({"audit", {}, {}, DeliveryMode::unordered, {}, {}, "it needs 4 members"});
  return view;
}

}  // namespace

TEST_CASE_METHOD(StatusFixture, "a status is read as it was written: views, reasons, what is blocked, the end") {
  StatusKeeper keeper(path, first());
  const View zero = view_of(0, {NodeId(0), NodeId(1), NodeId(2)});
  keeper.on_view({zero, {NodeId(0), NodeId(2)}, {}, {}, {}}, 1000);
  keeper.flush();
  CHECK(read_status(path)->subgroups[0].blocked == "the view is changing");
  keeper.on_state("active", {});
  const View one = view_of(1, {NodeId(1), NodeId(2)});
  keeper.on_view({one, {}, {}, {{NodeId(0), "its \"connection\" broke\n\x01", NodeId(2)}}, {}}, 2000);
  keeper.on_state("active", {});
  keeper.flush();

  const auto status = read_status(path);
  REQUIRE(status.ok());
  CHECK(status->group == "test");
  CHECK(status->incarnation == ~std::uint64_t{0});
  CHECK(status->view == ViewId(1));
  CHECK(status->partition_safety);
  CHECK(status->members == std::vector<MemberStatus::MemberEntry>{{NodeId(1), 101, 1000}, {NodeId(2), 102, 1000}});
  CHECK(status->subgroups == keeper.status().subgroups);
  CHECK(status->subgroups[0].blocked.empty());
  CHECK(status->subgroups[1].blocked == "it needs 4 members");
  REQUIRE(status->changes.size() == 2);
  CHECK(status->changes[1].failed[0].reason == "its \"connection\" broke??");
  CHECK(status->changes[1].failed[0].by == NodeId(2));
  CHECK(status->state_since_ms > 0);
  CHECK(status->changes[0].joined == std::vector{NodeId(0), NodeId(2)});
  CHECK_FALSE(status->end);
  CHECK(status->waits.group.empty());
  keeper.on_waits({"nodes 0, 2", {}, "node 2", {}, "it has lost the majority"});
  keeper.flush();
  CHECK(read_status(path)->waits.group == "nodes 0, 2");
  CHECK(read_status(path)->waits.sends == "node 2");
  CHECK(read_status(path)->waits.majority == "it has lost the majority");
  CHECK(read_status(path)->beginning.at_ms == first().beginning.at_ms);
  CHECK(status->waits.leave.empty());
  keeper.on_waits({{}, "node 2 has not taken what it sent in subgroup orders", {}, {}, {}});
  keeper.flush();
  CHECK(read_status(path)->waits.leave == "node 2 has not taken what it sent in subgroup orders");
  CHECK(status->roster.sizes_differ.empty());
  keeper.on_roster("subgroup orders: window_size is 8 in the group and 9 here", "the group speaks version 17");
  keeper.flush();
  const auto of_roster = value_or_throw(read_status(path)).roster;
  CHECK(of_roster.sizes_differ == "subgroup orders: window_size is 8 in the group and 9 here");
  CHECK(of_roster.version_held == "the group speaks version 17");

  keeper.on_state("failed", MemberStatus::End{"removed", "too slow", 3000});
  const auto ended = read_status(path);
  REQUIRE((ended.ok() && ended->end.has_value()));
  CHECK(ended->end->kind == "removed");
  CHECK(ended->end->at_ms == 3000);
  CHECK(ended->subgroups[0].blocked == "this node is out of the group");
}

TEST_CASE_METHOD(StatusFixture, "a member that came back is a new entry, one that stayed keeps its time") {
  StatusKeeper keeper(path, first());
  keeper.on_view({view_of(0, {NodeId(0), NodeId(1)}), {}, {}, {}, {}}, 1000);
  View next = view_of(1, {NodeId(0), NodeId(1)});
  next.incarnations[0] = 7;
  keeper.on_view({next, {}, {}, {}, {}}, 2000);
  keeper.flush();
  const std::vector<MemberStatus::MemberEntry> members{{NodeId(0), 7, 2000}, {NodeId(1), 101, 1000}};
  CHECK(read_status(path)->members == members);
}

TEST_CASE_METHOD(StatusFixture, "a status tells which nodes are drained, and forgets who is let in again") {
  StatusKeeper keeper(path, first());
  View view = view_of(3, {NodeId(0), NodeId(1)});
  view.roster = {1, {{NodeId(0), ""}, {NodeId(1), ""}, {NodeId(4), ""}, {NodeId(7), ""}}, {NodeId(4), NodeId(7)}};
  keeper.on_view({view, {}, {NodeId(4), NodeId(7)}, {}, {}}, 1000);
  keeper.flush();
  CHECK(value_or_throw(read_status(path)).roster.drained == std::vector{NodeId(4), NodeId(7)});
  view.id = ViewId(4);
  view.roster.drained = {NodeId(7)};
  keeper.on_view({view, {}, {}, {}, {}}, 2000);
  keeper.flush();
  CHECK(value_or_throw(read_status(path)).roster.drained == std::vector{NodeId(7)});
}

TEST_CASE_METHOD(StatusFixture, "a state of the same name is not written again") {
  StatusKeeper keeper(path, first());
  keeper.on_state("changing", {});
  keeper.flush();
  keeper.on_state("changing", {});
  CHECK(keeper.look(Time{}) == never);
  keeper.on_state("active", {});
  CHECK(keeper.look(Time{}) != never);
}

TEST_CASE_METHOD(StatusFixture, "a status that met a full disk is written when there is space, without another change") {
  StatusKeeper keeper(path, first());
  std::filesystem::create_symlink("/dev/full", path + ".new");  // every write to it ends with ENOSPC
  keeper.on_state("active", std::nullopt);
  keeper.flush();
  CHECK(read_status(path)->state == "looking");
  std::filesystem::remove(path + ".new");
  await_state("active");
}

TEST_CASE_METHOD(StatusFixture, "a status is shown once it has settled, whatever else changes until then") {
  StatusKeeper keeper(path, first());
  const Time begin{std::chrono::seconds(100)};
  CHECK(keeper.look(begin) == never);
  keeper.on_state("changing", {});
  const Time due = keeper.look(begin);
  CHECK(due == begin + StatusKeeper::settles_within);
  keeper.on_state("active", {});
  CHECK(keeper.look(due - Duration(1)) == due);
  CHECK(keeper.look(due) == never);
  await_state("active");
}

TEST_CASE_METHOD(StatusFixture, "the first view is shown without settling") {
  StatusKeeper keeper(path, first());
  keeper.on_view({view_of(0, {NodeId(0), NodeId(1)}), {}, {}, {}, {}}, 1000);
  keeper.on_state("active", {});
  keeper.await_file();
  CHECK(read_status(path)->state == "active");
}

TEST_CASE_METHOD(StatusFixture, "a handler at work is shown though no pass looks, and an end at once") {
  StatusKeeper keeper(path, first());
  keeper.on_handler_at_work("a handler of subgroup orders");
  await([](const MemberStatus& status) { return status.waits.handler == "a handler of subgroup orders"; });
  keeper.on_state("left", MemberStatus::End{"left", {}, 7});
  CHECK(read_status(path)->end->at_ms == 7);
}

TEST_CASE_METHOD(StatusFixture, "a directory that was removed is there again with the next status") {
  StatusKeeper keeper(path, first());
  await([](const MemberStatus& status) { return !status.end; });
  std::filesystem::remove_all(directory);
  keeper.on_state("left", MemberStatus::End{"left", {}, 7});
  CHECK(read_status(path)->end->at_ms == 7);
}

TEST_CASE_METHOD(StatusFixture, "a status tells of a process before: the last one that was in a view, else the last one") {
  CHECK_FALSE(group::predecessor_at(path));
  MemberStatus member = first();
  member.view = ViewId(3);
  member.beginning.at_ms = 500;
  REQUIRE(write_status(path, member));
  MemberStatus seeker = first();
  seeker.process = 43;
  seeker.beginning.before = group::predecessor_at(path);
  REQUIRE(seeker.beginning.before);
  CHECK(seeker.beginning.before->process == 42);
  CHECK_FALSE(seeker.beginning.before->end);  // it was gone without a word
  seeker.end = MemberStatus::End{"timed out", "nobody came", 7};
  REQUIRE(write_status(path, seeker));
  const auto of_member = group::predecessor_at(path);
  REQUIRE(of_member);
  CHECK(of_member->process == 42);
  CHECK(of_member->view == ViewId(3));
  CHECK(of_member->began_ms == 500);
  seeker.beginning.before.reset();
  REQUIRE(write_status(path, seeker));
  const auto of_seeker = group::predecessor_at(path);
  REQUIRE(of_seeker);
  CHECK(of_seeker->process == 43);
  CHECK(of_seeker->end->reason == "nobody came");
  MemberStatus member_again = first();
  member_again.beginning.before = of_seeker;
  REQUIRE(write_status(path, member_again));
  CHECK(read_status(path)->beginning.before->end->kind == "timed out");
}

TEST_CASE_METHOD(StatusFixture, "the last 32 changes are kept") {
  StatusKeeper keeper(path, first());
  for (std::uint64_t id = 0; id < 40; ++id) keeper.on_view({view_of(id, {NodeId(1)}), {}, {}, {}, {}}, id);
  keeper.flush();
  const auto status = read_status(path);
  REQUIRE(status->changes.size() == 32);
  CHECK(status->changes.front().view == ViewId(8));
  CHECK(status->changes.back().view == ViewId(39));
}

TEST_CASE_METHOD(StatusFixture, "a status says which subgroups are logged, and one that says nothing of it has none") {
  StatusKeeper keeper(path, first());
  View view = view_of(3, {NodeId(0), NodeId(1)});
  view.subgroups[0].storage = SubgroupStorage::logged;
  keeper.on_view({view, {}, {}, {}, {}}, 1000);
  keeper.flush();
  auto status = value_or_throw(read_status(path));
  CHECK(status.subgroups == keeper.status().subgroups);
  CHECK(status.subgroups.at(0).storage == SubgroupStorage::logged);
  CHECK(status.subgroups.at(1).storage == SubgroupStorage::memory);
  std::string of_old = text();
  const std::string said = "\"storage\":\"logged\"";
  REQUIRE(of_old.find(said) != std::string::npos);
  replace(of_old.replace(of_old.find(said), said.size(), "\"extra\":1"));
  status = value_or_throw(read_status(path));
  CHECK(status.subgroups.at(0).storage == SubgroupStorage::memory);
}

TEST_CASE_METHOD(StatusFixture, "a status says which handlers are paused, view after view, and an older one says nothing") {
  StatusKeeper keeper(path, first());
  keeper.on_view({view_of(3, {NodeId(0), NodeId(1)}), {}, {}, {}, {}}, 1000);
  const MemberStatus::Pause pause{7, 340};
  keeper.on_pauses({{"orders", pause}, {"nowhere", {9, 1}}});
  keeper.flush();
  auto status = value_or_throw(read_status(path));
  CHECK(status.subgroups == keeper.status().subgroups);
  CHECK(status.subgroups.at(0).paused == pause);
  CHECK_FALSE(status.subgroups.at(1).paused);
  const std::string held = text();
  keeper.on_view({view_of(4, {NodeId(0), NodeId(1)}), {}, {}, {}, {}}, 1000);
  CHECK(keeper.status().subgroups.at(0).paused == pause);
  keeper.on_pauses({{"orders", pause}, {"audit", {8, 0}}});
  CHECK(keeper.status().subgroups.at(0).paused == pause);
  CHECK(keeper.status().subgroups.at(1).paused == MemberStatus::Pause{8, 0});
  keeper.on_pauses({});
  CHECK_FALSE(keeper.status().subgroups.at(0).paused);

  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = held;
    REQUIRE(changed.find(from) != std::string::npos);
    replace(changed.replace(changed.find(from), from.size(), to));
    return refusal();
  };
  CHECK_THAT(with("\"messages\":340", "\"messages\":-1"), Contains("a pause: messages"));
  CHECK_THAT(with("\"since_ms\":7}", "\"since_ms\":\"7\"}"), Contains("a pause: since_ms"));
  CHECK(with("\"paused\":{", "\"extra\":{") == "accepted");
  CHECK_FALSE(value_or_throw(read_status(path)).subgroups.at(0).paused);
}

TEST_CASE_METHOD(StatusFixture, "a file with a missing, mistyped or impossible field is refused by its name") {
  StatusKeeper keeper(path, first());
  keeper.on_view({view_of(3, {NodeId(0), NodeId(1)}), {}, {NodeId(4)}, {{NodeId(5), "x"}}, {}}, 1000);
  keeper.on_state("failed", MemberStatus::End{"removed", "x", 1});
  const std::string good = text();
  REQUIRE(read_status(path).ok());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    replace(text.replace(at, from.size(), to));
    return refusal();
  };
  for (const char* field : {"version",
                            "group",
                            "node",
                            "incarnation",
                            "process",
                            "process_started",
                            "partition_safety",
                            "state",
                            "drained",
                            "protocol",
                            "version_held",
                            "view",
                            "members",
                            "subgroups",
                            "changes",
                            "end",
                            "before",
                            "agreed",
                            "began_ms",
                            "looks_for",
                            "leave_waits",
                            "sends_wait",
                            "majority_lost",
                            "at_ms",
                            "kind",
                            "reason",
                            "since_ms",
                            "joined",
                            "left",
                            "failed",
                            "senders",
                            "mode",
                            "inadequate",
                            "blocked",
                            "name"}) {
    CHECK_THAT(with("\"" + std::string(field) + "\":", "\"renamed\":"), Contains(path) && Contains(field));
  }
  CHECK_THAT(with("\"node\":1", "\"node\":4294967296"), Contains("node"));
  CHECK_THAT(with("\"node\":1", "\"node\":-1"), Contains("node"));
  CHECK_THAT(with("\"process\":42", "\"process\":42000000000"), Contains("process"));
  CHECK_THAT(with("\"state\":\"failed\"", "\"state\":7"), Contains("state"));
  CHECK_THAT(with("\"partition_safety\":true", "\"partition_safety\":1"), Contains("partition_safety"));
  CHECK_THAT(with("\"mode\":\"ordered\"", "\"mode\":\"sorted\""), Contains("mode"));
  CHECK_THAT(with("\"storage\":\"memory\"", "\"storage\":\"disk\""), Contains("storage"));
  CHECK_THAT(with("\"storage\":\"memory\"", "\"storage\":null"), Contains("storage"));
  CHECK_THAT(with("\"members\":[0,1]", "\"members\":[1,1]"), Contains("twice"));
  CHECK_THAT(with("\"version\":6", "\"version\":5"), Contains("version"));
}

TEST_CASE_METHOD(StatusFixture, "no text of a status file commands a terminal or forges a line, and no state is invented") {
  MemberStatus evil = first();
  const std::string bytes = "a\x1b]0;x\x07\r\nnode 7: well\x7f\xc2\x9b\xe2\x80\xae";
  evil.state = "active";
  evil.group = bytes;
  evil.subgroups = {{bytes, DeliveryMode::ordered, {}, {}, bytes, bytes}};
  evil.changes = {{ViewId(1), 1, {NodeId(1)}, {}, {}, {{NodeId(2), bytes}}}};
  evil.end = {{bytes, bytes, 1}};
  REQUIRE(write_status(path, evil));
  const auto read = read_status(path);
  REQUIRE(read);
  const std::string shown = "a?]0;x???node 7: well??????";
  CHECK(read->group == shown);
  CHECK(read->subgroups[0].name == shown);
  CHECK(read->subgroups[0].inadequate == shown);
  CHECK(read->subgroups[0].blocked == shown);
  CHECK(read->changes[0].failed[0].reason == shown);
  CHECK(read->end->kind == shown);
  CHECK(read->end->reason == shown);

  evil.state = "active and well";
  REQUIRE(write_status(path, evil));
  CHECK_THAT(read_status(path).error().to_string(), Contains(path) && Contains("state"));
}

TEST_CASE_METHOD(StatusFixture, "who reads while the next status is written reads the last one whole") {
  StatusKeeper keeper(path, first());
  keeper.on_state("active", {});
  keeper.flush();
  const std::string before = text();
  std::ifstream reader(path);
  keeper.on_state("failed", MemberStatus::End{"removed", "x", 1});
  CHECK(std::string(std::istreambuf_iterator<char>(reader), {}) == before);
  CHECK(text() != before);
}

TEST_CASE_METHOD(StatusFixture, "changes that do not follow one another are refused") {
  StatusKeeper keeper(path, first());
  for (const std::uint64_t id : {3U, 4U}) keeper.on_view({view_of(id, {NodeId(1)}), {}, {}, {}, {}}, 1000);
  keeper.flush();
  std::string twice = text();
  twice.replace(twice.find("\"view\":4"), 8, "\"view\":3");  // the first of the two: fields are in the order of the alphabet
  replace(twice);
  CHECK_THAT(refusal(), Contains("out of order"));
}

TEST_CASE_METHOD(StatusFixture, "what is no status file is refused by its name") {
  for (const char* text : {"", "{", "[]", "null", "17", "{\"version\":1}"}) {
    replace(text);
    CHECK_THAT(refusal(), Contains(path) && Contains("not a status file"));
  }
  const std::string pipe = directory + "/2.status";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THAT(read_status(pipe).error().to_string(), Contains("no regular file"));
  CHECK_THAT(read_status(directory).error().to_string(), Contains(directory));
  CHECK_THAT(read_status(directory + "/9.status").error().to_string(), Contains("9.status") && Contains("No such file"));
}

TEST_CASE("the start of a running process is known, and that of none is not") {
  CHECK(group::process_start_ticks(static_cast<std::uint64_t>(::getpid())) > 0);
  CHECK(group::process_start_ticks(0x7fffffff) == 0);
}

TEST_CASE("the start of a process is known whatever it is called, that of an ended one is not, and one may be stopped") {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_NAME, "a) Z 1 (b");
    ::pause();
  }
  const auto name = [child] {
    std::ifstream file("/proc/" + std::to_string(child) + "/comm");
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  while (name() != "a) Z 1 (b\n") ::usleep(100);  // nothing tells
  CHECK(group::process_start_ticks(static_cast<std::uint64_t>(child)) >=
        group::process_start_ticks(static_cast<std::uint64_t>(::getpid())));
  siginfo_t ended{};
  CHECK_FALSE(group::process_stopped(static_cast<std::uint64_t>(child)));
  ::kill(child, SIGSTOP);
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &ended, WSTOPPED) == 0);
  CHECK(group::process_stopped(static_cast<std::uint64_t>(child)));
  ::kill(child, SIGKILL);
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) == 0);
  CHECK(group::process_start_ticks(static_cast<std::uint64_t>(child)) == 0);  // nobody has reaped it
  ::waitpid(child, nullptr, 0);
}
