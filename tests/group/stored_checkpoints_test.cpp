// Checkpoints among the logs of a journal: they are found again, come with a log to other nodes, and let it be trimmed.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include <spindrift/core/bytes.hpp>
#include <spindrift/group/log_reading.hpp>
#include <spindrift/group/status.hpp>

#include "logs_fixture.hpp"

namespace spindrift::group {
namespace {

constexpr SubgroupId bounded(0);
constexpr HistoryBounds kept{.messages = 500};
const NodeJournal::Options third_format{
    .journal = {.segment_bytes = 12 * store::block_bytes,
                .prepared_bytes = 0,
                .format = store::SegmentFormat::third},
    .thread = small_journal.thread};

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string state_of(std::uint64_t version, std::size_t bytes) {
  std::string state = "state " + std::to_string(version);
  state.resize(bytes, '.');
  return state;
}

/// A checkpoint of the log's present end.
void add_checkpoint(LoggingNode& node, std::size_t bytes) {
  const views::LogPoint at = node.logs().end(bounded);
  const std::string state = state_of(at.version, bytes);
  node.logs().begin_state(bounded, at, state.size());
  for (std::size_t i = 0; i < state.size(); i += 5000) {
    node.logs().append_state(bounded, bytes_of(state).subspan(i, std::min<std::size_t>(5000, state.size() - i)));
    node.append(bounded, 1);
  }
  node.await_durable(bounded);
}

std::string stored_state(LoggingNode& node) {
  const store::Checkpoint* const checkpoint = node.logs().durable_checkpoint(bounded);
  REQUIRE(checkpoint != nullptr);
  std::string state;
  value_or_throw(read_checkpoint(node.journal().log(bounded), *checkpoint, [&](std::span<const std::byte> piece) {
    state.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    return true;
  }));
  CHECK(state.size() == checkpoint->bytes);
  CHECK(state == state_of(checkpoint->version.value(), state.size()));
  return state;
}

void store_view(NodeJournal& journal) {
  const std::string record = "a record of a view";
  value_or_throw(journal.commit({store::EntryKind::view, store::no_subgroup, journal.node(), ViewId(8), SequenceNumber(0),
                                 wall_clock_ns()},
                                bytes_of(record)));
}

}  // namespace

TEST_CASE("an entry in a log that is no message of it is damage for whoever reads the log, and no end without an error") {
  const JournalHost host;
  LoggingNode node(host, 1, third_format);
  node.append(bounded, 5);
  const store::EntryHead signature{store::EntryKind::signature, bounded, NodeId(1), ViewId(4), SequenceNumber(5),
                                   wall_clock_ns()};
  node.journal().append(signature, bytes_of("no message"));
  node.await([&] { return node.journal().durable() == node.journal().end(); });
  const auto all = [](const store::Entry&) { return true; };
  CHECK(read_log(node.journal().log(bounded), 0, 5, all));
  const auto read = read_log(node.journal().log(bounded), 0, 6, all);
  REQUIRE_FALSE(read);
  CHECK(read.error().kind() == ErrorKind::bad_input);
}

TEST_CASE("a checkpoint is found again, and lets the log go up to its version and no further") {
  const JournalHost host;
  std::uint64_t first = 0;
  std::uint64_t version = 0;
  {
    LoggingNode node(host, 1, third_format);
    store_view(node.journal());
    node.append(bounded, 1000);
    CHECK(node.logs().checkpoint(bounded) == nullptr);
    version = node.logs().end(bounded).version;
    add_checkpoint(node, 30000);
    CHECK(stored_state(node).size() == 30000);
    node.append(bounded, 8000);
    node.await_durable(bounded);
    CHECK(node.logs().wants_checkpoint(bounded, kept, node.logs().end(bounded).version));
    CHECK_FALSE(node.logs().wants_checkpoint(bounded, kept, version));
    for (int i = 0; i < 3; ++i) {
      node.logs().trim(bounded, kept, version);
      node.append(bounded, 1);
      node.await_durable(bounded);
    }
    first = node.logs().first(bounded);
    CHECK(first <= version);
    CHECK(stored_state(node).size() == 30000);
  }
  LoggingNode again(host, 1, third_format);
  CHECK(again.logs().first(bounded) <= version);
  CHECK(again.logs().durable_checkpoint(bounded)->version.value() == version);
  CHECK(stored_state(again).size() == 30000);
  store::Checkpoint other = *again.logs().durable_checkpoint(bounded);
  CHECK(check_checkpoint(again.journal().log(bounded), other));
  other.link = digest_of("another log");
  const auto checked = check_checkpoint(again.journal().log(bounded), other);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().kind() == ErrorKind::bad_input);
  const std::string empty;
  again.logs().begin_state(bounded, again.logs().end(bounded), 0);
  again.append(bounded, 1);
  again.await_durable(bounded);
  CHECK(again.logs().durable_checkpoint(bounded)->bytes == 0);
}

