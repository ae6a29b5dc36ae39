// A journal whose middle is damaged, repaired from those of other nodes: it is the one that was there, or it is refused for
// a reason that holds.
#include <catch2/catch.hpp>

#include <string>

#include "repair_fixture.hpp"

namespace spindrift::store {
namespace {

using Catch::Matchers::Contains;

/// The bytes of an entry that are damaged in turn: of its checksum, link, position, version, length and payload.
constexpr std::uint64_t damaged_bytes[] = {0, 20, 33, 44, 88, 92, 97};

/// Whole, its logs as they were, and of the records of views all but those that are lost.
void check_same(RepairNode& node, Storage& repaired, const std::map<SubgroupId, std::vector<std::string>>& before,
                const JournalFindings& findings) {
  const JournalFindings now = value_or_throw(examine(repaired, node.owner()));
  CHECK(now.damages.empty());
  for (const std::uint32_t log : {0U, 1U}) CHECK(now.ends.of(SubgroupId(log)) == findings.ends.of(SubgroupId(log)));
  auto texts = node.texts_in(repaired);
  CHECK(texts[SubgroupId(0)] == before.at(SubgroupId(0)));
  CHECK(texts[SubgroupId(1)] == before.at(SubgroupId(1)));
  CHECK(texts[no_subgroup].back() == before.at(no_subgroup).back());
}

/// A message of which what lies behind it says that it was there.
bool is_lost_message(const std::vector<PlacedEntry>& entries, std::size_t index) {
  return entries[index].head.kind == EntryKind::message && is_implied(entries, index);
}

TEST_CASE("an entry that is damaged anywhere before the last record of views is repaired, and the last one is not made up") {
  RepairNode whole(0);
  RepairNode peer(1);
  live(whole);
  live(peer);
  const auto before = whole.texts();
  const JournalFindings findings = whole.findings();
  const auto entries = whole.entries();
  REQUIRE(findings.segments.size() > 4);
  std::uint64_t repaired = 0;
  std::uint64_t refused = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const PlacedEntry& entry = entries[i];
    for (const std::uint64_t byte : damaged_bytes) {
      RepairNode node(0);
      live(node);
      node.damage(entry, byte);
      INFO("entry " << entry.position.value() << ", byte " << byte);
      const RepairPlan plan = plan_for(node, {&peer.storage()});
      REQUIRE(plan.needed());
      for (const Error& each : plan.refusals) UNSCOPED_INFO(each.to_string());
      REQUIRE(plan.possible() == is_implied(entries, i));
      if (!plan.possible()) {
        CHECK_THAT(plan.refusals.front().message(), Contains("nothing behind says what"));
        ++refused;
        continue;
      }
      const auto done = repair(node, plan, {&peer.storage()});
      check_same(node, *done->storage, before, findings);
      ++repaired;
    }
  }
  CHECK(refused == 2 * std::size(damaged_bytes));
  CHECK(repaired == (entries.size() - 2) * std::size(damaged_bytes));
}

TEST_CASE("nodes that are damaged at different places repair each other, whatever these are") {
  RepairNode whole(0);
  live(whole);
  const auto before = whole.texts();
  const auto entries = whole.entries();
  for (std::size_t i = 0; i + 1 < entries.size(); ++i) {
    for (std::size_t j = 0; j + 1 < entries.size(); j += 5) {
      if (i == j || !is_lost_message(entries, i) || !is_lost_message(entries, j)) continue;
      RepairNode one(0);
      RepairNode other(1);
      live(one);
      live(other);
      one.damage(entries[i]);
      other.damage(entries[j]);
      INFO(i << " and " << j);
      const auto first = repair(one, plan_for(one, {&other.storage()}), {&other.storage()});
      const auto second = repair(other, plan_for(other, {&one.storage()}), {&one.storage()});
      CHECK(one.texts_in(*first->storage) == before);
      CHECK(other.texts_in(*second->storage) == before);
    }
  }
}

TEST_CASE("a message that is damaged in both is taken from a third, and from nobody if there is none") {
  RepairNode one(0);
  RepairNode other(1);
  RepairNode third(2);
  for (RepairNode* const node : {&one, &other, &third}) live(*node);
  const auto before = one.texts();
  const PlacedEntry entry = one.entries().at(2);
  const PlacedEntry next = one.entries().at(3);
  one.damage(entry);
  one.damage(next);
  other.damage(entry);
  third.damage(next);
  const RepairPlan refused = plan_for(one, {&other.storage()});
  REQUIRE(refused.refusals.size() == 1);
  CHECK(refused.refusals.front().kind() == ErrorKind::bad_input);
  CHECK_THAT(refused.refusals.front().message(), Contains("the message is damaged there, too"));
  const std::vector<Storage*> both{&other.storage(), &third.storage()};
  const RepairPlan plan = plan_for(one, both);
  REQUIRE(plan.places.size() == 1);
  CHECK(plan.places.front().first == entry.position);
  CHECK(plan.places.front().end == JournalPosition(next.position.value() + 1));
  CHECK(one.texts_in(*repair(one, plan, both)->storage) == before);
}

TEST_CASE("a whole segment that is missing or tells nothing is repaired") {
  RepairNode peer(1);
  live(peer);
  for (const bool removed : {true, false}) {
    for (std::uint64_t segment = 1; segment + 1 < peer.findings().segments.size(); ++segment) {
      RepairNode node(0);
      live(node);
      const auto before = node.texts();
      const JournalFindings findings = node.findings();
      if (removed) {
        value_or_throw(node.storage().remove(segment_name(segment)));
      } else {
        for (const std::uint64_t at : head_at) node.disk().flip_bit(segment_name(segment), at * 8 + 200);
      }
      INFO(segment);
      const RepairPlan plan = plan_for(node, {&peer.storage()});
      REQUIRE(plan.possible());
      check_same(node, *repair(node, plan, {&peer.storage()})->storage, before, findings);
    }
  }
}

TEST_CASE("several places are repaired at once, also where a log goes on behind the second alone") {
  RepairNode peer(1);
  RepairNode node(0);
  live(peer);
  live(node);
  const auto before = node.texts();
  const JournalFindings findings = node.findings();
  const auto entries = node.entries();
  for (const std::size_t each : {2U, 3U, 6U, 8U, 14U, 19U, 28U}) node.damage(entries.at(each));
  const RepairPlan plan = plan_for(node, {&peer.storage()});
  REQUIRE(plan.possible());
  CHECK(plan.places.size() > 4);
  check_same(node, *repair(node, plan, {&peer.storage()})->storage, before, findings);
}

TEST_CASE("a message behind a hole is read, though others of its log were in the hole") {
  RepairNode node(0);
  live(node);
  const auto entries = node.entries();
  node.damage(entries.at(2));
  node.damage(entries.at(3));
  const JournalFindings findings = node.findings();
  CHECK(findings.damages.size() == 1);
  CHECK(read_entries(node.storage(), findings).size() == entries.size() - 2);
}

/// Damages some blocks of a node's segments: a bit of each, or all of it.
void damage_some(RepairNode& node, sim::Random& random) {
  const auto entries = node.entries();
  for (std::uint64_t left = random.below(5); left > 0; --left) {
    const PlacedEntry& entry = entries[random.below(entries.size())];
    const auto file = value_or_throw(node.storage().open(segment_name(entry.segment)));
    const std::uint64_t block = random.below(3) == 0 ? random.below(file->bytes() / block_bytes) : entry.at / block_bytes;
    if (random.below(4) == 0) value_or_throw(file->write_durably(block * block_bytes, Blocks(block_bytes)));
    else node.disk().flip_bit(segment_name(entry.segment), block * block_bytes * 8 + random.below(block_bytes * 8));
  }
  // That the newest segment is gone nobody can see.
  const std::uint64_t segment = entries[random.below(entries.size())].segment;
  if (random.below(10) != 0 || segment == entries.back().segment) return;
  value_or_throw(node.storage().remove(segment_name(segment)));
}

TEST_CASE("whatever is damaged of three journals, each is repaired into what it was, or not at all") {
  std::uint64_t repaired = 0;
  std::uint64_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 100 + SPINDRIFT_CRASH_STATES / 1000; ++seed) {
    sim::Random random(seed, sim::Purpose::workload);
    RepairNode one(0);
    RepairNode two(1);
    RepairNode three(2);
    for (RepairNode* const node : {&one, &two, &three}) live(*node);
    const auto before = one.texts();
    const JournalFindings findings = one.findings();
    for (RepairNode* const node : {&one, &two, &three}) damage_some(*node, random);
    const std::vector<Storage*> sources{&two.storage(), &three.storage()};
    const RepairPlan plan = plan_for(one, sources);
    if (!plan.needed()) continue;
    ++(plan.possible() ? repaired : refused);
    if (!plan.possible()) continue;
    INFO(seed);
    check_same(one, *repair(one, plan, sources)->storage, before, findings);
  }
  CHECK(repaired > 0);
  CHECK(refused > 0);
}

