// Layouts in C++ are compared by what they give for some views, and a program with another one is not let in.
#include <catch2/catch.hpp>

#include <stdexcept>

#include <spindrift/core/config/layout_parts.hpp>
#include <spindrift/group/layout_digest.hpp>

#include "group_fixture.hpp"

using namespace spindrift;
using group::digest_of_layout;

namespace {

const std::vector<NodeId> four{NodeId(0), NodeId(1), NodeId(2), NodeId(3)};

std::vector<SubgroupView> everybody_in_one(const std::vector<NodeId>& members, const View*) {
  SubgroupView one;
  one.name = "one";
  one.members = one.senders = members;
  one.profile = {4096, 8, 512};
  return {one};
}

/// The same, but for what `change` does.
template <class Change>
LayoutFunction changed(Change change) {
  return [change](const std::vector<NodeId>& members, const View* previous) {
    auto subgroups = everybody_in_one(members, previous);
    change(subgroups[0], members, previous);
    return subgroups;
  };
}

}  // namespace

TEST_CASE("layouts that give the same subgroups have one digest, and a difference in any view that may be next is seen") {
  const Digest usual = digest_of_layout(everybody_in_one, four);
  CHECK(usual == digest_of_layout(changed([](auto&, auto&, auto*) {}), four));
  CHECK_FALSE(usual == digest_of_layout(everybody_in_one, {NodeId(0), NodeId(1), NodeId(2)}));
  const auto differs = [&](auto change) { CHECK_FALSE(digest_of_layout(changed(change), four) == usual); };
  differs([](SubgroupView& one, auto&, auto*) { one.name = "two"; });
  differs([](SubgroupView& one, auto&, auto*) { one.mode = DeliveryMode::unordered; });
  differs([](SubgroupView& one, auto&, auto*) { one.storage = SubgroupStorage::logged; });
  differs([](SubgroupView& one, auto&, auto*) { one.history = {.messages = 3}; });
  differs([](SubgroupView& one, auto&, auto*) { ++one.profile.message_bytes_max; });
  differs([](SubgroupView& one, auto&, auto*) { one.topics = {"x"}; });
  differs([](SubgroupView& one, auto&, auto*) { one.senders.pop_back(); });
  differs([](SubgroupView& one, auto& members, auto*) {  // when node 2 is gone
    if (members.back() == NodeId(3) && members[2] == NodeId(3)) std::swap(one.members[0], one.members[1]);
  });
  differs([](SubgroupView& one, auto&, const View* previous) {
    if (previous != nullptr) one.senders.pop_back();
  });
  differs([](SubgroupView&, auto& members, auto*) {
    if (members.size() == 3) throw std::runtime_error("three are too few");
  });
  CHECK(digest_of_layout(changed([](SubgroupView& one, auto& members, auto*) {
          if (members.size() == 3) one.inadequate = "in other words";
        }), four) == usual);
}

TEST_CASE("a program with another layout in C++ is refused when it joins, and the group goes on") {
  GroupFixture fixture;
  const std::string extra = "founders = 0, 1\njoin_timeout_ms = 20000\n";
  const auto options_of = [&](std::uint32_t sender) {
    GroupOptions options;
    LayoutParts parts(fixture.config(0, 3, extra));
    parts.add(LayoutPart("news").senders({NodeId(sender)}));
    options.layout = value_or_throw(parts.function());
    return options;
  };
  std::unique_ptr<Group> one;
  std::thread founder([&] { one = std::make_unique<Group>(fixture.config(1, 3, extra), options_of(0)); });
  Group zero(fixture.config(0, 3, extra), options_of(0));
  founder.join();
  Journal news;
  one->subgroup("news").on_delivery([&](auto batch) { news.keep(batch); });
  zero.subgroup("news").on_delivery([](auto) {});
  const auto refused = thrown_by([&] { Group other(fixture.config(2, 3, extra), options_of(1)); });
  REQUIRE(refused);
  CHECK(refused->kind() == ErrorKind::refused);
  CHECK_THAT(refused->to_string(), Catch::Contains("configurations differ") && Catch::Contains("layout in C++"));
  {
    Group same(fixture.config(2, 3, extra), options_of(0));
    same.subgroup("news").on_delivery([](auto) {});
    zero.subgroup("news").send("hello");
    news.await(1);
    same.leave();
  }
  one->leave();
  zero.leave();
}

TEST_CASE("a program whose layout has other subgroups without one of the nodes does not join, and the reason names both") {
  const GroupFixture fixture;
  GroupOptions options;
  options.layout = [](const std::vector<NodeId>& members, const View* previous) {
    std::vector<SubgroupView> subgroups = everybody_in_one(members, previous);
    subgroups.push_back(subgroups[0]);
    subgroups[1].name = "two";
    if (members.size() < 3) subgroups.erase(subgroups.begin());
    return subgroups;
  };
  const auto refused = thrown_by([&] { Group alone(fixture.config(0, 3, "founders = 0\n"), options); });
  REQUIRE(refused);
  CHECK(refused->kind() == ErrorKind::bad_argument);
  CHECK(refused->place() == "GroupOptions::layout");
  CHECK_THAT(refused->message(), Catch::Contains("subgroups one, two ") && Catch::Contains("subgroup two "));
  CHECK_FALSE(refused->fix().empty());
}

TEST_CASE("a layout that has other subgroups once two nodes are away ends its members with the reason") {
  const GroupFixture fixture;
  const std::string extra = "founders = 0, 1, 2\njoin_timeout_ms = 20000\n";
  GroupOptions options;
  options.layout = [](const std::vector<NodeId>& members, const View* previous) {
    std::vector<SubgroupView> subgroups = everybody_in_one(members, previous);
    if (members.size() < 2) subgroups.push_back(subgroups[0]);
    subgroups.back().name = members.size() < 2 ? "two" : "one";
    return subgroups;
  };
  const auto groups = fixture.join_from(0, 3, extra, options);
  for (const auto& group : groups) group->subgroup("one").on_delivery([](auto) {});
  groups[2]->leave();
  thrown_by([&] { groups[1]->leave(); });  // it may hear of its leave, or of the other's end
  const auto ended = thrown_by([&] { groups[0]->wait(); });
  REQUIRE(ended);
  CHECK(ended->kind() == ErrorKind::bad_argument);
  CHECK(ended->place() == "GroupOptions::layout");
  CHECK_THAT(ended->message(), Catch::Contains("subgroup one ") && Catch::Contains("subgroups one, two "));
}
