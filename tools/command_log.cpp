// `spindrift log`: what a node of this host has in its journal, and whether that is whole.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <spindrift/core/config/contacts.hpp>
#include <spindrift/core/ids_text.hpp>

#include "commands.hpp"
#include "exit_code.hpp"
#include "log_output.hpp"
#include "number_option.hpp"
#include "options.hpp"
#include "output.hpp"

namespace spindrift::tools {
namespace {

struct LogOptions : CommandOptions {
  std::string subgroup;
  std::optional<std::uint64_t> from;
  std::optional<std::uint64_t> to;
};

[[noreturn]] void refuse(std::string place, std::string message, std::string fix) {
  throw Exception(Error(ErrorKind::bad_argument, std::move(message)).at(std::move(place)).fix(std::move(fix)));
}

group::JournalPlace place_of(const Config& config) {
  if (auto place = group::journal_place(config)) return *std::move(place);
  throw Exception(Error(ErrorKind::bad_config, "[PERS] file_path is empty: no node of this group keeps a journal")
                      .at(config.name())
                      .fix("name the directory of the members' journals there, or by --set PERS/file_path=DIRECTORY"));
}

/// The nodes that have one on this host, ascending.
std::vector<NodeId> nodes_in(const group::JournalPlace& place) {
  std::vector<NodeId> nodes;
  std::error_code failure;
  std::filesystem::directory_iterator at(place.of_group(), failure);
  for (; !failure && at != std::filesystem::directory_iterator(); at.increment(failure)) {
    const std::string name = at->path().filename();
    std::uint32_t node = 0;
    const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), node);
    if (bad == std::errc() && end == name.data() + name.size()) nodes.emplace_back(node);
  }
  if (failure && failure != std::errc::no_such_file_or_directory) {
    throw Exception(system_error("open", failure.value())
                        .at(place.of_group())
                        .fix("run the command as the user of the node, or as root"));
  }
  std::ranges::sort(nodes);
  return nodes;
}

NodeId node_of(const Config& config, const group::JournalPlace& place) {
  const std::vector<NodeId> nodes = nodes_in(place);
  const bool said = has_local_id(config);
  if (!said && nodes.size() == 1) return nodes.front();
  if (!said && nodes.size() > 1)
    refuse(place.of_group(), "several nodes have a journal here", "give --id one of: " + listed(nodes));
  const NodeId node = config.local_id();
  if (std::ranges::find(nodes, node) != nodes.end()) return node;
  throw Exception(Error(ErrorKind::resource, fmt::format("node {} has no journal here", node))
                      .at(place.of(node))
                      .fix(nodes.empty() ? "run the command on the node's host; a node makes its journal when it starts"
                                         : "give --id one of: " + listed(nodes)));
}

LogTarget target_of(const LogOptions& options) {
  const Config config = load_config_with_warnings(options);
  group::JournalPlace place = place_of(config);
  View layout = value_or_throw(config.view());
  return {std::move(layout), place, node_of(config, place)};
}

/// The subgroup whose log is to be printed.
SubgroupId subgroup_of(const LogOptions& options, const View& layout) {
  std::vector<std::string_view> logged;
  for (const SubgroupView& each : layout.of_layout()) {
    if (each.storage == SubgroupStorage::logged) logged.push_back(each.name);
  }
  const std::string some = logged.empty() ? "no subgroup of the layout is" : "use one of: " + listed(logged);
  const SubgroupView* const found = layout.in_layout(options.subgroup);
  if (found == nullptr) {
    refuse("--subgroup " + options.subgroup, options.config + " has no subgroup of that name",
           logged.empty() ? "give a subgroup \"storage\": \"logged\" in the layout of all members" : some);
  }
  if (found->storage != SubgroupStorage::logged) {
    refuse("--subgroup " + options.subgroup, "the subgroup is not logged",
           "give it \"storage\": \"logged\" in the layout of all members" + (logged.empty() ? "" : "; or " + some));
  }
  return SubgroupId(static_cast<std::uint32_t>(found - layout.subgroups.data()));
}

int run_ls(const LogOptions& options) {
  const LogTarget target = target_of(options);
  JournalReading reading(target.place, target.node);
  const store::JournalFindings& findings = reading.examine(2);
  print_logs(target, reading.logs(), options.json);
  if (const store::Damage* const damage = findings.loss()) {
    value_or_throw(flush_output());
    throw Exception(Error(ErrorKind::bad_input, std::string(to_string(damage->kind)))
                        .at(damage->place)
                        .fix("see what else is damaged: spindrift log verify"));
  }
  return number(ExitCode::success);
}

bool has_versions(const LogOptions& options, const JournaledLog& log) {
  const std::uint64_t from = options.from.value_or(log.first);
  return from >= log.first && from <= log.end.version.value();
}

/// The versions that are asked for, and there.
VersionRange versions_of(const LogOptions& options, const JournaledLog& log) {
  const std::uint64_t end = log.end.version.value();
  const std::uint64_t from = options.from.value_or(log.first);
  const std::string place = fmt::format("--from {}", from);
  const std::string there = fmt::format("the log has versions [{}, {})", log.first, end);
  if (options.to && from > *options.to)
    refuse(place, fmt::format("it is more than --to {}", *options.to), "give a --to that is no less");
  if (from > end) refuse(place, "the log ends before that: " + there, fmt::format("give --from {} or less", end));
  if (from < log.first)
    refuse(place, "the log begins behind that: " + there, fmt::format("give --from {} or more", log.first));
  return {from, std::min(options.to.value_or(end), end)};
}

