// The record's bytes, checked field by field.
#include <spindrift/views/view_record.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <spindrift/core/digest.hpp>
#include <spindrift/views/roster_bytes.hpp>

namespace spindrift::views {

namespace {

// How the view was made, and whether logs follow: a record of a group without any is as it was before there were logs.
constexpr std::uint32_t by_founding = 1;
constexpr std::uint32_t with_logs = 2;
// A record may know a last view, and of its logs apart from its views.
constexpr std::uint32_t with_last = 1;
constexpr std::uint32_t with_logs_from = 2;

}  // namespace

void put_holders(ByteWriter& writer, const std::vector<LogHolder>& holders) {
  writer.put(std::uint64_t{holders.size()});
  for (const LogHolder& each : holders) writer.put(each.node, each.incarnation);
}

bool get_holders(ByteReader& reader, std::vector<LogHolder>& holders) {
  const auto count = reader.get<std::uint64_t>();
  if (!reader.ok() || count > roster_count_max) return false;
  for (std::uint64_t i = 0; i < count; ++i) {
    LogHolder holder{reader.get<NodeId>(), 0};
    holder.incarnation = reader.get<std::uint64_t>();
    if (!reader.ok() || std::ranges::find(holders, holder.node, &LogHolder::node) != holders.end()) return false;
    holders.push_back(holder);
  }
  return true;
}

void put_known(ByteWriter& writer, const std::vector<KnownLog>& logs) {
  for (const KnownLog& each : logs) writer.put(std::uint64_t{each.subgroup.value()}, each.end.version, each.end.link.words);
}

bool get_known(ByteReader& reader, std::vector<KnownLog>& logs) {
  while (reader.ok() && !reader.rest().empty()) {
    const auto subgroup = reader.get<std::uint64_t>();
    KnownLog next{SubgroupId(static_cast<std::uint32_t>(subgroup)), {}};
    next.end.version = reader.get<std::uint64_t>();
    next.end.link.words = reader.get<std::array<std::uint64_t, 2>>();
    if (subgroup > ~std::uint32_t{0} || (!logs.empty() && next.subgroup <= logs.back().subgroup)) return false;
    logs.push_back(next);
  }
  return reader.ok();
}

void put_logs(ByteWriter& writer, const std::vector<RecordedLog>& logs) {
  writer.put(std::uint64_t{logs.size()});
  for (const RecordedLog& log : logs) {
    writer.put(std::uint64_t{log.subgroup.value()}, log.name);
    put_holders(writer, log.holders);
  }
}

bool get_logs(ByteReader& reader, std::vector<RecordedLog>& logs) {
  const auto count = reader.get<std::uint64_t>();
  if (!reader.ok() || count > logged_subgroup_count_max) return false;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto subgroup = reader.get<std::uint64_t>();
    RecordedLog log{SubgroupId(static_cast<std::uint32_t>(subgroup)), reader.get<std::uint64_t>(), {}};
    if (!get_holders(reader, log.holders) || log.holders.empty() || subgroup > ~std::uint32_t{0}) return false;
    if (!logs.empty() && log.subgroup <= logs.back().subgroup) return false;
    logs.push_back(std::move(log));
  }
  return reader.ok();
}

std::uint64_t name_digest(const SubgroupView& subgroup) noexcept {
  return digest_of(std::string_view(subgroup.name)).words[0];
}

RecordedView recorded(const View& view) {
  RecordedView recorded{view.id, {}, view.roster};
  for (std::size_t i = 0; i < view.members.size(); ++i) recorded.members.push_back({view.members[i], view.incarnations[i]});
  for (std::uint32_t s = 0; s < view.subgroups.size(); ++s) {
    const SubgroupView& subgroup = view.subgroups[s];
    if (!subgroup.log_holders.empty()) recorded.logs.push_back({SubgroupId(s), name_digest(subgroup), subgroup.log_holders});
  }
  return recorded;
}

void put_view(ByteWriter& writer, const RecordedView& view) {
  const std::uint32_t made = (view.founded ? by_founding : 0) | (view.logs.empty() ? 0 : with_logs);
  writer.put(view.id, static_cast<std::uint32_t>(view.members.size()), made);
  for (const Join& member : view.members) writer.put(member.node, member.incarnation);
  put_roster(writer, view.roster);
  if (!view.logs.empty()) put_logs(writer, view.logs);
}

