// A repair refuses what other journals do not prove, and what this node alone has said; and it says why.
#include <catch2/catch.hpp>

#include <string>

#include <spindrift/store/reserve.hpp>

#include "checkpoint_fixture.hpp"
#include "repair_fixture.hpp"

namespace spindrift::store {
namespace {

using Catch::Matchers::Contains;

/// The first reason. Throws if there is none.
Error why(const RepairPlan& plan) { return plan.refusals.at(0); }

/// The end of a log before the message of that version.
LogEnd end_of(RepairNode& node, SubgroupId subgroup, std::uint64_t version) {
  LogEnd end;
  end.subgroup = subgroup;
  value_or_throw(visit_entries(node.storage(), node.findings(), {}, [&](const Entry& entry) {
    if (entry.head.subgroup == subgroup && entry.version.value() < version)
      end = end_behind(end, entry.head, entry.version, entry.payload);
    return true;
  }));
  return end;
}

/// A node whose first message is damaged.
struct DamagedNode : RepairNode {
  DamagedNode() : RepairNode(0) {
    live(*this);
    damage(entries().at(1));
  }
  RepairPlan plan(RepairNode& from) { return plan_for(*this, {&from.storage()}); }
};

TEST_CASE_METHOD(DamagedNode, "a peer whose log is another is refused, with file, offset and version") {
  RepairNode peer(1);
  peer.start();
  peer.messages(0, 1, " of another history");
  peer.messages(1, 30);
  peer.close();
  const RepairPlan refused = plan(peer);
  REQUIRE(refused.refusals.size() == 1);
  CHECK(why(refused).kind() == ErrorKind::refused);
  CHECK_THAT(why(refused).message(), Contains("message 0 of the log of subgroup 0 is lost, and is nowhere") &&
                                         Contains("another message has that version in its log, at simulated disk/"
                                                  "0000000000000000.segment:20480"));
  CHECK_THAT(why(refused).place(), Contains("0000000000000000.segment:20480"));
}

TEST_CASE_METHOD(DamagedNode, "what a peer never had, has trimmed away, or has no log of, is told apart") {
  RepairNode peer(1);
  peer.start();
  SECTION("it has no log") {
    peer.close();
    CHECK_THAT(why(plan(peer)).message(), Contains("it has no log of that subgroup"));
    CHECK(why(plan(peer)).kind() == ErrorKind::bad_input);
  }
  SECTION("its log ends before") {
    Batch batch;
    append_text(batch, "other", SubgroupId(0));
    peer.commit(batch);
    peer.close();
    RepairNode node(0);
    live(node);
    node.damage(node.entries().at(4));
    CHECK_THAT(why(plan_for(node, {&peer.storage()})).message(), Contains("its log ends with version 1"));
  }
  SECTION("it is trimmed away") {
    for (std::uint64_t number = 0; number < 20; ++number) peer.messages(number, number + 1);
    value_or_throw(peer.journal().trim(JournalPosition(15)));
    peer.close();
    CHECK_THAT(why(plan(peer)).message(), Contains("what was before is trimmed away"));
  }
}

TEST_CASE_METHOD(DamagedNode, "a journal of another group, and none, are no source") {
  RepairNode stranger(1, "another group");
  const auto none = plan_repair(storage(), owner(), std::vector<Storage*>{&stranger.storage()});
  REQUIRE_FALSE(none);
  CHECK(none.error().kind() == ErrorKind::bad_argument);
  live(stranger);
  const auto other = plan_repair(storage(), owner(), std::vector<Storage*>{&stranger.storage()});
  REQUIRE_FALSE(other);
  CHECK(other.error().kind() == ErrorKind::refused);
}

TEST_CASE("a record of views that is lost is superseded by a later one, and by nothing else") {
  RepairNode peer(1);
  live(peer);
  RepairNode node(0);
  node.start();
  node.messages(0, 3);
  const JournalPosition lost = node.journal().end();
  node.view();
  node.messages(3, 6);
  const bool later = GENERATE(false, true);
  if (later) node.view();
  node.messages(6, 8);
  node.start_without_view();  // so the head says that a record is lost
  node.messages(8, 10);
  node.close();
  node.damage(node.entries().at(lost.value()));
  const RepairPlan plan = plan_for(node, {&peer.storage()});
  REQUIRE(plan.places.size() == 1);
  CHECK(plan.places.front().own == 1);
  CHECK(plan.possible() == later);
  if (later) CHECK(plan.places.front().superseded_by == JournalPosition(lost.value() + 4));
  else CHECK_THAT(why(plan).message(), Contains("this node's last promise may have been there"));
}

TEST_CASE("a record in the reserve supersedes what is before it, and is in the repaired journal") {
  RepairNode node(0);
  node.start();
  node.messages(0, 3);
  node.view();
  node.messages(3, 8);
  node.start_without_view();
  node.messages(8, 10);
  node.close();
  const auto entries = node.entries();
  const std::string record = "the last promise";
  const auto put = [&](std::uint64_t position) {
    Reserve reserve = value_or_throw(Reserve::open(node.storage(), node.name(), Reserve::Journal::goes_on));
    value_or_throw(reserve.put(JournalPosition(position), std::as_bytes(std::span(record))));
  };
  node.damage(entries.at(4));
  SECTION("behind the one that is lost") {
    put(7);
    const RepairPlan plan = plan_for(node, {});
    REQUIRE(plan.possible());
    CHECK(node.texts_in(*repair(node, plan, {})->storage)[no_subgroup].back() == record);
  }
  SECTION("at or before it: the lost one may be later") {
    put(4);
    CHECK_FALSE(plan_for(node, {}).possible());
  }
  SECTION("damaged") {
    put(7);
    for (const std::uint64_t at : {std::uint64_t{0}, Reserve::file_bytes / 2})
      node.disk().flip_bit(reserve_name, at * 8 + 99);
    CHECK_THAT(why(plan_for(node, {})).message(), Contains("both copies in the reserve"));
  }
}

TEST_CASE("where a log began anew is not made up") {
  RepairNode peer(1);
  live(peer);
  RepairNode node(0);
  node.start();
  Batch batch;
  append_text(batch, "of a history that was given up");
  append_text(batch, "and more of it");
  node.commit(batch);
  batch.append_base({SubgroupId(0), LogVersion(0), ViewId(0), SequenceNumber(0), {}}, 1'000);
  node.commit(batch);
  for (std::uint64_t number = 0; number < 4; ++number) node.messages(number, number + 1);
  node.view();
  node.close();
  const auto entries = node.entries();
  REQUIRE(entries.at(3).head.kind == EntryKind::base);
  SECTION("the base is lost") {
    node.damage(entries.at(3));
    CHECK_THAT(why(plan_for(node, {&peer.storage()})).message(), Contains("says where it begins anew"));
  }
  SECTION("what is before it is void, and is not asked of anybody") {
    node.damage(entries.at(1));
    node.damage(entries.at(2));
    const RepairPlan plan = plan_for(node, {&peer.storage()});
    REQUIRE(plan.possible());
    CHECK(plan.places.front().messages.empty());
    const auto texts = node.texts_in(*repair(node, plan, {&peer.storage()})->storage);
    CHECK(texts.at(SubgroupId(0)).front() == peer.texts().at(SubgroupId(0)).front());
  }
  SECTION("what is behind it is taken from a peer that has the same log") {
    node.damage(entries.at(4));
    const auto before = peer.texts();
    const auto repaired = repair(node, plan_for(node, {&peer.storage()}), {&peer.storage()});
    CHECK(node.texts_in(*repaired->storage)[SubgroupId(0)].at(2) == before.at(SubgroupId(0)).at(0));
  }
}

TEST_CASE("a base that is lost, and could be a message by the count, is none: what is before it is another history") {
  RepairNode peer(1);
  live(peer);
  RepairNode node(0);
  node.start();
  Batch batch;
  append_text(batch, "of another history");
  node.commit(batch);
  const LogEnd second = end_of(peer, SubgroupId(0), 2);
  batch.append_base(second, 1'000);
  node.commit(batch);
  node.messages(3, 5);
  node.messages(6, 8);
  node.view();
  node.close();
  const auto entries = node.entries();
  REQUIRE(entries.at(2).head.kind == EntryKind::base);
  node.damage(entries.at(2));
  const RepairPlan plan = plan_for(node, {&peer.storage()});
  REQUIRE(plan.refusals.size() == 1);
  CHECK(why(plan).kind() == ErrorKind::refused);
  CHECK_THAT(why(plan).message(), Contains("is another than that of which the messages behind the damage are"));
}

/// A journal with a checkpoint of three pieces before the second record of views; some of its log is trimmed away.
struct CheckpointedNode : RepairNode {
  explicit CheckpointedNode(bool trimmed) : RepairNode(0) {
    start();
    for (std::uint64_t number = 0; number < 15; ++number) messages(number, number + 1);
    first_piece = journal().end();
    for (const auto& piece : pieces_of(SubgroupId(0), 10, std::string(3000, 's'), 1000)) {
      Batch batch;
      batch.append({EntryKind::checkpoint, no_subgroup, NodeId(0), ViewId(0), SequenceNumber(0), 1'150}, piece);
      commit(batch);
    }
    view();
    for (std::uint64_t number = 15; number < 18; ++number) messages(number, number + 1);
    view();
    if (trimmed) value_or_throw(journal().trim(JournalPosition(first_piece.value() - 1)));
    close();
  }
  PlacedEntry piece(std::uint64_t index) {
    for (const PlacedEntry& entry : entries())
      if (entry.position.value() == first_piece.value() + index) return entry;
    throw Exception(Error(ErrorKind::bad_input, "no such entry"));
  }
  JournalPosition first_piece;
};

TEST_CASE("a piece of a checkpoint is lost: a log that is there from its beginning does without, and a trimmed one not") {
  for (const bool trimmed : {false, true}) {
    for (const std::uint64_t index : {0U, 1U, 2U}) {
      CheckpointedNode node(trimmed);
      node.damage(node.piece(index));
      INFO(index);
      const RepairPlan plan = plan_for(node, {});
      REQUIRE(plan.possible() != trimmed);
      if (trimmed) {
        CHECK_THAT(why(plan).message(), Contains("the checkpoint that it needs may have been among what is lost"));
        continue;
      }
      const auto repaired = repair(node, plan, {});
      const JournalFindings findings = value_or_throw(examine(*repaired->storage, node.owner()));
      CHECK(ledger_of(*repaired->storage, findings).of(SubgroupId(0)) == nullptr);
    }
  }
}

TEST_CASE("a message of a trimmed log is repaired, and its checkpoint counts as before") {
  CheckpointedNode node(true);
  RepairNode peer(1);
  live(peer);
  const JournalFindings before = node.findings();
  const Checkpoint counting = *ledger_of(node.storage(), before).of(SubgroupId(0));
  node.damage(node.piece(4));  // behind the pieces and the record
  const RepairPlan plan = plan_for(node, {&peer.storage()});
  REQUIRE(plan.possible());
  const auto repaired = repair(node, plan, {&peer.storage()});
  const JournalFindings findings = value_or_throw(examine(*repaired->storage, node.owner()));
  CHECK(findings.first() == before.first());
  const CheckpointLedger ledger = ledger_of(*repaired->storage, findings);
  REQUIRE(ledger.of(SubgroupId(0)) != nullptr);
  CHECK(*ledger.of(SubgroupId(0)) == counting);
  CHECK(state_of(*repaired->storage, findings, counting) == std::string(3000, 's'));
}

TEST_CASE("what a checkpoint lacks is not made up of the pieces of another one") {
  RepairNode node(0);
  node.start();
  node.messages(0, 3);
  const auto append = [&](std::size_t index, char byte) {
    const auto pieces = pieces_of(SubgroupId(0), 1, std::string(2000, byte), 1000);
    Batch batch;
    batch.append({EntryKind::checkpoint, no_subgroup, NodeId(0), ViewId(0), SequenceNumber(0), 1'030}, pieces.at(index));
    node.commit(batch);
  };
  append(0, 'a');
  append(0, 'b');
  append(1, 'b');
  node.view();
  node.close();
  node.damage(node.entries().at(5));
  const auto repaired = repair(node, plan_for(node, {}), {});
  const JournalFindings findings = value_or_throw(examine(*repaired->storage, node.owner()));
  CHECK(ledger_of(*repaired->storage, findings).of(SubgroupId(0)) == nullptr);
}

TEST_CASE("the beginning and the end of a journal are not repaired") {
  RepairNode peer(1);
  live(peer);
  RepairNode node(0);
  live(node);
  const std::uint64_t segment = GENERATE(0U, 5U);
  value_or_throw(node.storage().remove(segment_name(segment == 0 ? 0 : node.findings().segments.back().head.seal.number)));
  const RepairPlan plan = plan_for(node, {&peer.storage()});
  if (!plan.needed()) return;  // the newest files are gone as a whole: nothing says that there were any
  CHECK_FALSE(plan.possible());
}

}  // namespace
}  // namespace spindrift::store
