// Words for what a journal has.
#include "log_output.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include <spindrift/core/ids_text.hpp>
#include <spindrift/views/view_record.hpp>

#include "escaped.hpp"
#include "group_why.hpp"
#include "json_output.hpp"
#include "table.hpp"

namespace spindrift::tools {
namespace {

using Json = nlohmann::json;

constexpr int format_version = 1;  ///< of each of the three kinds

/// UTC, to the microsecond.
std::string moment(std::uint64_t ns) {
  constexpr std::uint64_t ns_per_ms = 1'000'000;
  constexpr std::uint64_t us_per_s = 1'000'000;
  std::string text = time_text(ns / ns_per_ms);
  text.pop_back();
  return fmt::format("{}.{:06}Z", text, ns / 1000 % us_per_s);
}

Json moment_json(std::uint64_t ns) { return ns == 0 ? Json() : Json(moment(ns)); }

std::string base64(std::span<const std::byte> bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr std::size_t group = 3;
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += group) {
    const std::size_t count = std::min(group, bytes.size() - at);
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < group; ++i)
      word = word << 8U | (i < count ? std::to_integer<std::uint32_t>(bytes[at + i]) : 0);
    for (std::size_t i = 0; i < 4; ++i) text += i <= count ? digits[word >> (18 - 6 * i) & 63U] : '=';
  }
  return text;
}

std::string versions_text(std::uint64_t first, std::uint64_t end) { return fmt::format("[{}, {})", first, end); }

Json json_of(const std::vector<VersionRange>& ranges) {
  Json list = Json::array();
  for (const VersionRange& range : ranges) list.push_back({{"first", range.first}, {"end", range.end}});
  return list;
}

/// The subgroup's name, or null, and its place.
Json log_json(const LogTarget& target, SubgroupId id) {
  const SubgroupView* const subgroup = target.subgroup(id);
  return {{"subgroup", subgroup == nullptr ? Json() : Json(subgroup->name)}, {"id", id}};
}

Json document_of(const LogTarget& target, Json fields) {
  fields["node"] = target.node;
  fields["directory"] = target.directory;
  return versioned(format_version, std::move(fields));
}

Json checkpoint_json(const store::Checkpoint& checkpoint) {
  return {{"log_version", checkpoint.version}, {"bytes", checkpoint.bytes}, {"link", checkpoint.link.to_string()}};
}

std::string checkpoint_text(const std::optional<store::Checkpoint>& checkpoint) {
  if (!checkpoint) return "-";
  return fmt::format("{}: {} {}", checkpoint->version, checkpoint->bytes, checkpoint->bytes == 1 ? "byte" : "bytes");
}

void print_logs_json(const LogTarget& target, const JournaledLogs& logs) {
  Json list = Json::array();
  for (const auto& [id, log] : logs) {
    Json each = log_json(target, id);
    const bool empty = log.end.version == store::LogVersion(0);
    each.update({{"first", log.first},
                 {"end", log.end.version.value()},
                 {"view", empty ? Json() : Json(log.end.view)},
                 {"sequence", empty ? Json() : Json(log.end.sequence)},
                 {"first_time", moment_json(log.first_time)},
                 {"last_time", moment_json(log.last_time)},
                 {"bytes", log.bytes},
                 {"link", log.end.link.to_string()},
                 {"checkpoint", log.checkpoint ? checkpoint_json(*log.checkpoint) : Json()},
                 {"lost", json_of(log.lost)}});
    list.push_back(std::move(each));
  }
  print_document(document_of(target, {{"logs", std::move(list)}}));
}

// ---- verify

std::string_view word_of(store::Damage::Kind kind) {
  switch (kind) {
    case store::Damage::Kind::entries: return "entries";
    case store::Damage::Kind::segment: return "segment";
    case store::Damage::Kind::head: return "head";
    case store::Damage::Kind::mark: return "mark";
    case store::Damage::Kind::padding: return "padding";
  }
  return "unknown";
}

bool says_which(const store::Damage& damage) { return store::loses_entries(damage.kind) && damage.first != damage.end; }

