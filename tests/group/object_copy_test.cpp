// An object that is made a second time beside the program's, from calls of the log or from a state and what follows.
#include <catch2/catch.hpp>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <spindrift/group/object_copy.hpp>

#include "replicated_fixture.hpp"
#include "tally.hpp"

namespace spindrift::group {
namespace {

class CopyFixture : public ReplicaFixture<Tally> {
 public:
  CopyFixture() : ReplicaFixture(1) { logged = true; }

  std::vector<std::byte> update_of(int value) {
    static_cast<void>((*this)[0].update<&Tally::add>(value));
    std::vector<std::byte> bytes = std::move(ordered().back().bytes);
    ordered().pop_back();
    return bytes;
  }
  [[nodiscard]] const ReplicaChannel& channel() const { return *members[0].channel; }
  ObjectMaker make = [](ReplicaChannel& channel) { return std::make_unique<ReplicaCore<Tally>>(channel); };
};

store::Entry entry_of(std::uint64_t version, std::span<const std::byte> payload) {
  store::Entry entry{};
  entry.version = store::LogVersion(version);
  entry.head.sender = NodeId(0);
  entry.payload = payload;
  return entry;
}

std::vector<std::byte> saved(const ObjectCopy& copy) {
  std::ostringstream text;
  value_or_throw(copy.save(text));
  const std::string bytes = std::move(text).str();
  const auto view = std::as_bytes(std::span(bytes));
  return {view.begin(), view.end()};
}

}  // namespace

TEST_CASE_METHOD(CopyFixture, "a copy has what the calls of the log, or a state and the calls behind it, have led to") {
  ObjectCopy all(channel(), make);
  ObjectCopy first(channel(), make);
  std::vector<std::byte> half;
  for (std::uint64_t version = 0; version < 10; ++version) {
    const std::vector<std::byte> call = update_of(static_cast<int>(version));
    REQUIRE(all.take(entry_of(version, call)));
    if (version < 5) REQUIRE(first.take(entry_of(version, call)));
    if (version == 4) half = saved(first);
  }
  ObjectCopy second(channel(), make);
  REQUIRE(second.load(half, 5));
  for (std::uint64_t version = 5; version < 10; ++version)
    REQUIRE(second.take(entry_of(version, update_of(static_cast<int>(version)))));
  CHECK(saved(second) == saved(all));
  CHECK(saved(first) != saved(all));
  CHECK((*this)[0].query<&Tally::sum>() == 0);

  REQUIRE(core(0).load(saved(all)));
  CHECK((*this)[0].query<&Tally::sum>() == 45);
}

TEST_CASE_METHOD(CopyFixture, "a copy is not made of calls that the program does not know") {
  ObjectCopy copy(channel(), make);
  std::vector<std::byte> call = update_of(1);
  call.front() ^= std::byte{1};  // the digest of its list of methods
  const auto taken = copy.take(entry_of(0, call));
  REQUIRE_FALSE(taken);
  CHECK(taken.error().kind() == ErrorKind::refused);
}

TEST_CASE_METHOD(CopyFixture, "a thread that makes a copy starts no calls of the program's objects") {
  const HandlerThreads::Entry entry(*channel().handler_threads(), HandlerThreads::Kind::beside);
  try {
    static_cast<void>((*this)[0].update<&Tally::add>(1));
    FAIL("it started one");
  } catch (const Exception& refused) {
    CHECK(refused.error().kind() == ErrorKind::would_block);
  }
  CHECK(ordered().empty());
  CHECK(entry.refused());
}

}  // namespace spindrift::group
