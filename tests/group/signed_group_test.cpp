// Groups whose members sign their logs, over loopback, each with a journal of its own.
#include <catch2/catch.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/group/group.hpp>

#include "logged_fixture.hpp"
#include "signed_fixture.hpp"

namespace spindrift {
namespace {

using Catch::Matchers::Contains;

class SignedFixture : public LoggedFixture {
 public:
  [[nodiscard]] group::JournalPlace place() const { return {directory() + "/journals", "test"}; }
  [[nodiscard]] std::string signing() const {
    return "founders = 0,1,2\njoin_timeout_ms = 20000\n[PERS]\nfile_path = " + directory() + "/journals\nsign_logs = true";
  }
  [[nodiscard]] static GroupOptions logged_orders(const Config& config) {
    GroupOptions options;
    const LayoutFunction configured = *config.layout_function();
    options.layout = [configured](const std::vector<NodeId>& nodes, const View* previous) {
      std::vector<SubgroupView> subgroups = configured(nodes, previous);
      for (SubgroupView& each : subgroups) {
        if (each.name == "orders") each.storage = SubgroupStorage::logged;
      }
      return subgroups;
    };
    return options;
  }
  [[nodiscard]] std::vector<std::unique_ptr<Group>> join_signing() const {
    return join_from(0, 3, signing(), logged_orders(config(0, 3, signing())));
  }
};

constexpr unsigned count = 50;

void run_all(std::vector<std::unique_ptr<Group>>& groups, unsigned round) {
  for (auto& group : groups) {
    for (const char* name : {"orders", "ticks"}) group->subgroup(name).on_delivery([](std::span<const Delivery>) {});
  }
  for (unsigned i = 0; i < count; ++i) groups[round]->subgroup("orders").send("message " + std::to_string(i));
  for (auto& group : groups)
    REQUIRE(group->subgroup("orders").await_durable((round + 1) * count - 1, std::chrono::seconds(20)));
  leave_all(groups);
}

}  // namespace

TEST_CASE_METHOD(SignedFixture, "three members sign the same history, each with its own key, over a stop of all") {
  const group::GroupKeys keys(directory(), "test");
  const auto trust = keys.trust();
  for (unsigned round = 0; round < 2; ++round) {
    auto groups = join_signing();
    run_all(groups, round);
  }
  std::optional<group::LogChain> chain;
  for (std::uint32_t node = 0; node < 3; ++node) {
    const auto proved = group::proof_of(place(), node, trust, SubgroupId(0));
    CHECK(proved.name == "orders");
    CHECK(proved.proof.problem_count == 0);
    REQUIRE(proved.proof.proved.size() == 1);
    CHECK(proved.proof.proved.front().first == 0);
    CHECK(proved.proof.proved.front().end == proved.proof.end);
    if (node == 0) chain = proved.proof.chain;
    CHECK(proved.proof.chain == chain);
  }
  REQUIRE(chain);
  CHECK(chain->version.value() == 2 * count);
}

TEST_CASE_METHOD(SignedFixture, "a node that is to sign and has no key, or no journal, is not started") {
  const Config keyless = config(0, 3, signing());
  const auto without_key = thrown_by([&] { const Group group(keyless, logged_orders(keyless)); });
  REQUIRE(without_key);
  CHECK_THAT(without_key->to_string(),
             Contains("/keys/0: [PERS] sign_logs is true, and this node has no key to sign with") &&
                 Contains("fix: make them with spindrift keys init, or copy this node's directory"));
  const group::GroupKeys keys(directory(), "test");
  const std::string nowhere = "founders = 0,1,2\njoin_timeout_ms = 20000\n[PERS]\nsign_logs = true";
  const auto without_place = thrown_by([&] { const Group group(config(0, 3, nowhere)); });
  REQUIRE(without_place);
  CHECK_THAT(without_place->to_string(), Contains("sign_logs is true, and no directory is named for the logs") &&
                                             Contains("fix: name in [PERS] file_path"));
}

}  // namespace spindrift