std::string damage_text(const store::Damage& damage) {
  const std::string what = fmt::format("damaged: {}: {}", damage.place, to_string(damage.kind));
  if (damage.kind == store::Damage::Kind::mark) return what + ": up to which entry they vouched for all is not known";
  if (!store::loses_entries(damage.kind)) return what + ": no entry is lost by that";
  if (!says_which(damage)) return fmt::format("{}: from entry {} on, nobody knows how many", what, damage.first);
  const std::uint64_t last = damage.end.value() - 1;
  return damage.first.value() == last ? fmt::format("{}: entry {}", what, last)
                                      : fmt::format("{}: entries {} to {}", what, damage.first, last);
}

Json damage_json(const store::Damage& damage) {
  const bool loses = store::loses_entries(damage.kind);
  return {{"kind", word_of(damage.kind)},
          {"place", damage.place},
          {"message", to_string(damage.kind)},
          {"loses_entries", loses},
          {"first", loses ? Json(damage.first) : Json()},
          {"end", says_which(damage) ? Json(damage.end) : Json()}};
}

std::uint64_t entries_of(const store::JournalFindings& findings) {
  std::uint64_t entries = 0;
  for (const store::FoundSegment& segment : findings.segments) entries += segment.end.value() - segment.head.first.value();
  for (const store::Damage& damage : findings.damages) {
    if (damage.kind == store::Damage::Kind::entries) entries -= damage.end.value() - damage.first.value();
  }
  return entries;
}

/// The name of a log: that under which it is signed, where no layout is at hand.
std::string log_name(const LogTarget& target, const Examined& examined, SubgroupId id) {
  if (target.subgroup(id) != nullptr) return name_of(target, id);
  if (examined.proof && examined.proof->logs.contains(id)) return name_of(id, examined.proof->logs.at(id));
  return place_in_layout(id);
}

std::string torn_place(const LogTarget& target, const store::FoundSegment& segment) {
  return fmt::format("{}/{}:{}", target.directory, store::segment_name(segment.head.seal.number), segment.used);
}

const std::vector<VersionRange>& lost_of(const JournaledLogs& logs, SubgroupId id) {
  static const std::vector<VersionRange> none;
  return logs.contains(id) ? logs.at(id).lost : none;
}

Json refusal_json(const JournalRefusal& refusal) {
  const bool reserve = refusal.part == JournalRefusal::Part::reserve;
  return {{"kind", reserve ? "reserve" : "checkpoint"},
          {"place", refusal.why.place()},
          {"message", refusal.why.message()},
          {"loses_entries", false},
          {"first", Json()},
          {"end", Json()}};
}

std::string counted(std::uint64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

void print_findings_json(const LogTarget& target, const Examined& examined) {
  const store::JournalFindings& findings = examined.findings;
  Json damages = Json::array();
  for (const store::Damage& damage : findings.damages) damages.push_back(damage_json(damage));
  for (const JournalRefusal& refusal : examined.refusals) damages.push_back(refusal_json(refusal));
  Json torn = Json::array();
  for (const store::FoundSegment& segment : findings.segments) {
    if (segment.torn != 0) torn.push_back({{"place", torn_place(target, segment)}, {"bytes", segment.torn}});
  }
  Json ends = Json::array();
  for (const store::LogEnd& end : findings.ends.all()) {
    if (end.subgroup == store::no_subgroup) continue;
    Json each = log_json(target, end.subgroup);
    const Json lost = json_of(lost_of(examined.logs, end.subgroup));
    each.update({{"end", end.version.value()}, {"link", end.link.to_string()}, {"lost", lost}});
    ends.push_back(std::move(each));
  }
  print_document(document_of(target, {{"ok", examined.whole()},
                                      {"segments", findings.segments.size()},
                                      {"entries", entries_of(findings)},
                                      {"damages", std::move(damages)},
                                      {"torn", std::move(torn)},
                                      {"leftovers", findings.leftovers},
                                      {"foreign", findings.foreign},
                                      {"proof", examined.proof ? proof_json(*examined.proof) : Json()},
                                      {"logs", std::move(ends)}}));
}

std::string verdict(const Examined& examined) {
  if (examined.findings.loss() != nullptr)
    return "entries that were durable are lost: see whether other nodes have them (spindrift log repair)";
  if (!examined.refusals.empty()) return "no entry is lost, but the node cannot go on with this journal";
  return examined.findings.damages.empty() ? "nothing is damaged" : "no entry is lost";
}

}  // namespace

