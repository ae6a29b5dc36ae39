// Words: digest, view id, failed, left, number of joins, 2 × revival + whether there is another roster, its digest (2);
// joins_max × {node, incarnation}; then by subgroup {loaded, one count per sender}. A set of ranks has as many words as the
// view's size asks for. Rows of version 17, which knows no revivals, have the same words.
#include <spindrift/views/decree.hpp>

#include <algorithm>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/check.hpp>
#include <spindrift/core/digest.hpp>
#include <spindrift/sst/row_layout.hpp>
#include <spindrift/views/mandate.hpp>
#include <spindrift/views/versions.hpp>

namespace spindrift::views {
namespace {

std::uint64_t digest_of_words(std::span<const std::uint64_t> words) { return digest_of(std::as_bytes(words)).words[0]; }

void put(std::vector<std::uint64_t>& words, const RankSet& set, const View& view) {
  for (std::uint32_t i = 0; i < sst::rank_set_words_of(view.members.size()); ++i) words.push_back(set.word(i));
}

// Every newcomer is somebody whom the view does not keep, once.
bool plausible(const Decree& decree, const Join& join, const View& view) {
  if (join.incarnation == 0) return false;
  const auto rank = view.rank_of(join.node);
  if (rank && decree.stays(*rank)) return false;
  return std::count_if(decree.joins.begin(), decree.joins.end(),
                       [&](const Join& other) { return other.node == join.node; }) == 1;
}

/// The view as the layout of the next one is shown it: a subgroup without members whose log somebody has has those, or the
/// layout might leave them out.
View with_log_holders(View view, const Decree& decree) {
  if (view.roster.version < logs_return_since) return view;
  for (std::size_t s = 0; s < view.subgroups.size(); ++s) {
    SubgroupView& subgroup = view.subgroups[s];
    if (subgroup.storage != SubgroupStorage::logged || subgroup.dropped || !subgroup.members.empty()) continue;
    for (std::uint32_t i = 0; i < view.members.size(); ++i) {
      if (decree.stays(Rank(i)) && decree.loaded[s].contains(Rank(i))) subgroup.members.push_back(view.members[i]);
    }
    subgroup.senders = subgroup.members;
  }
  return view;
}

}  // namespace

std::vector<std::uint64_t> encode(const Decree& decree, const View& view) {
  CHECK(decree.joins.size() <= sst::joins_max && decree.trim.size() == view.subgroups.size());
  std::vector<std::uint64_t> words{0, view.id.value()};
  put(words, decree.failed, view);
  put(words, decree.left, view);
  words.push_back(decree.joins.size());
  words.push_back(2 * decree.revival + (decree.roster ? 1 : 0));
  for (const std::uint64_t word : decree.roster.value_or(Digest()).words) words.push_back(word);
  const std::size_t head_words = words.size();
  for (const Join& join : decree.joins) {
    words.push_back(join.node.value());
    words.push_back(join.incarnation);
  }
  words.resize(head_words + 2 * sst::joins_max);
  for (std::size_t s = 0; s < view.subgroups.size(); ++s) {
    put(words, decree.loaded[s], view);
    words.insert(words.end(), decree.trim[s].begin(), decree.trim[s].end());
  }
  CHECK(words.size() == sst::decree_words_of(view));
  words[0] = digest_of_words(std::span(words).subspan(1));
  return words;
}

std::optional<Decree> decode(std::span<const std::uint64_t> words, const View& view) {
  if (words.size() != sst::decree_words_of(view) || words[0] != digest_of_words(words.subspan(1))) return std::nullopt;
  ByteReader reader(std::as_bytes(words.subspan(1)));
  const auto next = [&reader] { return reader.get<std::uint64_t>(); };
  if (reader.get<ViewId>() != view.id) return std::nullopt;
  Decree decree;
  decree.failed = get_ranks(reader, view.members.size());
  decree.left = get_ranks(reader, view.members.size());
  const RankSet everybody = RankSet::first(view.members.size());
  if (!everybody.includes(decree.failed) || !everybody.includes(decree.left) || !decree.failed.disjoint(decree.left)) {
    return std::nullopt;
  }
  const std::uint64_t joins = next();
  const std::uint64_t revival_and_roster = next();
  const bool has_roster = revival_and_roster % 2 == 1;
  decree.revival = revival_and_roster / 2;
  const Digest roster = reader.get<Digest>();
  if (joins > sst::joins_max || (!has_roster && roster != Digest())) return std::nullopt;
  if (has_roster) decree.roster = roster;
  for (std::size_t i = 0; i < sst::joins_max; ++i) {
    const std::uint64_t node = next();
    const std::uint64_t incarnation = next();
    if (i < joins && node <= 0xffffffff) decree.joins.push_back({NodeId(static_cast<std::uint32_t>(node)), incarnation});
  }
  if (decree.joins.size() != joins) return std::nullopt;
  for (const Join& join : decree.joins) {
    if (!plausible(decree, join, view)) return std::nullopt;
  }
  const std::size_t stay = view.members.size() - decree.failed.count() - decree.left.count();
  if (stay + joins > member_count_max) return std::nullopt;
  for (const SubgroupView& subgroup : view.subgroups) {
    decree.loaded.push_back(get_ranks(reader, view.members.size()));
    std::vector<std::uint64_t>& counts = decree.trim.emplace_back();
    for (std::size_t i = 0; i < subgroup.senders.size(); ++i) counts.push_back(next());
  }
  return decree;
}

std::optional<Rank> rank_of(const View& view, const Join& who) {
  const auto rank = view.rank_of(who.node);
  if (who.incarnation == 0 || !rank || view.incarnations[rank->value()] != who.incarnation) return std::nullopt;
  return rank;
}

View successor(const View& view, const Decree& decree, const LayoutFunction& layout, const Roster& roster) {
  View next;
  next.id = id_behind(view.id, decree.revival);
  next.roster = roster;
  for (std::uint32_t i = 0; i < view.members.size(); ++i) {
    if (!decree.stays(Rank(i))) continue;
    next.members.push_back(view.members[i]);
    next.incarnations.push_back(view.incarnations[i]);
  }
  for (const Join& join : decree.joins) {
    next.members.push_back(join.node);
    next.incarnations.push_back(join.incarnation);
  }
  const View shown = with_log_holders(view, decree);
  next.subgroups = subgroups_of(layout, roster, next.members, &shown);
  CHECK(next.layout_count() == view.layout_count() && next.subgroups.size() >= view.subgroups.size());
  return next;
}

std::vector<RankSet> loaded_in(const View& next, const View& view, const std::vector<RankSet>& before, const Decree& decree,
                               std::vector<SubgroupId>& lost) {
  std::vector<RankSet> loaded(next.subgroups.size());
  for (std::uint32_t s = 0; s < next.subgroups.size(); ++s) {
    if (next.subgroups[s].dropped) continue;
    const bool was_there = s < view.subgroups.size();  // and if that was an empty place, nobody had any state of it
    for (std::uint32_t i = 0; was_there && i < view.members.size(); ++i) {
      if (!decree.stays(Rank(i)) || !decree.loaded[s].contains(Rank(i))) continue;
      const Rank rank = *next.rank_of(view.members[i]);
      // A member of no adequate subgroup keeps what it has; one that was moved out of it does not.
      if (next.subgroups[s].members.empty() || next.subgroups[s].member_position(view.members[i])) loaded[s].add(rank);
    }
    if (!loaded[s].empty()) continue;
    if (was_there && !view.subgroups[s].log_holders.empty()) continue;  // it goes on when somebody with its log is there
    if (was_there && !before[s].empty()) lost.push_back(SubgroupId(s));
    for (const NodeId node : next.subgroups[s].members) loaded[s].add(*next.rank_of(node));
  }
  return loaded;
}

}  // namespace spindrift::views
