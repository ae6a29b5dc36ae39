// Versions bound a part of a log before it is read; times do so as its messages come.
#include "log_part.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <spindrift/core/ids_text.hpp>
#include <spindrift/core/line_writer.hpp>
#include <spindrift/views/view_record.hpp>

#include "moment.hpp"

namespace spindrift::tools {
namespace {

[[noreturn]] void refuse(std::string place, std::string message, std::string fix) {
  throw Exception(Error(ErrorKind::bad_argument, std::move(message)).at(std::move(place)).fix(std::move(fix)));
}

std::string wrong_bound(const std::string& text) {
  const auto bound = parse_bound(text);
  return bound ? std::string() : bound.error().message();
}

std::optional<LogBound> bound_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return value_or_throw(parse_bound(text));
}

/// The place of the log that is recorded of a subgroup of that name, whatever the layout says now.
std::optional<SubgroupId> recorded_place(const LogNames& names, const std::string& name) {
  SubgroupView named;
  named.name = name;
  const auto at = std::ranges::find(names, views::name_digest(named), &LogNames::value_type::second);
  return at == names.end() ? std::nullopt : std::optional(at->first);
}

/// A log that lies where the layout has that subgroup is its own, unless another one's is recorded there.
void require_own(const LogTarget& target, const std::string& name, SubgroupId id) {
  if (!target.names.contains(id)) return;
  const SubgroupView* const owner = target.subgroup(id);
  const std::string whose = owner == nullptr ? "a subgroup that the layout does not have" : owner->name;
  const std::string what = fmt::format("the log of node {} at its place of the layout, {} counted from 0, is that of {}",
                                       target.node, id, whose);
  refuse("--subgroup " + name, what,
         "the layout has changed since the node ran: give the name that the subgroup had then" +
             (owner == nullptr ? std::string() : ", --subgroup " + whose));
}

/// The subgroup whose log is meant.
SubgroupId subgroup_of(const std::string& name, const LogTarget& target) {
  if (const auto place = recorded_place(target.names, name)) return *place;
  const View& layout = target.layout;
  std::vector<std::string_view> logged;
  for (const SubgroupView& each : layout.of_layout()) {
    if (each.storage == SubgroupStorage::logged) logged.push_back(each.name);
  }
  const std::string some = logged.empty() ? "no subgroup of the layout is" : "use one of: " + listed(logged);
  const SubgroupView* const found = layout.in_layout(name);
  if (found == nullptr) {
    refuse("--subgroup " + name, target.config + " has no subgroup of that name",
           logged.empty() ? "give a subgroup \"storage\": \"logged\" in the layout of all members" : some);
  }
  if (found->storage != SubgroupStorage::logged) {
    refuse("--subgroup " + name, "the subgroup is not logged",
           "give it \"storage\": \"logged\" in the layout of all members" + (logged.empty() ? "" : "; or " + some));
  }
  const SubgroupId id(static_cast<std::uint32_t>(found - layout.subgroups.data()));
  require_own(target, name, id);
  return id;
}

/// The version where the part begins, or ends, as far as the bound says one.
std::uint64_t version_of(const std::optional<LogBound>& bound, std::uint64_t otherwise) {
  return bound && bound->kind == LogBound::Kind::version ? bound->value : otherwise;
}

}  // namespace

Result<LogBound> parse_bound(const std::string& text) {
  LogBound bound;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), bound.value);
  const bool zeros = text.size() > 1 && text.front() == '0';
  if (failure == std::errc() && end == text.data() + text.size() && !zeros) return bound;
  const auto moment = parse_moment(text);
  if (moment) return LogBound{LogBound::Kind::time, *moment};
  const bool is_date = text.find_first_of("-:Tt") != std::string::npos;
  return Error(ErrorKind::bad_argument, fmt::format("{} is no version, a whole number from 0, and no time as "
                                                    "2026-11-28T10:00:00Z{}",
                                                    text, is_date ? ": " + moment.error().message() : ""));
}

CLI::Option* add_log_bound_option(CLI::App& command, const std::string& name, std::string& value,
                                  const std::string& description) {
  return command.add_option(name, value, description)
      ->type_name("VERSION|TIME")
      ->check(CLI::Validator(wrong_bound, "", ""));
}