const SubgroupView* LogTarget::subgroup(SubgroupId id) const {
  const auto all = layout.of_layout();
  const auto recorded = names.find(id);
  if (recorded == names.end()) return id.value() < all.size() ? &all[id.value()] : nullptr;
  const auto at = std::ranges::find_if(all, [&](const auto& each) { return views::name_digest(each) == recorded->second; });
  return at == all.end() ? nullptr : &*at;
}

std::string name_of(const LogTarget& target, SubgroupId id) {
  const SubgroupView* const subgroup = target.subgroup(id);
  return subgroup == nullptr ? fmt::format("place {}", id) : subgroup->name;
}

std::string lost_text(const std::vector<VersionRange>& lost) {
  std::string text;
  for (const VersionRange& range : lost) text += (text.empty() ? "" : ", ") + versions_text(range.first, range.end);
  return "messages " + text;
}

void print_logs(const LogTarget& target, const JournaledLogs& logs, bool json) {
  if (json) return print_logs_json(target, logs);
  if (logs.empty()) fmt::print("node {} keeps no log yet\n", target.node);
  if (logs.empty()) return;
  using Align = TextTable::Align;
  TextTable table({Align::left, Align::left, Align::left, Align::left, Align::left, Align::right, Align::left,
                   Align::left});
  table.add({"subgroup", "versions", "last", "first time", "last time", "bytes", "checkpoint", "link"});
  for (const auto& [id, log] : logs) {
    const bool empty = log.end.version == store::LogVersion(0);
    table.add({harmless(name_of(target, id)), versions_text(log.first, log.end.version.value()),
               empty ? "-" : fmt::format("[{}.{}]", log.end.view, log.end.sequence),
               log.first_time == 0 ? "-" : moment(log.first_time), log.last_time == 0 ? "-" : moment(log.last_time),
               std::to_string(log.bytes), checkpoint_text(log.checkpoint), log.end.link.to_string()});
  }
  table.print();
}

std::string message_line(const store::Entry& message, bool json) {
  const std::string_view text(reinterpret_cast<const char*>(message.payload.data()), message.payload.size());
  const store::EntryHead& head = message.head;
  if (!json) {
    return fmt::format("{} {} [{}.{}] {}: {}\n", message.version, moment(head.time), head.view, head.sequence, head.sender,
                       escaped(text));
  }
  const bool readable = is_utf8(text);
  return one_line_of(versioned(format_version, {{"log_version", message.version},
                                                {"time", moment(head.time)},
                                                {"view", head.view},
                                                {"sequence", head.sequence},
                                                {"node", head.sender},
                                                {"bytes", text.size()},
                                                {"text", readable ? Json(text) : Json()},
                                                {"base64", readable ? Json() : Json(base64(message.payload))}})) +
         "\n";
}

void print_findings(const LogTarget& target, const Examined& examined, bool json) {
  if (json) return print_findings_json(target, examined);
  const store::JournalFindings& findings = examined.findings;
  fmt::print("node {}: {} and {} in {}\n", target.node, counted(findings.segments.size(), "segment", "segments"),
             counted(entries_of(findings), "entry", "entries"), harmless(target.directory));
  for (const store::LogEnd& end : findings.ends.all()) {
    if (end.subgroup == store::no_subgroup) continue;
    const std::string name = harmless(log_name(target, examined, end.subgroup));
    fmt::print("log of {}: ends at version {} with link {}\n", name, end.version, end.link.to_string());
    if (const auto& lost = lost_of(examined.logs, end.subgroup); !lost.empty())
      fmt::print("log of {}: {} cannot be read\n", name, lost_text(lost));
  }
  for (const store::FoundSegment& segment : findings.segments) {
    if (segment.torn != 0)
      fmt::print("torn: {}: a write that was under way when its process ended; it was never reported durable\n",
                 harmless(torn_place(target, segment)));
  }
  for (const std::string& name : findings.leftovers) fmt::print("counts for nothing: {}\n", harmless(name));
  for (const std::string& name : findings.foreign) fmt::print("is not of the journal: {}\n", harmless(name));
  for (const store::Damage& damage : findings.damages) fmt::print("{}\n", harmless(damage_text(damage)));
  for (const JournalRefusal& refusal : examined.refusals)
    fmt::print("damaged: {}\n", harmless(refusal.why.to_string()));
  fmt::print("{}\n", verdict(examined));
  if (examined.proof) print_proof(*examined.proof);
}

}  // namespace spindrift::tools
