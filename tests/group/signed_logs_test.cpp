// Signed logs: what a chain covers, that a node goes on with its own over restarts, keys and new beginnings, and what it
// does when its journal is not the one that it has signed.
#include <catch2/catch.hpp>

#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/bytes.hpp>
#include <spindrift/group/log_signature.hpp>

#include "../store/checkpoint_fixture.hpp"
#include "../store/forged_journal.hpp"
#include "signed_fixture.hpp"

namespace spindrift::group {
namespace {

using Catch::Matchers::Contains;
using store::EntryKind;
using store::LogVersion;

constexpr SubgroupId orders(0);
constexpr SubgroupId ticks(1);

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

store::EntryHead message_head(std::uint64_t sequence = 0, SubgroupId subgroup = orders) {
  return {EntryKind::message, subgroup, NodeId(1), ViewId(4), SequenceNumber(sequence), 1};
}

std::uint64_t entries_in(const JournalPlace& place, std::uint32_t node, EntryKind kind) {
  auto files = value_or_throw(store::FileStorage::open_to_read(place.of(NodeId(node))));
  const auto findings = value_or_throw(store::examine(files, std::nullopt));
  std::uint64_t count = 0;
  value_or_throw(store::visit_entries(files, findings, findings.first(), [&](const store::Entry& entry) {
    if (entry.head.kind == kind) ++count;
    return true;
  }));
  return count;
}

/// A node of the group "g" that signs "orders" and "ticks".
struct SigningHost {
  JournalHost host;
  GroupKeys keys{host.place.above};