TEST_CASE("a log that begins anew has the checkpoint of its source, wherever the stream is cut, and after a start") {
  const JournalHost host;
  LoggingNode source(host, 1, third_format);
  store_view(source.journal());
  source.append(bounded, 4000);
  const std::uint64_t version = source.logs().end(bounded).version;
  add_checkpoint(source, 12000);
  source.append(bounded, 100);
  for (int i = 0; i < 3; ++i) {
    source.await_durable(bounded);
    source.logs().trim(bounded, kept, version);
    source.append(bounded, 1);
  }
  source.await_durable(bounded);
  REQUIRE(source.logs().first(bounded) > 0);
  const auto stream = source.stream(bounded, {});
  const std::size_t cut = GENERATE(7U, 24U, 60U, 9000U, 12056U, 12057U, 13000U);
  // Also one that goes further than the source's checkpoint.
  const std::uint64_t had = GENERATE(20U, 4500U);
  {
    LoggingNode copy(host, 2, third_format);
    copy.append(bounded, had, "another");
    const auto writer = copy.logs().write(bounded);
    writer->write(std::span(stream).first(cut));
    if (cut <= 12056) CHECK(copy.logs().checkpoint(bounded) == nullptr);
    copy.await_durable(bounded);
  }
  LoggingNode copy(host, 2, third_format);
  const bool anew = cut >= 12056;
  CHECK(copy.logs().is_cut_short(bounded) == anew);  // what came ends before its checkpoint
  const auto rest = source.stream(bounded, copy.logs().end(bounded));
  const auto writer = copy.logs().write(bounded);
  writer->write(rest);
  writer->finish();
  REQUIRE(writer->valid());
  copy.await_durable(bounded);
  CHECK(copy.logs().end(bounded) == source.logs().end(bounded));
  CHECK(copy.logs().first(bounded) == source.logs().first(bounded));
  CHECK(copy.logs().durable_checkpoint(bounded)->version.value() == version);
  CHECK(stored_state(copy).size() == 12000);
}

TEST_CASE("a checkpoint that is none of its log makes the stream invalid, and leaves nothing of it") {
  const JournalHost host;
  LoggingNode source(host, 1, third_format);
  store_view(source.journal());
  source.append(bounded, 4000);
  add_checkpoint(source, 100);
  const std::uint64_t version = source.logs().durable_checkpoint(bounded)->version.value();
  for (int i = 0; i < 3; ++i) {
    source.await_durable(bounded);
    source.logs().trim(bounded, {.messages = 1}, version);
    source.append(bounded, 5);
  }
  source.await_durable(bounded);
  REQUIRE(source.logs().first(bounded) > 0);
  auto stream = source.stream(bounded, {});
  stream[24 + 8] ^= std::byte{1};  // the link of the checkpoint
  const bool in_two = GENERATE(false, true);
  {
    LoggingNode copy(host, 2, third_format);
    const auto writer = copy.logs().write(bounded);
    // Behind the state the log begins, and its first message is there.
    writer->write(std::span(stream).first(in_two ? 56 + 100 + 36 + 60 : stream.size()));
    if (!in_two) {
      CHECK_FALSE(writer->valid());
      CHECK(copy.logs().end(bounded) == views::LogPoint());
      CHECK(copy.logs().checkpoint(bounded) == nullptr);
    }
    copy.await_durable(bounded);
  }
  LoggingNode copy(host, 2, third_format);
  CHECK(copy.logs().checkpoint(bounded) == nullptr);
  if (!in_two) return;
  // A later process finds out what the one before began with.
  const auto rest = source.stream(bounded, copy.logs().end(bounded));
  const auto writer = copy.logs().write(bounded);
  writer->write(rest);
  CHECK_FALSE(writer->valid());
  CHECK(copy.logs().end(bounded) == views::LogPoint());
}

}  // namespace spindrift::group