void add_log_part_options(CLI::App& command, LogPart& part, const std::string& does) {
  command.add_option("subgroup,--subgroup", part.subgroup, "The subgroup whose messages to " + does)
      ->type_name("NAME")
      ->required();
  add_log_bound_option(
      command, "--from", part.from,
      "Begin with the message of that version, or with those of that time; by default the first that is there");
  add_log_bound_option(command, "--to", part.to,
                       "End before the message of that version, or before those of that time; by default behind the last");
}

LogMessages::LogMessages(LogTarget target, const LogPart& part)
    : target_(std::move(target)),
      part_(part),
      from_(bound_of(part.from)),
      to_(bound_of(part.to)),
      reading_({target_.directory, target_.owner}) {
  require_bounds();
}

void LogMessages::find() {
  findings_ = &reading_.examine(2);
  JournaledLogs logs = reading_.logs();
  reading_.finish();
  target_.names = reading_.names();
  const SubgroupId id = subgroup_of(part_.subgroup, target_);
  log_ = logs[id];
  log_.end.subgroup = id;
  require_version();
  tell_of_late_beginning();
  const std::uint64_t end = log_.end.version.value();
  versions_ = {version_of(from_, log_.first), std::min(version_of(to_, end), end)};
}

void LogMessages::require_bounds() const {
  if (!from_ || !to_ || from_->kind != to_->kind || from_->value <= to_->value) return;
  const bool versions = from_->kind == LogBound::Kind::version;
  refuse("--from " + part_.from, (versions ? "it is more than --to " : "it is later than --to ") + part_.to,
         versions ? "give a --to that is no less" : "give a --to that is no earlier");
}

void LogMessages::require_version() const {
  if (!from_ || from_->kind != LogBound::Kind::version) return;
  const std::uint64_t end = log_.end.version.value();
  if (from_->value >= log_.first && from_->value <= end) return;
  if (findings_->loss() != nullptr) require_whole();
  const std::string place = "--from " + part_.from;
  const std::string there = fmt::format("the log has versions [{}, {})", log_.first, end);
  if (from_->value > end) refuse(place, "the log ends before that: " + there, fmt::format("give --from {} or less", end));
  refuse(place, "the log begins behind that: " + there, fmt::format("give --from {} or more", log_.first));
}

// Nobody knows the times of messages that are kept no more.
void LogMessages::tell_of_late_beginning() const {
  const bool by_time = from_ && from_->kind == LogBound::Kind::time;
  if (!by_time || log_.first == 0 || (log_.first_time != 0 && from_->value >= log_.first_time)) return;
  write_to_standard_error(fmt::format("spindrift: the log of {} begins at version {}: what it had before is not kept\n",
                                      part_.subgroup, log_.first));
}

// Times do not go back within a journal: what cannot be read between two messages came between them.
void LogMessages::visit(const store::EntryVisitor& visitor) {
  VersionRange within = versions_;
  reading_.visit(log_, versions_, [&](const store::Entry& message) {
    const std::uint64_t version = message.version.value();
    if (from_ && from_->is_behind(version, message.head.time)) {
      within.first = version + 1;
      return true;
    }
    const bool over = to_ && !to_->is_behind(version, message.head.time);
    if (over) within.end = version;
    return !over && visitor(message);
  });
  versions_ = within;
}

/// A log may have had messages before those that are found, behind them, or another beginning, where entries are lost of
/// which nobody knows the subgroup.
void LogMessages::require_whole() const {
  std::vector<VersionRange> lost;
  for (const VersionRange& range : log_.lost) {
    const VersionRange common{std::max(range.first, versions_.first), std::min(range.end, versions_.end)};
    if (common.first < common.end) lost.push_back(common);
  }
  if (!lost.empty()) {
    const std::string what = fmt::format("{} of the log of {} cannot be read", lost_text(lost), part_.subgroup);
    throw Exception(
        Error(ErrorKind::bad_input, what)
            .at(target_.directory)
            .fix("see what is damaged: spindrift log verify; other members of the subgroup have these messages"));
  }
  const store::Damage* const damage = findings_->loss();
  if (damage == nullptr) return;
  const std::string what =
      fmt::format("{}: the log of {} may have had messages there", to_string(damage->kind), part_.subgroup);
  throw Exception(Error(ErrorKind::bad_input, what)
                      .at(damage->place)
                      .fix("see what else is damaged: spindrift log verify; other members of it have all its messages"));
}

}  // namespace spindrift::tools
