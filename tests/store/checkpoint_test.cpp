// Checkpoints as the entries of a journal tell of them: what is a piece of one, and which of them count.
#include <catch2/catch.hpp>

#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/bytes.hpp>

#include "checkpoint_fixture.hpp"

namespace spindrift::store {
namespace {

constexpr SubgroupId first(0);
constexpr SubgroupId second(1);

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A piece of 5 bytes in the middle of a state of 20.
CheckpointPiece example_piece() {
  static constexpr std::string_view state = "state";
  return {second, CheckpointOf::coming, LogVersion(41), digest_of("link"), 20, 10, std::as_bytes(std::span(state))};
}

/// The bytes of a payload that says that, whether a correct node would say so or not.
std::vector<std::byte> raw_payload(const CheckpointPiece& piece) {
  ByteWriter bytes;
  bytes.put(piece.subgroup, static_cast<std::uint32_t>(piece.of), piece.version, piece.link.words);
  bytes.put(piece.bytes, piece.offset).put_bytes(piece.state);
  return bytes.take();
}

/// A ledger and the journal that it is told of, entry by entry.
class Told {
 public:
  void begin(const LogEnds& ends) { ledger_.begin(ends); }
  void message(std::uint64_t version, SubgroupId subgroup = first) {
    note({EntryKind::message, subgroup, NodeId(1), ViewId(2), SequenceNumber(5), 7}, version, {});
  }
  void messages(std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t version = from; version < to; ++version) message(version);
  }
  void base(std::uint64_t version, SubgroupId subgroup = first) {
    const Digest link = digest_of("base");
    note({EntryKind::base, subgroup, NodeId(0), ViewId(2), SequenceNumber(5), 7}, version,
         std::as_bytes(std::span(link.words)));
  }
  /// The pieces of a state of 10 bytes, 4 in each; those from `begin` on, up to the one before `end`.
  void pieces(std::uint64_t version, std::size_t begin = 0, std::size_t end = 3, SubgroupId subgroup = first) {
    const auto all = pieces_of(subgroup, version, "0123456789", 4);
    for (std::size_t i = begin; i < end; ++i) payload(all[i]);
  }
  /// The same of a log that is to come.
  void coming(std::uint64_t version, std::size_t end = 3) {
    const auto all = pieces_of(first, version, "0123456789", 4, CheckpointOf::coming);
    for (std::size_t i = 0; i < end; ++i) payload(all[i]);
  }
  void piece(const CheckpointPiece& piece) { payload(checkpoint_payload(piece)); }
  void payload(std::span<const std::byte> bytes) { note(piece_head(), pieces_++, bytes); }

  /// The version of the checkpoint that counts; -1: there is none.
  [[nodiscard]] std::int64_t counting(SubgroupId subgroup = first) const {
    const Checkpoint* const checkpoint = ledger_.of(subgroup);
    return checkpoint == nullptr ? -1 : static_cast<std::int64_t>(checkpoint->version.value());
  }
  [[nodiscard]] const CheckpointLedger& ledger() const noexcept { return ledger_; }
  [[nodiscard]] JournalPosition end() const noexcept { return end_; }

 private:
  void note(const EntryHead& head, std::uint64_t version, std::span<const std::byte> payload) {
    ledger_.note({end_, LogVersion(version), head, payload});
    ++end_;
  }

  CheckpointLedger ledger_;
  JournalPosition end_;
  std::uint64_t pieces_ = 0;
};

}  // namespace

// ---- pieces

TEST_CASE("a piece of a checkpoint is read as it was written") {
  const CheckpointPiece piece = example_piece();
  const auto payload = checkpoint_payload(piece);
  CHECK(payload == raw_payload(piece));
  const auto read = checkpoint_piece(payload);
  REQUIRE(read);
  CHECK(read->subgroup == second);
  CHECK(read->version == LogVersion(41));
  CHECK(read->link == digest_of("link"));
  CHECK(read->bytes == 20);
  CHECK(read->offset == 10);
  CHECK(text_of(read->state) == "state");
  CHECK(read->state.data() == payload.data() + payload.size() - 5);
}