TEST_CASE("the times of a repaired journal do not go back, whatever the clocks of others say") {
  for (const std::uint64_t clock : {1U, 1'000'000U}) {
    RepairNode node(0);
    RepairNode peer(1);
    peer.set_clock(clock);
    live(node);
    live(peer);
    node.damage(node.entries().at(4));
    const auto done = repair(node, plan_for(node, {&peer.storage()}), {&peer.storage()});
    std::uint64_t last = 0;
    for (const ReadEntry& entry : read_entries(*done->storage, value_or_throw(examine(*done->storage, node.owner())))) {
      CHECK(entry.head.time >= last);
      CHECK(entry.head.time < 2000);
      last = entry.head.time;
    }
  }
}

TEST_CASE("its node goes on with a repaired journal") {
  RepairNode node(0);
  RepairNode peer(1);
  live(node);
  live(peer);
  node.damage(node.entries().at(7));
  const auto done = repair(node, plan_for(node, {&peer.storage()}), {&peer.storage()});
  const JournalFindings findings = value_or_throw(examine(*done->storage, node.owner()));
  Journal next = value_or_throw(
      Journal::open(*done->storage, findings, {node.owner(), 99}, digest_of("unused"), repair_segments));
  value_or_throw(commit_texts(next, {"next"}));
  CHECK(next.name() == digest_of("fresh"));
  CHECK(node.texts_in(*done->storage)[SubgroupId(0)].back() == "20 next");
}

}  // namespace
}  // namespace spindrift::store