void require_read(const LogOptions& options, const LogTarget& target, const JournaledLog& log, VersionRange versions) {
  std::vector<VersionRange> lost;
  for (const VersionRange& range : log.lost) {
    const VersionRange common{std::max(range.first, versions.first), std::min(range.end, versions.end)};
    if (common.first < common.end) lost.push_back(common);
  }
  if (lost.empty()) return;
  const std::string what = fmt::format("{} of the log of {} cannot be read", lost_text(lost), options.subgroup);
  throw Exception(Error(ErrorKind::bad_input, what)
                      .at(target.directory())
                      .fix("see what is damaged: spindrift log verify; other members of the subgroup have these messages"));
}

/// A log may have had messages before those that are found, behind them, or another beginning, where entries are lost of
/// which nobody knows the subgroup.
void require_all(const LogOptions& options, const store::JournalFindings& findings) {
  const store::Damage* const damage = findings.loss();
  if (damage == nullptr) return;
  const std::string what = fmt::format("{}: the log of {} may have had messages there", to_string(damage->kind),
                                       options.subgroup);
  throw Exception(Error(ErrorKind::bad_input, what)
                      .at(damage->place)
                      .fix("see what else is damaged: spindrift log verify; other members of it have all its messages"));
}

int run_dump(const LogOptions& options) {
  const LogTarget target = target_of(options);
  const SubgroupId id = subgroup_of(options, target.layout);
  JournalReading reading(target.place, target.node);
  const store::JournalFindings& findings = reading.examine(2);
  JournaledLogs logs = reading.logs();
  JournaledLog& log = logs[id];
  log.end.subgroup = id;
  if (!has_versions(options, log)) require_all(options, findings);
  const VersionRange versions = versions_of(options, log);
  int refused = 0;
  reading.visit(log, versions, [&](const store::Entry& message) {
    const std::string line = message_line(message, options.json);
    errno = 0;
    const bool written = std::fwrite(line.data(), 1, line.size(), stdout) == line.size();
    if (!written) refused = errno;
    return written;
  });
  if (refused != 0) throw Exception(output_error(refused));
  value_or_throw(flush_output());
  require_read(options, target, log, versions);
  require_all(options, findings);
  return number(ExitCode::success);
}

int run_verify(const LogOptions& options) {
  const LogTarget target = target_of(options);
  JournalReading reading(target.place, target.node);
  const store::JournalFindings& findings = reading.examine(1);
  const bool lost = findings.loss() != nullptr;
  print_findings(target, findings, lost ? std::optional(reading.logs()) : std::nullopt, options.json);
  return number(lost ? exit_code_of(ErrorKind::bad_input) : ExitCode::success);
}

constexpr const char* footer =
    R"(Subgroups with "storage": "logged" are kept in the journal of each member, in [PERS] file_path. These commands read
that of a node of this host, which may run meanwhile, and change nothing. They are for the node's user, and for root, who
reads as that user. Without --id and local_id the node is the only one that has a journal here.

All of the journal is read, so that damage is noticed. A log that began anew is listed from there on.

Examples:
  spindrift log ls --config derecho.cfg --id 1
  spindrift log dump orders --config derecho.cfg --id 1 --from 1200 --to 1300
  spindrift log verify --config derecho.cfg --id 1)";

void add_dump_options(CLI::App& command, LogOptions& options) {
  const auto version = [&](const char* name, std::optional<std::uint64_t>& value, const char* description) {
    command.add_option(name, value, description)
        ->type_name("VERSION")
        ->check(number_from(std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max()));
  };
  command.add_option("subgroup,--subgroup", options.subgroup, "The subgroup whose messages to print")
      ->type_name("NAME")
      ->required();
  version("--from", options.from, "Begin with the message of that version; by default the first that is there");
  version("--to", options.to, "End before the message of that version; by default behind the last");
}

}  // namespace

void add_log_command(CLI::App& app, Work& chosen) {
  auto options = std::make_shared<LogOptions>();
  CLI::App* const log = app.add_subcommand("log", "Show what a node of this host keeps of logged subgroups, and check it");
  log->require_subcommand(1);
  log->footer(std::string(footer) + "\n\n" + exit_codes_text());
  const auto add = [&](const char* name, const char* description, int (*run)(const LogOptions&)) {
    CLI::App* const command = add_command(*log, chosen, {name, description}, options, run);
    add_member_options(*command, *options);
    return command;
  };
  add_json_option(*add("ls", "List the logs: versions, last message, times, bytes, link", run_ls), *options);
  CLI::App* const dump = add("dump", "Print the messages of a log: \"version time [view.sequence] node: text\"", run_dump);
  add_dump_options(*dump, *options);
  add_json_option(*dump, *options, "Print one JSON object per message; bytes that are no UTF-8 in base64");
  add_json_option(*add("verify", "Read every byte, and say what is damaged; code 1 if durable entries are lost", run_verify),
                  *options);
}

}  // namespace spindrift::tools