TEST_CASE("a piece may be all of a state, its end, empty if that is, and as large as a piece can be") {
  const std::vector<std::byte> most(checkpoint_piece_bytes_max);
  CheckpointPiece piece = example_piece();
  const auto is_one = [&](std::uint64_t bytes, std::uint64_t offset, std::span<const std::byte> state) {
    piece.bytes = bytes;
    piece.offset = offset;
    piece.state = state;
    const auto read = checkpoint_piece(checkpoint_payload(piece));
    return read && read->bytes == bytes && read->offset == offset && read->state.size() == state.size();
  };
  CHECK(is_one(0, 0, {}));
  CHECK(is_one(5, 0, example_piece().state));
  CHECK(is_one(20, 15, example_piece().state));
  CHECK(is_one(most.size(), 0, most));
  CHECK(is_one(~std::uint64_t{0}, ~std::uint64_t{0} - most.size(), most));
}

TEST_CASE("what no correct node writes is no piece of a checkpoint") {
  const auto whole = checkpoint_payload(example_piece());
  for (std::size_t size = 0; size <= whole.size() - 5; ++size) CHECK_FALSE(checkpoint_piece(std::span(whole).first(size)));
  CheckpointPiece piece = example_piece();
  SECTION("of no subgroup") { piece.subgroup = no_subgroup; }
  SECTION("of no log") { piece.of = CheckpointOf{2}; }
  SECTION("empty, of a state that is not") { piece.state = {}; }
  SECTION("empty, at the end of a state") {
    piece.offset = piece.bytes;
    piece.state = {};
  }
  SECTION("of an empty state, and not empty") { piece.bytes = piece.offset = 0; }
  SECTION("of an empty state, and behind its beginning") {
    piece.bytes = 0;
    piece.offset = 1;
    piece.state = {};
  }
  SECTION("longer than its state") { piece.offset = 16; }
  SECTION("behind its state") { piece.offset = 21; }
  SECTION("so far behind it that its end is within it") { piece.offset = ~std::uint64_t{0} - 1; }
  SECTION("larger than pieces are") {
    static const std::vector<std::byte> state(checkpoint_piece_bytes_max + 1);
    piece.bytes = 2 * state.size();
    piece.state = state;
  }
  CHECK_FALSE(checkpoint_piece(raw_payload(piece)));
}

// ---- the ledger

TEST_CASE("a checkpoint counts when its last piece is there, among whatever other entries") {
  Told told;
  told.messages(0, 3);
  told.pieces(2, 0, 1);
  told.message(3);
  told.pieces(0, 0, 2, second);
  told.pieces(2, 1, 2);
  CHECK(told.counting() == -1);
  told.message(0, second);
  const std::string_view malformed = "malformed";
  told.payload(std::as_bytes(std::span(malformed)));
  told.pieces(2, 2, 3);
  CHECK(told.counting() == 2);
  CHECK(told.counting(second) == -1);
  told.pieces(0, 2, 3, second);
  CHECK(told.counting(second) == 0);
  const Checkpoint expected{first, LogVersion(2), digest_of("2"), 10, JournalPosition(3)};
  REQUIRE(told.ledger().of(first) != nullptr);
  CHECK(*told.ledger().of(first) == expected);
  CHECK(told.ledger().all().size() == 2);
  CHECK(told.ledger().all().at(first) == expected);
}

TEST_CASE("an empty state is whole with its one piece") {
  Told told;
  told.piece({first, CheckpointOf::present, LogVersion(0), {}, 0, 0, {}});
  CHECK(told.counting() == 0);
}

TEST_CASE("a checkpoint that was begun anew is whole by the pieces of the second time alone") {
  Told told;
  told.messages(0, 5);
  told.pieces(3, 0, 2);
  const JournalPosition again = told.end();
  told.pieces(3, 0, 1);
  told.pieces(3, 2, 3);
  CHECK(told.counting() == -1);
  told.pieces(3);
  CHECK(told.counting() == 3);
  CHECK(told.ledger().of(first)->position == JournalPosition(again.value() + 2));
}

TEST_CASE("a piece that does not continue what was begun drops it") {
  const std::string_view state = "0123456789";
  const auto bytes = std::as_bytes(std::span(state));
  const CheckpointPiece next{first, CheckpointOf::present, LogVersion(3), digest_of("3"), 10, 4, bytes.subspan(4, 4)};
  CheckpointPiece other = next;
  SECTION("of another version") { other.version = LogVersion(4); }
  SECTION("of another log") { other.of = CheckpointOf::coming; }
  SECTION("of another link") { other.link = digest_of("4"); }
  SECTION("of a state of another size") { other.bytes = 11; }
  SECTION("from behind the next byte on") { other.offset = 5; }
  SECTION("with bytes that were there") { other.offset = 3; }
  // The rest follows, be it all of it, or as much as there would be behind the right piece.
  for (const std::size_t rest : {1U, 2U}) {
    Told told;
    told.messages(0, 5);
    told.pieces(3, 0, 1);
    told.piece(other);
    told.pieces(3, rest, 3);
    CHECK(told.counting() == -1);
  }
}

