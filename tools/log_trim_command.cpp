// The member itself trims: it alone knows which messages all members have on their disks.
#include "log_trim_command.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <spindrift/core/ids_text.hpp>
#include <spindrift/group/roster_service.hpp>

#include "confirmation.hpp"
#include "exit_code.hpp"
#include "group_option.hpp"
#include "json_output.hpp"
#include "log_part.hpp"
#include "log_target.hpp"
#include "number_option.hpp"
#include "options.hpp"

namespace spindrift::tools {
namespace {

constexpr int trim_json_version = 1;

struct LogTrimOptions : CommandOptions {
  LogPart part;  ///< what goes
  std::uint32_t timeout_ms = 10'000;
  bool yes = false;
};

/// Messages that go, unless whoever is asked does not want that.
struct Trimmed {
  NodeId node;
  VersionRange messages;
  bool wanted = true;
};

/// All of the part is read where it ends at a time.
Trimmed find(const LogTrimOptions& options) {
  LogTarget target = log_target_of(options);
  const NodeId node = target.node;
  LogMessages messages(std::move(target), options.part);
  messages.find();
  const LogBound before = value_or_throw(parse_bound(options.part.to));
  if (const std::uint64_t end = messages.versions().end; before.kind == LogBound::Kind::version && before.value > end) {
    throw Exception(Error(ErrorKind::bad_argument, fmt::format("the log ends with version {}", end))
                        .at("--before " + options.part.to)
                        .fix(fmt::format("give --before {} or less", end)));
  }
  messages.visit([](const store::Entry&) { return true; });
  messages.require_whole();
  const auto [first, end] = messages.versions();
  return {node, {first, std::max(first, end)}};
}

bool confirmed(const LogTrimOptions& options, const Trimmed& trimmed) {
  if (options.yes) return true;
  const Error nobody = Error(ErrorKind::bad_argument, "nobody is here to be asked whether messages may be deleted")
                           .fix("give --yes once you know that no program needs them");
  return says_yes(
      fmt::format(
          "Node {} then deletes the messages [{}, {}) of its log of {}. Programs that it starts get the log without them,\n"
          "and so does a node that comes without a log and gets that of this one. No program, here or elsewhere, may make\n"
          "an object of the log, unless the subgroup has a history.\n"
          "Trim?",
          trimmed.node, trimmed.messages.first, trimmed.messages.end, options.part.subgroup),
      nobody);
}

int print(const LogTrimOptions& options, const Trimmed& trimmed) {
  const auto& [first, end] = trimmed.messages;
  const std::string& name = options.part.subgroup;
  if (options.json) {
    print_document(versioned(trim_json_version, {{"node", trimmed.node.value()},
                                                 {"subgroup", name},
                                                 {"first", first},
                                                 {"below", end},
                                                 {"trimmed", trimmed.wanted}}));
  } else if (!trimmed.wanted) {
    fmt::print("nothing was trimmed\n");
  } else if (first == end) {
    fmt::print("node {} has no such messages of {}: its log begins at version {}\n", trimmed.node, name, first);
  } else {
    fmt::print("node {} trims the messages [{}, {}) of {}: segments of its journal go when no log needs any of them\n",
               trimmed.node, first, end, name);
  }
  return number(trimmed.wanted ? ExitCode::success : ExitCode::interrupted);
}

int run_trim(const LogTrimOptions& options) {
  Trimmed trimmed = find(options);
  const auto& [first, end] = trimmed.messages;
  trimmed.wanted = first == end || confirmed(options, trimmed);
  if (first == end || !trimmed.wanted) return print(options, trimmed);
  group::RosterCall call;
  call.patience = std::chrono::milliseconds(options.timeout_ms);
  call.trim = group::LogTrim{options.part.subgroup, end};
  const GuardedDirectory directory = opened(place_of(load_config(options)));
  auto told = group::change_roster_through(directory, trimmed.node, call);
  if (!told && told.error().kind() == ErrorKind::member_lost) {
    throw Exception(std::move(told).error().fix(
        "start it, and trim then: it alone knows which messages all members have on their disks"));
  }
  if (!told && told.error().kind() == ErrorKind::timed_out) {
    throw Exception(std::move(told).error().fix(
        "let it go on (kill -CONT), or say it again when it has answered others, with a longer --timeout"));
  }
  if (!told) throw Exception(std::move(told).error());
  return print(options, trimmed);
}

}  // namespace

void add_trim_command(CLI::App& log, Work& chosen) {
  auto options = std::make_shared<LogTrimOptions>();
  CLI::App* const command =
      add_command(log, chosen,
                  {"trim", "Have a member that runs here delete the first messages of a log, for room on its disk"}, options,
                  run_trim);
  add_member_options(*command, *options);
  command->add_option("subgroup,--subgroup", options->part.subgroup, "The subgroup whose log it is")
      ->type_name("NAME")
      ->required();
  add_log_bound_option(*command, "--before", options->part.to,
                       "Delete the messages before the one of that version, or before those of that time")
      ->required();
  command->add_option("--timeout", options->timeout_ms, "Wait so many milliseconds for the member")
      ->check(number_from(1U, 600'000U))
      ->type_name("MS")
      ->capture_default_str();
  command->add_flag("--yes", options->yes, "Do not ask");
  add_json_option(*command, *options);
}

}  // namespace spindrift::tools
