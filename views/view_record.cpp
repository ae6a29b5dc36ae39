// The record's bytes, checked field by field.
#include <spindrift/views/view_record.hpp>

#include <algorithm>

#include <spindrift/views/roster_bytes.hpp>

namespace spindrift::views {

void put_view(ByteWriter& writer, const RecordedView& view) {
  writer.put(view.id, static_cast<std::uint32_t>(view.members.size()), std::uint32_t{view.founded ? 1U : 0U});
  for (const Join& member : view.members) writer.put(member.node, member.incarnation);
  put_roster(writer, view.roster);
}

bool get_view(ByteReader& reader, RecordedView& view) {
  view.id = reader.get<ViewId>();
  const auto count = reader.get<std::uint32_t>();
  const auto founded = reader.get<std::uint32_t>();
  if (!reader.ok() || count > member_count_max || founded > 1) return false;
  view.founded = founded == 1;
  for (std::uint32_t i = 0; i < count; ++i) {
    Join member{reader.get<NodeId>(), 0};
    member.incarnation = reader.get<std::uint64_t>();
    if (member.incarnation == 0 || incarnation_in(view, member.node)) return false;
    view.members.push_back(member);
  }
  return get_roster(reader, view.roster);
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
  std::uint64_t latest = record.since;
  const auto note = [&](const RecordedView& view) { latest = std::max(latest, incarnation_in(view, node).value_or(0)); };
  if (record.last) note(*record.last);
  for (const RecordedView& view : record.accepted) note(view);
  return latest + 1;
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
  writer.put(record.since, static_cast<std::uint32_t>(record.standing), std::uint32_t{record.last ? 1U : 0U},
             std::uint64_t{record.accepted.size()});
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
  if (known > 1 || accepted > ViewRecord::accepted_max) return false;
  record.standing = static_cast<ViewRecord::Standing>(standing);
  if (known == 1 && !get_view(reader, record.last.emplace())) return false;
  for (std::uint64_t i = 0; i < accepted; ++i) {
    RecordedView view;
    if (!get_view(reader, view)) return false;
    if (std::ranges::any_of(record.accepted, [&](const RecordedView& each) { return same_nodes(each, view); })) return false;
    record.accepted.push_back(std::move(view));
  }
  return reader.ok();
}

}  // namespace spindrift::views
