// The layout of rows: disjoint, aligned, and the same for everybody who computes it.
#include <catch2/catch.hpp>

#include <set>

#include <spindrift/sst/row_layout.hpp>

using namespace spindrift;
using sst::RowLayout;

namespace {

SubgroupView subgroup(std::string name, std::vector<NodeId> members, std::vector<NodeId> senders, std::uint64_t ring_bytes) {
  SubgroupView made;
  made.name = std::move(name);
  made.members = std::move(members);
  made.senders = std::move(senders);
  made.profile = {ring_bytes, 16, 1024};
  return made;
}

View three_members(std::size_t subgroups) {
  const NodeId a(4), b(7), c(9);
  View view;
  view.members = {a, b, c};
  for (std::size_t i = 0; i < subgroups; ++i) {
    view.subgroups.push_back(i % 2 == 0 ? subgroup("all" + std::to_string(i), {a, b, c}, {a, b, c}, 8192)
                                        : subgroup("pair" + std::to_string(i), {a, c}, {c}, 4096));
  }
  return view;
}

}  // namespace

TEST_CASE("no two words of a row share a place, and control words of two subgroups share no cache line") {
  const View view = three_members(9);
  for (const NodeId owner : view.members) {
    const RowLayout layout(view, owner);
    std::set<std::uint64_t> words{layout.epoch(), layout.phase()};
    std::size_t count = 2;
    for (std::uint32_t word = 0; word < layout.activity_words(); ++word, ++count) words.insert(layout.activity_word(word));
    std::set<std::uint64_t> lines{0};
    for (std::uint32_t word = 0; word < layout.activity_words(); ++word) lines.insert(layout.activity_word(word) / 64);
    for (std::uint32_t i = 0; i < view.subgroups.size(); ++i) {
      const auto& block = layout.subgroup(SubgroupId(i));
      CHECK(block.has_value() == view.subgroups[i].member_position(owner).has_value());
      if (!block) continue;
      std::set<std::uint64_t> own{block->committed, block->received, block->delivered};
      for (std::size_t s = 0; s < view.subgroups[i].senders.size(); ++s) own.insert(block->received_of + s * 8);
      count += 3 + view.subgroups[i].senders.size();
      std::set<std::uint64_t> own_lines;
      for (const std::uint64_t word : own) {
        CHECK(word % 8 == 0);
        CHECK(word + 8 <= layout.control_bytes());
        words.insert(word);
        own_lines.insert(word / 64);
      }
      for (const std::uint64_t line : own_lines) CHECK(lines.insert(line).second);
    }
    CHECK(words.size() == count);
  }
}

TEST_CASE("rings lie behind the words, on pages, disjoint, and only where the owner sends") {
  const View view = three_members(5);
  for (const NodeId owner : view.members) {
    const RowLayout layout(view, owner);
    std::uint64_t end = layout.control_bytes();
    for (std::uint32_t i = 0; i < view.subgroups.size(); ++i) {
      const auto& block = layout.subgroup(SubgroupId(i));
      const bool sends = view.subgroups[i].sender_rank(owner).has_value();
      if (!block || !sends) {
        CHECK((!block || block->ring == 0));
        continue;
      }
      CHECK(block->ring % sst::page_bytes == 0);
      CHECK(block->ring >= end);
      CHECK(block->ring_bytes == view.subgroups[i].profile.ring_bytes);
      end = block->ring + block->ring_bytes;
    }
    CHECK(layout.bytes() >= end);
    CHECK(layout.bytes() % sst::page_bytes == 0);
  }
}

TEST_CASE("rings that are split off lie behind the owner's segment, and everything else is where it was") {
  const View whole = three_members(5);
  View split = whole;
  for (SubgroupView& subgroup : split.subgroups) subgroup.profile.split_rows = true;
  for (const NodeId owner : whole.members) {
    const RowLayout before(whole, owner);
    const RowLayout layout(split, owner);
    CHECK(before.shared_bytes() == before.bytes());
    CHECK(layout.bytes() == before.bytes());
    CHECK(layout.shared_bytes() % sst::page_bytes == 0);
    CHECK(layout.shared_bytes() >= layout.decree() + layout.decree_words() * sst::word_bytes);
    CHECK(layout.shared_bytes() < layout.decree() + layout.decree_words() * sst::word_bytes + sst::page_bytes);
    for (std::uint32_t i = 0; i < whole.subgroups.size(); ++i) {
      const auto& block = layout.subgroup(SubgroupId(i));
      if (!block) continue;
      CHECK(block->committed == before.subgroup(SubgroupId(i))->committed);
      CHECK(block->ring == before.subgroup(SubgroupId(i))->ring);
      CHECK(block->split == (block->ring != 0));
      if (block->split) CHECK(block->ring >= layout.shared_bytes());
    }
  }
}

TEST_CASE("of a row that is split in part the other rings stay in the owner's segment") {
  View view = three_members(4);
  view.subgroups[0].profile.split_rows = true;
  const RowLayout layout(view, view.members[2]);
  CHECK(layout.subgroup(SubgroupId(0))->ring == layout.shared_bytes());
  for (const std::uint32_t i : {1U, 2U, 3U}) {
    const auto& block = layout.subgroup(SubgroupId(i));
    CHECK_FALSE(block->split);
    CHECK(block->ring + block->ring_bytes <= layout.shared_bytes());
  }
}

TEST_CASE("one activity counter covers eight subgroups") {
  const View view = three_members(17);
  const RowLayout layout(view, view.members[0]);
  CHECK(layout.activity_words() == 3);
  CHECK(layout.activity(SubgroupId(7)) == layout.activity(SubgroupId(0)));
  CHECK(layout.activity(SubgroupId(8)) == layout.activity(SubgroupId(0)) + 8);
  CHECK(layout.activity(SubgroupId(16)) == layout.activity_word(2));
}