TEST_CASE("without its first piece, which was trimmed away, a checkpoint does not count") {
  Told told;
  told.begin(LogEnds({{first, LogVersion(5), ViewId(1), SequenceNumber(0), {}}}));
  told.pieces(3, 1, 3);
  CHECK(told.counting() == -1);
}

TEST_CASE("the last byte of a state makes it whole, and no piece follows") {
  Told told;
  told.messages(0, 5);
  told.pieces(3);
  told.pieces(3, 2, 3);
  CHECK(told.counting() == 3);
}

TEST_CASE("a checkpoint counts at once if the log goes up to its version, by messages that are there or were trimmed away") {
  Told told;
  told.begin(LogEnds({{first, LogVersion(7), ViewId(1), SequenceNumber(0), {}}}));
  told.pieces(7);
  CHECK(told.counting() == 7);
  told.message(7);
  told.pieces(8);
  CHECK(told.counting() == 8);
  told.pieces(9);
  CHECK(told.counting() == 8);
}

TEST_CASE("of a log without an entry the checkpoint of version 0 counts alone") {
  Told told;
  told.pieces(1);
  CHECK(told.counting() == -1);
  told.pieces(0);
  CHECK(told.counting() == 0);
}

TEST_CASE("a checkpoint from another node counts when the log that it came with begins") {
  Told told;
  told.messages(0, 5);
  told.pieces(4);
  told.coming(20);
  CHECK(told.counting() == 4);
  told.message(0, second);
  told.base(0, second);
  CHECK(told.counting() == 4);
  SECTION("at its version") { told.base(20); }
  SECTION("before it") {
    told.base(18);
    CHECK(told.counting() == 20);
    told.message(18);
  }
  CHECK(told.counting() == 20);
}

TEST_CASE("a checkpoint from another node is void if the log begins behind it, or goes on as it was") {
  Told told;
  told.messages(0, 5);
  told.coming(20);
  SECTION("behind it") { told.base(21); }
  SECTION("as it was") {
    told.message(5);
    CHECK(told.counting() == -1);
    told.base(18);
  }
  CHECK(told.counting() == -1);
  told.base(20);
  CHECK(told.counting() == -1);
}

TEST_CASE("of checkpoints from other nodes the last one waits for the log") {
  Told told;
  told.coming(20);
  told.coming(30);
  told.base(25);
  CHECK(told.counting() == 30);
}

TEST_CASE("of a log that is to come a checkpoint counts for that alone, however far the present one goes") {
  Told told;
  told.messages(0, 9);
  told.pieces(5);
  told.coming(6, 2);
  CHECK(told.counting() == 5);
  told.coming(6);
  CHECK(told.counting() == 5);
  told.base(4);
  CHECK(told.counting() == 6);
}

TEST_CASE("a checkpoint of the present log is of no other") {
  Told told;
  told.messages(0, 9);
  told.pieces(5);
  told.base(4);
  CHECK(told.counting() == -1);
}

TEST_CASE("pieces of the present log and of one that is to come are of two checkpoints") {
  Told told;
  told.messages(0, 9);
  told.coming(6, 1);
  told.pieces(6, 1, 3);
  CHECK(told.counting() == -1);
  told.base(4);
  CHECK(told.counting() == -1);
}

TEST_CASE("a log that begins anew makes void what has counted, and what was begun") {
  Told told;
  told.messages(0, 5);
  told.pieces(4);
  told.pieces(5, 0, 2);
  told.base(3);
  CHECK(told.counting() == -1);
  told.messages(3, 9);
  told.pieces(5, 2, 3);
  CHECK(told.counting() == -1);
  told.pieces(6);
  CHECK(told.counting() == 6);
}

TEST_CASE("the later checkpoint of a log counts, when it is whole") {
  Told told;
  told.messages(0, 9);
  told.pieces(4);
  told.pieces(8, 0, 2);
  CHECK(told.counting() == 4);
  told.pieces(8, 2, 3);
  CHECK(told.counting() == 8);
  told.messages(9, 12);
  CHECK(told.counting() == 8);
}

}  // namespace spindrift::store
