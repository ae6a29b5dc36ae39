// Two honest members and a third whose row says anything at any time, while their view ends. The honest ones neither crash
// nor loop; what they decide is one decree, within what each of them holds and has delivered.
//
// The third runs the real protocol in a row of its own, which is shown to the others when the input says so; what they see
// of it is then overwritten. So the input reaches states deep in the protocol before it lies.
#include <spindrift/views/view_change.hpp>

#include <deque>
#include <memory>
#include <vector>

#include "fuzz.hpp"

namespace {

using namespace spindrift;
using namespace spindrift::views;
using fuzz::expect;
using fuzz::RowMemory;

constexpr std::uint32_t hostile = 2;

View three_members(std::uint32_t hostile_rank) {
  View view;
  for (std::uint32_t i = 0; i < 3; ++i) {
    view.members.push_back(NodeId(i));
    view.incarnations.push_back(i + 1);
  }
  std::swap(view.members[hostile], view.members[hostile_rank]);
  SubgroupView subgroup;
  subgroup.name = "all";
  subgroup.members = view.members;
  subgroup.senders = view.members;
  subgroup.profile = {.ring_bytes = 4096, .window_messages = 8, .message_bytes_max = 2040};
  view.subgroups.push_back(std::move(subgroup));
  return view;
}

/// A member that holds some of each sender's messages and has delivered what everybody held.
class Node final : public Counts {
 public:
  Node(const View& view, const std::vector<RankSet>& loaded, std::uint32_t self, std::vector<std::uint64_t> held)
      : received(std::move(held)),
        row(sst::RowLayout(view, NodeId(self)).bytes()),
        table(view, NodeId(self), row.span()),
        rosters(view, table.self()),
        change(view, loaded, table, *this, rosters, {}) {}

  void wedge() override {
    expect(!wedged, "a view is wedged once");
    wedged = true;
    const std::uint64_t at = table.layout(table.self()).subgroup(SubgroupId(0))->received_of;
    for (std::size_t i = 0; i < received.size(); ++i) table.store(at + i * 8, received[i], sst::Table::everybody);
  }
  [[nodiscard]] bool can_deliver(const Decree& decree) const override {
    for (std::size_t i = 0; i < received.size(); ++i) {
      if (decree.trim[0][i] > received[i]) return false;
    }
    return true;
  }

  bool wedged = false;
  std::vector<std::uint64_t> received;
  RowMemory row;
  sst::Table table;
  RosterAgreement rosters;
  ViewChange change;
};

void lie(RowMemory& shown, const sst::RowLayout& layout, fuzz::Choices& choices) {
  const auto row = shown.span();
  const std::uint64_t words = layout.decree() / 8 + layout.decree_words();
  const std::uint64_t at = (choices.choice(3) == 0 ? choices.choice(words) : choices.choice(10)) * 8;
  std::uint64_t value = choices.choice(3) == 0 ? choices.number(8) : choices.number(1);
  std::memcpy(row.data() + at, &value, sizeof value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Choices choices(data, size);
  const View view = three_members(static_cast<std::uint32_t>(choices.choice(3)));
  const std::vector<RankSet> loaded{RankSet::first(3)};
  std::deque<Node> nodes;
  for (std::uint32_t i = 0; i < 3; ++i) {
    std::vector<std::uint64_t> held;
    for (int s = 0; s < 3; ++s) held.push_back(choices.choice(8));
    nodes.emplace_back(view, loaded, i, std::move(held));
  }
  RowMemory shown(sst::RowLayout(view, NodeId(hostile)).bytes());
  for (std::uint32_t i = 0; i < 3; ++i) {
    for (std::uint32_t j = 0; j < 3; ++j) {
      if (i != j) nodes[i].table.attach_mapped(*view.rank_of(NodeId(j)), j == hostile ? shown.span() : nodes[j].row.span());
    }
    nodes[i].change.set_ready();
  }
  const std::vector<Candidate> candidates{{{NodeId(9), 77}, RankSet::first(3)}};
  while (!choices.empty()) {
    const std::uint64_t what = choices.choice(8);
    Node& node = nodes[choices.choice(3)];
    if (what < 3) (void)node.change.step(choices.choice(2) == 0 ? std::vector<Candidate>{} : candidates, true);
    if (what == 3) node.change.suspect(Rank(static_cast<std::uint32_t>(choices.choice(3))), "chosen");
    if (what == 4) (void)node.change.leave();
    if (what == 5) std::ranges::copy(nodes[hostile].row.span(), shown.span().begin());
    if (what >= 6) lie(shown, nodes[hostile].table.layout(*view.rank_of(NodeId(hostile))), choices);
  }
  for (int i = 0; i < 8; ++i) {
    for (std::uint32_t n = 0; n < hostile; ++n) (void)nodes[n].change.step({}, false);
  }
  const auto decided = [&](std::uint32_t n) { return nodes[n].change.state() == ViewChange::State::decided; };
  if (!decided(0) || !decided(1)) return 0;
  const auto words = [&](std::uint32_t n) { return encode(nodes[n].change.decree(), view); };
  // A third that lies about what it accepted can give two leaders their majorities: agreement is promised among the honest
  // only as long as neither suspects the other.
  const bool split = nodes[0].change.suspected().contains(*view.rank_of(NodeId(1))) ||
                     nodes[1].change.suspected().contains(*view.rank_of(NodeId(0)));
  if (!split) expect(words(0) == words(1), "one decree ends a view");
  return 0;
}