  [[nodiscard]] Result<std::unique_ptr<NodeJournal>> try_open(std::uint32_t node = 1) const {
    return open_signing(host.place, node, keys.key(node), {{orders, "orders"}, {ticks, "ticks"}});
  }
  [[nodiscard]] std::unique_ptr<NodeJournal> open(std::uint32_t node = 1) const { return value_or_throw(try_open(node)); }
  /// Messages of that log, each in a commit of its own.
  static void append(NodeJournal& journal, std::uint64_t count, SubgroupId subgroup = orders) {
    for (std::uint64_t i = 0; i < count; ++i) {
      journal.append(message_head(i, subgroup), bytes_of("message " + std::to_string(i)));
      journal.flush();
      value_or_throw(journal.await_durable(journal.end(), {}));
    }
  }
  void run(std::uint64_t count, std::uint32_t node = 1) const {
    const auto journal = open(node);
    append(*journal, count);
    value_or_throw(journal->close());
  }
  [[nodiscard]] LogProof proof(SubgroupId subgroup = orders, std::uint32_t node = 1) const {
    return proof_of(host.place, node, keys.trust(), subgroup).proof;
  }
  void forge(const std::function<void(std::vector<store::ForgedEntry>&)>& edit) const {
    store::forge(host.place.of(NodeId(1)), edit);
  }
};

}  // namespace

TEST_CASE("a chain covers its log's names and first version, and of a message all but its time") {
  LogChainer chainer;
  const LogName name{"g", "orders"};
  const LogChain begin = chainer.begin(name, LogVersion(3));
  CHECK(begin.version == LogVersion(3));
  CHECK(begin == chainer.begin(name, LogVersion(3)));
  CHECK(begin.digest != chainer.begin(name, LogVersion(4)).digest);
  CHECK(begin.digest != chainer.begin({"g", "order"}, LogVersion(3)).digest);
  CHECK(begin.digest != chainer.begin({"go", "rders"}, LogVersion(3)).digest);
  const auto behind = [&](const store::EntryHead& head, std::string_view payload, LogChain chain) {
    chainer.add(chain, head, bytes_of(payload));
    return chain;
  };
  const LogChain one = behind(message_head(), "text", begin);
  CHECK(one.version == LogVersion(4));
  CHECK(one.first == LogVersion(3));
  store::EntryHead other = message_head();
  other.time = 77;
  CHECK(behind(other, "text", begin) == one);
  CHECK(behind(message_head(), "texT", begin).digest != one.digest);
  CHECK(behind(message_head(1), "text", begin).digest != one.digest);
  other.sender = NodeId(2);
  CHECK(behind(other, "text", begin).digest != one.digest);
  other = message_head();
  other.view = ViewId(5);
  CHECK(behind(other, "text", begin).digest != one.digest);
  CHECK(behind(message_head(), "text", one).digest != one.digest);
}

TEST_CASE("a signature comes out of its payload as it was, and out of no part of it") {
  LogSignature signature{NodeId(2), SubgroupId(3), "orders", {LogVersion(1), LogVersion(9), {}}, 77};
  signature.chain.digest[5] = std::byte{7};
  signature.signature[6] = std::byte{8};
  signature.certificates = {std::byte{1}, std::byte{2}};
  const auto payload = payload_of(signature);
  const auto again = read_signature(payload);
  REQUIRE(again);
  CHECK(again->node == NodeId(2));
  CHECK(again->subgroup == SubgroupId(3));
  CHECK(again->name == "orders");
  CHECK(again->chain == signature.chain);
  CHECK(again->time == 77);
  CHECK(again->signature == signature.signature);
  CHECK(again->certificates == signature.certificates);
  CHECK(signed_text("g", *again) == signed_text("g", signature));
  CHECK(signed_text("h", *again) != signed_text("g", signature));
  for (std::size_t size = 0; size + 2 < payload.size(); ++size)
    REQUIRE_FALSE(read_signature(std::span(payload).first(size)));
  signature.chain.first = LogVersion(10);
  CHECK_FALSE(read_signature(payload_of(signature)));
}

TEST_CASE_METHOD(SigningHost, "a log is proved to its end when its node has closed it, and over the node's next processes") {
  run(20);
  const LogProof once = proof();
  CHECK(once.proved == std::vector<ProvedRange>{{0, 20}});
  CHECK(once.problems.empty());
  REQUIRE(once.chain);
  run(5);
  const LogProof again = proof();
  CHECK(again.proved == std::vector<ProvedRange>{{0, 25}});
  CHECK(again.problem_count == 0);
  run(0);
  CHECK(proof().good == again.good);
}

TEST_CASE_METHOD(SigningHost, "all nodes with the same messages have the same chain, whenever these came") {
  run(10, 0);
  run(4, 1);
  const auto journal = open(1);
  for (std::uint64_t i = 4; i < 10; ++i) journal->append(message_head(i), bytes_of("message " + std::to_string(i)));
  journal->append(message_head(0, ticks), bytes_of("of another log"));
  value_or_throw(journal->close());
  CHECK(proof(orders, 0).chain == proof(orders, 1).chain);
  CHECK(proof(ticks, 1).proved == std::vector<ProvedRange>{{0, 1}});
  CHECK(proof(ticks, 1).chain != proof(orders, 1).chain);
}

TEST_CASE_METHOD(SigningHost, "a log that was there before it was signed is signed from its first message on") {
  {
    auto unsigned_journal =
        value_or_throw(NodeJournal::open(value_or_throw(FoundJournal::take(host.place, NodeId(1))), small_journal, [] {}));
    append(*unsigned_journal, 7);
    value_or_throw(unsigned_journal->close());
  }
  CHECK(proof().problems.front().kind == ProofProblem::Kind::unsigned_);
  const auto journal = value_or_throw(
      open_signing(host.place, 1, keys.key(1), {{orders, "orders"}}, small_journal, std::chrono::hours(1)));
  // It is signed at once, be it before the segment begins, or when it is closed; no other is due, however slow the disk is.
  if (GENERATE(false, true)) {
    for (const store::JournalPosition begun = journal->end(); journal->end() == begun;) journal->flush();
    value_or_throw(journal->await_durable(journal->end(), {}));
  }
  value_or_throw(journal->close());
  CHECK(proof().proved == std::vector<ProvedRange>{{0, 7}});
  CHECK(entries_in(host.place, 1, EntryKind::signature) == 1);
}

TEST_CASE_METHOD(SigningHost, "each log gets one signature in its time at most, be there commits without end") {
  const auto journal = value_or_throw(NodeJournal::open_signed(
      value_or_throw(FoundJournal::take(host.place, NodeId(1))), {},  // all in one segment
      std::make_unique<LogSigner>(keys.key(1), LogSigner::Options{.group = "g", .node = NodeId(1),
                                                                  .names = {{orders, "orders"}},
                                                                  .sign_after = std::chrono::hours(1)}),
      [] {}));
  append(*journal, 50);
  value_or_throw(journal->close());
  // The first at once, and the last at the end.
  CHECK(entries_in(host.place, 1, EntryKind::signature) == 2);
  CHECK(proof().proved == std::vector<ProvedRange>{{0, 50}});
}

TEST_CASE_METHOD(SigningHost, "a log that begins anew begins a chain, and signatures of the one before say nothing of it") {
  const auto journal = open();
  append(*journal, 30);
  journal->append_base({orders, {}, {}, {}, {}}, 9);
  append(*journal, 3);
  value_or_throw(journal->close());
  const LogProof anew = proof();
  CHECK(anew.proved == std::vector<ProvedRange>{{0, 3}});
  CHECK(anew.problem_count == 0);
  run(1);
  CHECK(proof().proved == std::vector<ProvedRange>{{0, 4}});
}

TEST_CASE_METHOD(SigningHost, "a node does not go on with a journal whose messages are not those that it has signed") {
  run(20);
  SECTION("as one was changed") {
    forge([](auto& entries) { message_of(entries, 2).payload.front() ^= std::byte{1}; });
    const auto opened = try_open();
    REQUIRE_FALSE(opened);
    CHECK_THAT(opened.error().to_string(), Contains("the log of orders is not the one that this node has signed") &&
                                               Contains("are others") && Contains("spindrift log verify --keys"));
  }
  SECTION("as the last are gone") {
    forge([](auto& entries) {
      std::erase_if(entries, [](const auto& each) {
        return each.head.kind == EntryKind::message && each.version > LogVersion(9);
      });
    });
    const auto opened = try_open();
    REQUIRE_FALSE(opened);
    CHECK_THAT(opened.error().to_string(), Contains("are missing"));
  }
}

TEST_CASE_METHOD(SigningHost, "a rotated key signs what follows, and what came before with it") {
  run(4);
  const std::string first = value_or_throw(fabric::tls::SigningKey::load(keys.bundle(1), "g", NodeId(1))).identity().uri();
  value_or_throw(keys.authority.rotate(keys.member(1), GroupKeys::days(10)));
  run(4);
  CHECK(first == "spindrift://g/1");
  CHECK(proof().proved == std::vector<ProvedRange>{{0, 8}});
  SECTION("so that the key before may be revoked") {
    for (const auto& issued : keys.authority.issued()) {
      if (issued.identity != keys.member(1)) continue;
      value_or_throw(keys.authority.revoke(issued.serial, GroupKeys::now()));
      break;
    }
    CHECK(proof().proved == std::vector<ProvedRange>{{0, 8}});
    CHECK(proof().problem_count == 0);
  }
  SECTION("and proves nothing once all keys are revoked") {
    value_or_throw(keys.authority.revoke(keys.member(1), GroupKeys::now()));
    CHECK(proof().proved.empty());
    CHECK(proof().problems.front().state == SignatureState::revoked);
  }
}

TEST_CASE_METHOD(SigningHost, "a signature into which another chain was put is a forged one") {
  run(5);
  forge([](auto& entries) {
    store::message_of(entries, 0).payload.front() ^= std::byte{1};
    LogChainer chainer;
    std::vector<LogChain> chains{chainer.begin({"g", "orders"}, {})};
    for (std::uint64_t i = 0; i < 5; ++i) {
      const store::ForgedEntry& message = store::message_of(entries, i);
      chainer.add(chains.emplace_back(chains.back()), message.head, message.payload);
    }
    for (store::ForgedEntry& entry : entries) {
      if (entry.head.kind != EntryKind::signature) continue;
      LogSignature signature = *read_signature(entry.payload);
      signature.chain = chains[signature.chain.version.value()];
      entry.payload = payload_of(signature);
    }
  });
  CHECK(proof().proved == std::vector<ProvedRange>{});
  REQUIRE_FALSE(proof().problems.empty());
  CHECK(proof().problems.front().state == SignatureState::forged);
}

TEST_CASE_METHOD(SigningHost, "a signature of another group of the same authority signs nothing here") {
  const auto certificates = keys.key(1);
  LogSignature signature{NodeId(1), orders, "orders", LogChainer().begin({"g", "orders"}, {}), 0};
  signature.time = static_cast<std::uint64_t>(std::chrono::nanoseconds(GroupKeys::now().time_since_epoch()).count());
  signature.certificates.assign(certificates.certificates().begin(), certificates.certificates().end());
  signature.signature = value_or_throw(certificates.sign(signed_text("h", signature)));
  const auto trust = keys.trust();
  SignatureJudge judge(trust, host.place.owner(NodeId(1)));
  CHECK(judge.judge(signature).state == SignatureState::forged);
  signature.signature = value_or_throw(certificates.sign(signed_text("g", signature)));
  CHECK(judge.judge(signature).state == SignatureState::good);
  signature.time = 1;
  signature.signature = value_or_throw(certificates.sign(signed_text("g", signature)));
  CHECK(judge.judge(signature).state == SignatureState::untimely);
}

TEST_CASE_METHOD(SigningHost, "another node's key, and another group's, sign nothing for this one") {
  value_or_throw(value_or_throw(open_signing(host.place, 1, keys.key(2), {{orders, "orders"}}))->close());
  const auto journal = value_or_throw(open_signing(host.place, 1, keys.key(2), {{orders, "orders"}}));
  append(*journal, 3);
  value_or_throw(journal->close());
  CHECK(proof().proved.empty());
  REQUIRE_FALSE(proof().problems.empty());
  CHECK(proof().problems.front().state == SignatureState::unknown);
}

TEST_CASE_METHOD(SigningHost, "what is left of a log that was trimmed is proved from its first message on") {
  constexpr std::uint64_t count = 120;  // some eight in a segment
  std::unique_ptr<NodeJournal> journal;
  SECTION("as its process has signed it meanwhile") {
    journal = open();
    append(*journal, count);
  }
  SECTION("as the next process has signed it") {
    // None of these segments has a signature, as after a crash before there was one.
    journal =
        value_or_throw(NodeJournal::open(value_or_throw(FoundJournal::take(host.place, NodeId(1))), small_journal, [] {}));
    append(*journal, count);
    value_or_throw(journal->close());
    journal = open();
  }
  value_or_throw(journal->commit({EntryKind::view, store::no_subgroup, NodeId(1), ViewId(1), SequenceNumber(0), 1},
                                 bytes_of("a record of views")));
  append(*journal, 1);
  journal->trim(store::JournalPosition(count / 2));
  value_or_throw(journal->close());
  const LogProof left = proof();
  CHECK(left.first > 10);
  CHECK(left.first < count);
  CHECK(left.problem_count == 0);
  CHECK(left.proved == std::vector<ProvedRange>{{left.first, left.end}});
}

TEST_CASE_METHOD(SigningHost, "a node's certificate is no authority, whose word would be its own") {
  const std::string own = keys.bundle(1) + "/" + std::string(fabric::tls::certificate_file);
  const auto trust = fabric::tls::SignerTrust::read(own);
  REQUIRE_FALSE(trust);
  CHECK(trust.error().kind() == ErrorKind::bad_argument);
  CHECK_THAT(trust.error().to_string(), Contains("none of an authority") && Contains(own));
}

TEST_CASE_METHOD(SigningHost, "messages before the first signature that is there speak against the log") {
  run(10);
  run(10);
  std::uint64_t first_signed = 0;
  forge([&](auto& entries) {
    for (const auto& each : entries) {
      if (each.head.kind == EntryKind::signature && first_signed == 0)
        first_signed = read_signature(each.payload)->chain.version.value();
    }
  });
  REQUIRE(first_signed != 0);
  // A slow disk has it sign more often; none of what was signed ends where the messages here begin.
  ChainWalk walk({"g", "orders"}, [&] {
    SignedLog log{"orders"};
    auto files = value_or_throw(store::FileStorage::open_to_read(host.place.of(NodeId(1))));
    const auto findings = value_or_throw(store::examine(files, std::nullopt));
    value_or_throw(store::visit_entries(files, findings, findings.first(), [&](const store::Entry& entry) {
      if (entry.head.kind != EntryKind::signature) return true;
      const LogChain chain = read_signature(entry.payload)->chain;
      if (chain.version != LogVersion(5)) log.marks.push_back({chain});
      return true;
    }));
    return log;
  }());
  auto files = value_or_throw(store::FileStorage::open_to_read(host.place.of(NodeId(1))));
  const auto findings = value_or_throw(store::examine(files, std::nullopt));
  value_or_throw(store::visit_entries(files, findings, findings.first(), [&](const store::Entry& entry) {
    if (entry.head.kind == EntryKind::message && entry.version >= LogVersion(5)) walk.take(entry);
    return true;
  }));
  const LogProof trimmed = walk.finish(LogVersion(20));
  CHECK(trimmed.first == 5);
  REQUIRE(trimmed.proved.size() == 1);
  const std::uint64_t proved_from = trimmed.proved.front().first;
  CHECK(proved_from > 5);
  CHECK(trimmed.proved.front().end == 20);
  REQUIRE(trimmed.problem_count == 1);
  CHECK(trimmed.problems.front().kind == ProofProblem::Kind::unproved);
  CHECK(trimmed.problems.front().since == 5);
  CHECK(trimmed.problems.front().version == proved_from);
}

TEST_CASE_METHOD(SigningHost, "a program of the first format refuses a journal with signatures, and one without is of it") {
  run(1);
  auto files = value_or_throw(store::FileStorage::open_to_read(host.place.of(NodeId(1))));
  const auto findings = value_or_throw(store::examine(files, std::nullopt));
  CHECK(findings.segments.back().head.format == store::SegmentFormat::with_signatures);
  const auto plain =
      value_or_throw(NodeJournal::open(value_or_throw(FoundJournal::take(host.place, NodeId(0))), small_journal, [] {}));
  auto others = value_or_throw(store::FileStorage::open_to_read(host.place.of(NodeId(0))));
  CHECK(value_or_throw(store::examine(others, std::nullopt)).segments.back().head.format == store::SegmentFormat::first);
}

TEST_CASE_METHOD(SigningHost, "a log with checkpoints among its messages is signed and proved as one without") {
  NodeJournal::Options options = small_journal;
  options.journal.format = store::SegmentFormat::third;
  const auto open_third = [&] {
    return value_or_throw(open_signing(host.place, 1, keys.key(1), {{orders, "orders"}, {ticks, "ticks"}}, options));
  };
  for (std::uint64_t process = 1; process <= 2; ++process) {
    const auto journal = open_third();
    append(*journal, 10);
    for (const auto& piece : store::pieces_of(orders, 5 * process, std::string(20'000, 's'), 3000))
      journal->append(store::piece_head(), piece);
    append(*journal, 10);
    value_or_throw(journal->close());
  }
  CHECK(proof().proved == std::vector<ProvedRange>{{0, 40}});
  const auto content = value_or_throw(read_journal(host.place, NodeId(1)));
  CHECK(content->checkpoints.at(orders).version == LogVersion(10));
  CHECK(content->findings.segments.back().head.format == store::SegmentFormat::third);
  run(10);
  CHECK(proof().proved == std::vector<ProvedRange>{{0, 50}});
}

}  // namespace spindrift::group
