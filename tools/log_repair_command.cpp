// Nothing is asked: what is replaced is kept, under a name that is said.
#include "log_repair_command.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <spindrift/core/ids_text.hpp>
#include <spindrift/store/repair_directory.hpp>

#include "escaped.hpp"
#include "exit_code.hpp"
#include "journal_reading.hpp"
#include "json_output.hpp"
#include "log_output.hpp"
#include "log_proofs.hpp"
#include "log_target.hpp"
#include "options.hpp"

namespace spindrift::tools {
namespace {

using Json = nlohmann::json;
using store::RepairPlan;

constexpr int repair_json_version = 1;

struct LogRepairOptions : CommandOptions {
  std::vector<std::string> from;  ///< directories
  bool write = false;
};

/// Messages of a log that another journal has behind the end of this one's.
struct MessagesAhead {
  std::string directory;
  SubgroupId subgroup;
  VersionRange versions;
};

/// The outcome, as it is told.
struct RepairOutcome {
  const LogTarget& target;
  const RepairPlan& plan;
  std::vector<MessagesAhead> ahead{};
  std::optional<std::string> kept{};  ///< the damaged journal's path; nothing: it was not repaired
};

std::vector<std::string> directories_of(const LogRepairOptions& options, const LogTarget& target) {
  std::vector<std::string> all;
  for (const std::string& each : options.from) {
    std::error_code unknown;
    if (std::filesystem::equivalent(each, target.directory, unknown)) {
      throw Exception(Error(ErrorKind::bad_argument, "it is the journal that is to be repaired")
                          .at("--from " + each)
                          .fix("name the journal of another node, or a copy of one"));
    }
    all.push_back(std::filesystem::absolute(each).lexically_normal().string());
    while (all.back().size() > 1 && all.back().ends_with('/')) all.back().pop_back();
  }
  return all;
}

/// The logs that go on there behind their ends here, if they are the same ones as far as they are here.
void note_ahead(const LogTarget& target, JournalReading& other, const std::string& directory, RepairOutcome& outcome) {
  const LogNames names = other.names();
  for (const auto& [id, log] : other.logs()) {
    const auto own = target.names.find(id);
    const auto its = names.find(id);
    if (own == target.names.end() || its == names.end() || own->second != its->second) continue;
    const std::uint64_t end = outcome.plan.findings.ends.of(id).version.value();
    if (log.end.version.value() > end) outcome.ahead.push_back({directory, id, {end, log.end.version.value()}});
  }
}

/// A link tells logs by the places of their subgroups, and these may be another subgroup's after a change of the layout.
void require_same_names(const LogTarget& target, const RepairPlan& plan, JournalReading& reading,
                        const std::string& directory) {
  const LogNames names = reading.names();
  for (const store::DamagedPlace& place : plan.places) {
    for (const store::LackingMessages& each : place.messages) {
      const auto own = target.names.find(each.subgroup);
      const auto its = names.find(each.subgroup);
      if (own == target.names.end() || its == names.end() || own->second == its->second) continue;
      throw Exception(Error(ErrorKind::refused, "its log at place " + std::to_string(each.subgroup.value()) +
                                                    " of the layout is of a subgroup of another name")
                          .at(directory)
                          .fix("name a journal of a node that ran with the same layout"));
    }
  }
}

// ---- signed logs

Error not_as_signed(const LogTarget& target, SubgroupId id, const group::ProofProblem& problem) {
  const std::string why =
      fmt::format("messages [{}, {}) of the log of {} are not those that this node has signed; nothing was replaced",
                  problem.since, problem.version, name_of(target, id));
  return Error(ErrorKind::refused, why)
      .at(target.directory)
      .fix("name another journal, and keep both, for somebody may have changed one");
}

/// Signatures that the journal has itself are over a SHA-256 chain of all messages, which no accident fits, nor anybody.
void require_signed(const LogTarget& target, const std::string& repaired, const std::string& group) {
  JournalReading reading({repaired, target.owner});
  reading.examine(1);
  const JournaledLogs logs = reading.logs();
  group::SignatureCollector signatures([](const group::LogSignature& each) {
    group::SignatureMark mark;
    mark.chain = each.chain;
    return mark;
  });
  const auto take = [&](const store::Entry& entry) {
    signatures.take(entry);
    return true;
  };
  reading.visit_all(take);
  for (const auto& [id, marks] : signatures.logs()) {
    const auto log = logs.find(id);
    if (log == logs.end()) continue;
    group::ChainWalk walk({group, marks.name}, marks);
    reading.visit(log->second, {log->second.first, log->second.end.version.value()}, [&](const store::Entry& message) {
      walk.take(message);
      return true;
    });
    for (const group::ProofProblem& problem : walk.finish(log->second.end.version).problems) {
      if (problem.kind != group::ProofProblem::Kind::altered) continue;
      throw Exception(not_as_signed(target, id, problem));
    }
  }
}

// ---- what is said

std::string range_text(store::JournalPosition first, store::JournalPosition end) {
  const std::uint64_t last = end.value() - 1;
  return first.value() == last ? fmt::format("entry {}", last) : fmt::format("entries {} to {}", first, last);
}

std::string own_text(const store::DamagedPlace& place) {
  const std::string what = fmt::format("{} that this node alone had (records of views, signatures, pieces of checkpoints)",
                                       place.own);
  if (!place.superseded_by) return what + ": not superseded";
  return fmt::format("{}: superseded by the record of views at entry {}", what, *place.superseded_by);
}

void print_place(const LogTarget& target, const store::DamagedPlace& place) {
  fmt::print("damaged: {}: {}\n", harmless(place.place), range_text(place.first, place.end));
  for (const store::LackingMessages& each : place.messages) {
    fmt::print("  log of {}: messages [{}, {}): {}\n", harmless(name_of(target, each.subgroup)), each.first, each.end,
               each.from.empty() ? "not all of them are elsewhere" : "found");
  }
  if (place.own != 0) fmt::print("  {}\n", own_text(place));
}

/// A start mends that, and no repair: whether the node had them, too, its journal does not say.
void print_ahead(const RepairOutcome& outcome) {
  for (const MessagesAhead& each : outcome.ahead) {
    fmt::print(
        "{} has messages [{}, {}) of the log of {}, behind the end of this one: the node is given them when it "
        "starts beside that one\n",
        harmless(each.directory), each.versions.first, each.versions.end, harmless(name_of(outcome.target, each.subgroup)));
  }
}

void print_text(const RepairOutcome& outcome) {
  const RepairPlan& plan = outcome.plan;
  for (const store::DamagedPlace& place : plan.places) print_place(outcome.target, place);
  for (const Error& each : plan.refusals) fmt::print("refused: {}\n", harmless(each.to_string()));
  if (outcome.kept) {
    fmt::print("repaired: {}; the damaged journal is kept in {}\n", harmless(outcome.target.directory),
               harmless(*outcome.kept));
  } else if (!plan.needed()) {
    fmt::print("no entry is lost: there is nothing to repair\n");
  } else {
    fmt::print("{}\n", plan.possible() ? "all of it can be repaired: say it again with --write" : "nothing was repaired");
  }
  print_ahead(outcome);
}

Json place_json(const LogTarget& target, const store::DamagedPlace& place) {
  Json messages = Json::array();
  for (const store::LackingMessages& each : place.messages) {
    const SubgroupView* const subgroup = target.subgroup(each.subgroup);
    messages.push_back({{"subgroup", subgroup == nullptr ? Json() : Json(subgroup->name)},
                        {"id", each.subgroup},
                        {"first", each.first.value()},
                        {"end", each.end.value()},
                        {"found", !each.from.empty()}});
  }
  return {{"place", place.place},
          {"first", place.first.value()},
          {"end", place.end.value()},
          {"messages", std::move(messages)},
          {"own", place.own},
          {"superseded_by", place.superseded_by ? Json(place.superseded_by->value()) : Json()}};
}

Json ahead_json(const RepairOutcome& outcome) {
  Json ahead = Json::array();
  for (const MessagesAhead& each : outcome.ahead) {
    const SubgroupView* const subgroup = outcome.target.subgroup(each.subgroup);
    ahead.push_back({{"directory", each.directory},
                     {"subgroup", subgroup == nullptr ? Json() : Json(subgroup->name)},
                     {"id", each.subgroup},
                     {"first", each.versions.first},
                     {"end", each.versions.end}});
  }
  return ahead;
}

void print_json(const RepairOutcome& outcome) {
  const RepairPlan& plan = outcome.plan;
  Json places = Json::array();
  for (const store::DamagedPlace& place : plan.places) places.push_back(place_json(outcome.target, place));
  print_document(versioned(repair_json_version, {{"node", outcome.target.node},
                                                 {"directory", outcome.target.directory},
                                                 {"needed", plan.needed()},
                                                 {"possible", plan.possible()},
                                                 {"places", std::move(places)},
                                                 {"refusals", json_of(plan.refusals)},
                                                 {"ahead", ahead_json(outcome)},
                                                 {"kept", outcome.kept ? Json(*outcome.kept) : Json()}}));
}

int run_repair(const LogRepairOptions& options) {
  LogTarget target = log_target_of(options);
  const std::string group = load_config(options).group_name();
  const std::vector<std::string> from = directories_of(options, target);
  JournalReading own({target.directory, target.owner});
  auto repair = value_or_throw(store::DirectoryRepair::open(target.directory, *target.owner, from));
  if (own.examine(1).segments.empty() && repair.plan().findings.damages.empty()) {
    throw Exception(Error(ErrorKind::resource, "there is no journal in it")
                        .at(target.directory)
                        .fix("start the node: it makes its journal, and others give it what they have"));
  }
  target.names = own.names();
  RepairOutcome outcome{target, repair.plan()};
  for (const std::string& each : from) {
    JournalReading other({each});
    other.examine(2);
    require_same_names(target, repair.plan(), other, each);
    note_ahead(target, other, each, outcome);
    other.finish();
  }
  if (options.write && repair.plan().possible()) {
    outcome.kept = value_or_throw(repair.run(group::drawn_journal_name(), [&](store::RepairStep step) {
      if (step == store::RepairStep::written) require_signed(target, repair.fresh_directory(), group);
    }));
  }
  options.json ? print_json(outcome) : print_text(outcome);
  const auto& refusals = repair.plan().refusals;
  return number(refusals.empty() ? ExitCode::success : exit_code_of(refusals.front().kind()));
}

}  // namespace

void add_repair_command(CLI::App& log, Work& chosen) {
  auto options = std::make_shared<LogRepairOptions>();
  CLI::App* const command = add_command(
      log, chosen, {"repair", "Take what is damaged in a journal from those of other nodes, while its node does not run"},
      options, run_repair);
  add_member_options(*command, *options);
  command->add_option("--from", options->from, "Directories of journals of other nodes of the group, or copies of them")
      ->type_name("DIRECTORY")
      ->check(CLI::ExistingDirectory)
      ->required();
  command->add_flag("--write", options->write, "Do it; otherwise only say what is lacking, and who has it");
  add_json_option(*command, *options);
}

}  // namespace spindrift::tools
