// The checkpoints of one log: which of them counts, and from where on the journal is needed.
#include <catch2/catch.hpp>

#include <array>
#include <cstddef>

#include <spindrift/group/kept_checkpoints.hpp>

namespace spindrift::group {
namespace {

using store::JournalPosition;
constexpr auto present = store::CheckpointOf::present;

store::Checkpoint checkpoint(std::uint64_t version, std::uint64_t bytes, std::uint64_t position) {
  return {SubgroupId(2), store::LogVersion(version), Digest{{version, 7}}, bytes, JournalPosition(position)};
}

}  // namespace

TEST_CASE("the checkpoint on the disk counts until all of the next one is there") {
  KeptCheckpoints kept(checkpoint(10, 5, 100));
  CHECK(kept.needed_from() == JournalPosition(100));
  kept.begin(checkpoint(50, 8, 200), present);
  CHECK(kept.coming() != nullptr);
  const std::array<std::byte, 6> state{};
  const store::CheckpointPiece first = kept.next_piece(state);
  CHECK(first.version.value() == 50);
  CHECK(first.offset == 0);
  CHECK(first.bytes == 8);
  kept.note_piece(6, JournalPosition(201));
  CHECK(kept.next_piece({}).offset == 6);
  kept.settle(JournalPosition(1000));
  CHECK(kept.whole()->version.value() == 10);

  kept.note_piece(2, JournalPosition(210));
  CHECK(kept.coming() == nullptr);
  CHECK(kept.whole()->version.value() == 50);
  kept.settle(JournalPosition(209));
  CHECK(kept.durable()->version.value() == 10);
  CHECK(kept.needed_from() == JournalPosition(100));
  kept.settle(JournalPosition(210));
  CHECK(kept.durable()->version.value() == 50);
  CHECK(kept.needed_from() == JournalPosition(200));
}

TEST_CASE("a checkpoint that began and did not become whole is forgotten with the next one") {
  KeptCheckpoints kept;
  CHECK(kept.whole() == nullptr);
  CHECK_FALSE(kept.needed_from());
  kept.begin(checkpoint(50, 8, 200), present);
  kept.note_piece(6, JournalPosition(201));
  CHECK(kept.needed_from() == JournalPosition(200));
  kept.begin(checkpoint(60, 0, 300), present);
  kept.note_piece(0, JournalPosition(301));
  CHECK(kept.whole()->version.value() == 60);
  CHECK(kept.durable() == nullptr);
  kept.settle(JournalPosition(301));
  CHECK(kept.durable()->version.value() == 60);
}

TEST_CASE("a checkpoint that is whole counts on when the next one does not come to its end") {
  KeptCheckpoints kept;
  kept.begin(checkpoint(50, 1, 200), present);
  kept.note_piece(1, JournalPosition(201));
  kept.begin(checkpoint(60, 9, 300), present);
  kept.note_piece(3, JournalPosition(301));
  CHECK(kept.whole()->version.value() == 50);
  CHECK(kept.needed_from() == JournalPosition(200));
  kept.drop_coming();
  kept.drop_coming();
  kept.settle(JournalPosition(1000));
  CHECK(kept.durable()->version.value() == 50);
  CHECK(kept.needed_from() == JournalPosition(200));
}

TEST_CASE("a log that begins anew has the checkpoint that came with it, or none") {
  for (const bool with : {true, false}) {
    KeptCheckpoints kept(checkpoint(10, 5, 100));
    kept.begin(checkpoint(50, 1, 200), present);
    kept.note_piece(1, JournalPosition(201));
    kept.begin_anew(with);
    CHECK(kept.durable() == nullptr);
    CHECK((kept.whole() != nullptr) == with);
    kept.settle(JournalPosition(201));
    CHECK((kept.durable() != nullptr) == with);
  }
}

TEST_CASE("a checkpoint from before a log's beginning counts for nothing") {
  KeptCheckpoints kept(checkpoint(10, 5, 100));
  kept.begin_log_at(10);
  CHECK(kept.durable() != nullptr);
  kept.begin_log_at(11);
  CHECK(kept.durable() == nullptr);
  CHECK_FALSE(kept.needed_from());
}

}  // namespace spindrift::group