bool get_view(ByteReader& reader, RecordedView& view) {
  view.id = reader.get<ViewId>();
  const auto count = reader.get<std::uint32_t>();
  const auto made = reader.get<std::uint32_t>();
  if (!reader.ok() || count > member_count_max || made > (by_founding | with_logs)) return false;
  view.founded = (made & by_founding) != 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    Join member{reader.get<NodeId>(), 0};
    member.incarnation = reader.get<std::uint64_t>();
    if (member.incarnation == 0 || incarnation_in(view, member.node)) return false;
    view.members.push_back(member);
  }
  if (!get_roster(reader, view.roster)) return false;
  return (made & with_logs) == 0 || (get_logs(reader, view.logs) && !view.logs.empty());
}

std::optional<std::uint64_t> incarnation_in(const RecordedView& view, NodeId node) {
  const auto at = std::ranges::find(view.members, node, &Join::node);
  return at == view.members.end() ? std::nullopt : std::optional(at->incarnation);
}

bool same_nodes(const RecordedView& a, const RecordedView& b) {
  return a.members.size() == b.members.size() &&
         std::ranges::all_of(a.members, [&](const Join& each) { return incarnation_in(b, each.node).has_value(); });
}

std::uint64_t next_incarnation(const ViewRecord& record, NodeId node) {
  std::uint64_t latest = std::max(record.since, record.logs_from);
  // The last view of a node that left is one without it; it is a holder of the logs there still.
  const auto note = [&](const RecordedView& view) {
    latest = std::max(latest, incarnation_in(view, node).value_or(0));
    for (const RecordedLog& log : view.logs) {
      for (const LogHolder& holder : log.holders) latest = std::max(latest, holder.node == node ? holder.incarnation : 0);
    }
  };
  if (record.last) note(*record.last);
  for (const RecordedView& view : record.accepted) note(view);
  return latest + 1;
}

// Others may remember a process of this node that had the logs, in a founding of which nothing came here.
void lose_logs(ViewRecord& record, NodeId node, std::uint64_t now) {
  record.logs_from = std::max(next_incarnation(record, node), now);
}

bool ViewRecord::accept(RecordedView view) {
  const auto same = std::ranges::find_if(accepted, [&](const RecordedView& each) { return same_nodes(each, view); });
  if (same == accepted.end()) {
    if (accepted.size() == accepted_max) return false;
    accepted.push_back(std::move(view));
    return true;
  }
  for (Join& member : view.members)
    member.incarnation = std::min(member.incarnation, *incarnation_in(*same, member.node));
  view.founded &= same->founded;
  *same = std::move(view);
  return true;
}

void put_record(ByteWriter& writer, const ViewRecord& record) {
  const std::uint32_t known = (record.last ? with_last : 0) | (record.logs_from != 0 ? with_logs_from : 0);
  writer.put(record.since, static_cast<std::uint32_t>(record.standing), known, std::uint64_t{record.accepted.size()});
  if (record.logs_from != 0) writer.put(record.logs_from);
  if (record.last) put_view(writer, *record.last);
  for (const RecordedView& view : record.accepted) put_view(writer, view);
}

bool get_record(ByteReader& reader, ViewRecord& record) {
  record.since = reader.get<std::uint64_t>();
  const auto standing = reader.get<std::uint32_t>();
  const auto known = reader.get<std::uint32_t>();
  const auto accepted = reader.get<std::uint64_t>();
  constexpr auto last_standing = static_cast<std::uint32_t>(ViewRecord::Standing::removed);
  if (!reader.ok() || record.since == 0 || standing > last_standing) return false;
  if (known > (with_last | with_logs_from) || accepted > ViewRecord::accepted_max) return false;
  if ((known & with_logs_from) != 0) {
    record.logs_from = reader.get<std::uint64_t>();
    if (record.logs_from == 0) return false;
  }
  record.standing = static_cast<ViewRecord::Standing>(standing);
  if ((known & with_last) != 0 && !get_view(reader, record.last.emplace())) return false;
  for (std::uint64_t i = 0; i < accepted; ++i) {
    RecordedView view;
    if (!get_view(reader, view)) return false;
    if (std::ranges::any_of(record.accepted, [&](const RecordedView& each) { return same_nodes(each, view); })) return false;
    record.accepted.push_back(std::move(view));
  }
  return reader.ok();
}

}  // namespace spindrift::views
