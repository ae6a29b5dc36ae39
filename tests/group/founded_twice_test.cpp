// Nodes that are told to found by force once they have, as whoever was cut off in the middle tells them again.
#include <catch2/catch.hpp>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/group/found_journal.hpp>
#include <spindrift/group/group.hpp>
#include <spindrift/group/roster_service.hpp>
#include <spindrift/group/view_file.hpp>

#include "logged_fixture.hpp"

namespace spindrift {
namespace {

constexpr Duration patience = std::chrono::seconds(20);

/// Three nodes have stopped in order, and the last one's disk is lost: the other two wait for it.
class LeftBehind : public LoggedFixture {
 public:
  using Groups = std::vector<std::unique_ptr<Group>>;

  LeftBehind() {
    Groups groups = join_logged(0, 3);
    for (auto& group : groups) {
      group->subgroup("orders").on_delivery([](std::span<const Delivery>) {});
      group->subgroup("ticks").on_delivery([](std::span<const Delivery>) {});
    }
    for (auto& group : groups) {
      group->leave();
      group.reset();
    }
    const group::JournalPlace place{directory() + "/journals", name_};
    value_or_throw(group::forget_journal(place, NodeId(2)));
    value_or_throw(group::ViewFile::forget(runtime_, NodeId(2)));
  }

  [[nodiscard]] Result<Roster> found(std::uint32_t told, std::vector<NodeId> nodes, bool force) const {
    const group::RosterCall call{{}, patience, group::Revive{std::move(nodes), force, true}};
    return group::change_roster_through(runtime_, NodeId(told), call);
  }
  /// Nodes 0 and 1 have founded without node 2. `meanwhile` runs beside that.
  [[nodiscard]] Groups founded(const std::function<void()>& meanwhile = [] {}) {
    const GroupOptions options = logged(3);
    const auto join = [&](unsigned node) { return std::make_unique<Group>(config(node, 3, with_journals(3)), options); };
    auto zero = std::async(std::launch::async, [&] { return join(0); });
    auto one = std::async(std::launch::async, [&] { return join(1); });
    const auto waits = [&] {
      const auto asked = found(0, {NodeId(0), NodeId(1)}, false);
      return !asked && asked.error().kind() == ErrorKind::no_majority;
    };
    while (!waits()) std::this_thread::yield();
    auto beside = std::async(std::launch::async, meanwhile);
    value_or_throw(found(0, {NodeId(0), NodeId(1)}, true));
    Groups groups;
    for (auto* const joining : {&zero, &one}) groups.push_back(joining->get());
    beside.get();
    return groups;
  }

 private:
  const std::string name_ = config(0, 1).group_name();
  const GuardedDirectory runtime_ = value_or_throw(GuardedDirectory::open(directory(), name_));
};

}  // namespace

TEST_CASE_METHOD(LeftBehind, "nodes that are told to found once more say that they have, whoever of them is told") {
  Groups groups = founded();
  for (const bool force : {false, true}) {
    CHECK(found(0, {NodeId(0), NodeId(1)}, force));
    CHECK(found(1, {NodeId(1), NodeId(0)}, force));
  }
  leave_all(groups);
}

TEST_CASE_METHOD(LeftBehind, "asked while it founds by another one's word, a node never says that it looks for none") {
  std::optional<Error> wrong;
  Groups groups = founded([&] {
    while (!wrong) {
      const auto asked = found(1, {NodeId(0), NodeId(1)}, false);
      if (asked) return;
      if (asked.error().message().find("looks for no group") != std::string::npos) wrong = asked.error();
    }
  });
  if (wrong) FAIL(wrong->to_string());
  leave_all(groups);
}

TEST_CASE_METHOD(LeftBehind, "nodes that have founded say of no others that these have") {
  Groups groups = founded();
  for (const std::vector<NodeId>& others : {std::vector{NodeId(0)}, {NodeId(0), NodeId(1), NodeId(2)}}) {
    const auto refused = found(0, others, true);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind() == ErrorKind::refused);
    CHECK_THAT(refused.error().message(), Catch::Contains("looks for no group"));
  }
  leave_all(groups);
}

TEST_CASE_METHOD(LoggedFixture, "members that founded nothing by force say so to whoever has them found") {
  auto groups = join_logged(0, 2);
  const auto runtime = value_or_throw(GuardedDirectory::open(directory(), config(0, 1).group_name()));
  const group::RosterCall call{{}, patience, group::Revive{{NodeId(0), NodeId(1)}, true, true}};
  const auto refused = group::change_roster_through(runtime, NodeId(0), call);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind() == ErrorKind::refused);
  leave_all(groups);
}

}  // namespace spindrift
