// A node's key is revoked, and the list copied to one host: the others go on without that node, and it says why it ends.
#include <catch2/catch.hpp>

#include <condition_variable>
#include <filesystem>
#include <mutex>

#include "group_fixture.hpp"

using namespace spindrift;
using Catch::Matchers::Contains;

namespace {

constexpr const char* with_keys = "join_timeout_ms = 20000\nsecurity = tls\n";

/// One member, its views, and what was delivered to it.
class Member {
 public:
  explicit Member(const Config& config) {
    GroupOptions options;
    options.on_view = [this](const NewView& news) {
      const std::lock_guard lock(mutex_);
      views_.push_back(news.view.members);
      for (const auto& removal : news.failed) failures_ += removal.reason + "\n";
      changed_.notify_all();
    };
    group_ = std::make_unique<Group>(config, std::move(options));
    group_->subgroup("ticks").on_delivery([](auto) {});
    group_->subgroup("orders").on_delivery([this](std::span<const Delivery> batch) {
      const std::lock_guard lock(mutex_);
      delivered_ += batch.size();
      changed_.notify_all();
    });
  }
  [[nodiscard]] Group& group() noexcept { return *group_; }
  void await_view(const std::vector<NodeId>& members) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !views_.empty() && views_.back() == members; });
  }
  void await_delivered(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return delivered_ >= count; });
  }
  [[nodiscard]] std::string failures() {
    const std::lock_guard lock(mutex_);
    return failures_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::vector<NodeId>> views_;
  std::string failures_;
  std::size_t delivered_ = 0;
  std::unique_ptr<Group> group_;
};

std::vector<std::unique_ptr<Member>> join(const GroupFixture& fixture) {
  std::vector<std::unique_ptr<Member>> members(3);
  std::vector<std::thread> joining;
  for (unsigned node = 0; node < 3; ++node) {
    joining.emplace_back([&, node] { members[node] = std::make_unique<Member>(fixture.config(node, 3, with_keys)); });
  }
  for (std::thread& thread : joining) thread.join();
  return members;
}

/// As an operator does it: at the authority, which is on no member's host, and then for one of the hosts.
void revoke(const GroupFixture& fixture, unsigned node, unsigned at_host) {
  const std::filesystem::path keys = fixture.directory() + "/keys", elsewhere = fixture.directory() + "/elsewhere";
  std::filesystem::create_directory(elsewhere);
  std::filesystem::copy(keys / "authority", elsewhere / "authority", std::filesystem::copy_options::recursive);
  auto authority = value_or_throw(fabric::tls::Authority::open(elsewhere));
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  value_or_throw(authority.revoke(value_or_throw(fabric::tls::Identity::of_member("test", NodeId(node))), now));
  const std::filesystem::path to = keys / std::to_string(at_host);
  std::filesystem::copy_file(elsewhere / "authority/revoked.crl", to / "new.crl");
  std::filesystem::rename(to / "new.crl", to / "revoked.crl");
}

/// The reasons that two members give for going on without a third, which is revoked at one host.
std::vector<std::string> go_on_without(unsigned revoked, unsigned first, const std::string& fabric) {
  CAPTURE(revoked, first, fabric);
  const GroupFixture fixture(fabric);
  auto members = join(fixture);
  std::vector<Member*> left;
  std::vector<NodeId> view;
  for (unsigned node = 0; node < 3; ++node) {
    if (node == revoked) continue;
    left.push_back(members[node].get());
    view.emplace_back(node);
  }
  revoke(fixture, revoked, first);
  for (Member* const member : left) member->await_view(view);
  for (Member* const member : left) member->group().subgroup("orders").send("on we go");
  for (Member* const member : left) member->await_delivered(2);
  for (Member* const member : left) CHECK(member->group().open());
  std::string end;
  try {
    members[revoked]->group().wait();
  } catch (const Exception& thrown) {
    CHECK(thrown.error().kind() == ErrorKind::refused);
    end = thrown.error().to_string();
  }
  CHECK_THAT(end, Contains("this node's certificate is revoked"));
  std::vector<std::string> reasons;
  for (Member* const member : left) reasons.push_back(member->failures());
  for (Member* const member : left) member->group().leave();
  return reasons;
}

}  // namespace

TEST_CASE("members go on without one that is revoked, whichever has the list first, though the others never get the file") {
  const std::string fabric = GENERATE("tcp", "ofi:tcp");
  const unsigned first = GENERATE(0U, 1U, 2U), revoked = GENERATE(0U, 2U);
  for (const std::string& reason : go_on_without(revoked, first, fabric)) CHECK_THAT(reason, Contains("revoked"));
}

// Over shared memory no key proves anything: a neighbor is removed because a member elsewhere suspects it, or says why it
// ends.
TEST_CASE("members go on without one that is revoked and a neighbor of some") {
  const unsigned revoked = GENERATE(0U, 1U, 2U);
  static_cast<void>(go_on_without(revoked, 1, "shm+tcp"));
}

TEST_CASE("a node with keys of another authority is refused, and told that, while its group runs") {
  const GroupFixture fixture("tcp");
  auto members = join(fixture);
  members[2]->group().leave();
  members[2].reset();
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const fabric::tls::Validity validity = fabric::tls::valid_for(now, std::chrono::days(1));
  const std::string other_keys = fixture.directory() + "/other";
  std::filesystem::create_directory(other_keys);
  auto other = value_or_throw(fabric::tls::Authority::create(other_keys, "test", validity));
  value_or_throw(other.add(value_or_throw(fabric::tls::Identity::of_member("test", NodeId(2))), validity));
  std::filesystem::remove_all(fixture.directory() + "/keys/2");
  std::filesystem::rename(other_keys + "/2", fixture.directory() + "/keys/2");
  try {
    const Member late(fixture.config(2, 3, "join_timeout_ms = 1500\nsecurity = tls\n"));
    FAIL("it was let in");
  } catch (const Exception& thrown) {
    CHECK(thrown.error().kind() == ErrorKind::refused);
    CHECK_THAT(thrown.what(), Contains("do not let each other in") && Contains("keys of one authority"));
  }
  for (unsigned node = 0; node < 2; ++node) members[node]->group().leave();
}
