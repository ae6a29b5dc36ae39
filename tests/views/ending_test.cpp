// The words with which a member ends whose view others ended, or nobody.
#include <catch2/catch.hpp>

#include <vector>

#include <spindrift/views/ending.hpp>
#include <spindrift/views/epoch.hpp>

#include "../smc/null_fabric.hpp"

namespace spindrift::views {
namespace {

View view_of(std::uint32_t members) {
  View view;
  view.id = ViewId(7);
  for (std::uint32_t i = 0; i < members; ++i) {
    view.members.emplace_back(i);
    view.incarnations.push_back(100 + i);
  }
  return view;
}

/// The last member of a view, all others of which have turned it away.
class TurnedAway {
 public:
  TurnedAway(std::uint32_t members, const Mandate::Terms& terms)
      : view_(view_of(members)),
        row_(sst::RowLayout(view_, view_.members.back()).bytes() / 8),
        epoch_(view_, std::vector<RankSet>(), view_.members.back(),
               fabric::Region{fabric::RegionKey(0), std::as_writable_bytes(std::span(row_))}, std::vector<Epoch::Beside>(),
               smc::Policy{}, terms, sink_, counters_) {
    for (std::uint32_t i = 0; i + 1 < members; ++i) epoch_.change().suspect(Rank(i), "it removed this node", true);
  }
  [[nodiscard]] Error last_words() { return lost_majority(epoch_); }

 private:
  struct Sink final : smc::DeliverySink {
    void on_delivery(SubgroupId, std::span<const Delivery>) override {}
    void on_space(SubgroupId) override {}
    [[nodiscard]] bool accepts(SubgroupId) const override { return true; }
  };
  View view_;
  std::vector<std::uint64_t> row_;
  CounterBlock counters_ = CounterBlock::in_memory(4 * smc::Multicast::counters_max);
  Sink sink_;
  Epoch epoch_;
};

}  // namespace

TEST_CASE("who is turned away by all others was removed by them, if they can go on") {
  const Error error = TurnedAway(3, {}).last_words();
  CHECK(error.kind() == ErrorKind::removed);
  CHECK(error.message().find("removed this node from the group for view 8") != std::string::npos);
  CHECK(TurnedAway(2, {.rule = Mandate::Rule::all_left}).last_words().kind() == ErrorKind::removed);
}

TEST_CASE("of two members neither can remove the other: who is turned away has lost the majority with it") {
  const Error error = TurnedAway(2, {}).last_words();
  CHECK(error.kind() == ErrorKind::no_majority);
  CHECK(error.message() == "lost the majority of view 7: of its 2 members are gone node 0 (it removed this node)");
}

}  // namespace spindrift::views
