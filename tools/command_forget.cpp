// `spindrift group forget`: the way out where those that the last view needs do not come back. It asks no process, and is
// refused while one of the node runs here.
#include "command_forget.hpp"

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <spindrift/core/ids_text.hpp>
#include <spindrift/group/found_journal.hpp>
#include <spindrift/group/view_journal.hpp>

#include "confirmation.hpp"
#include "exit_code.hpp"
#include "group_option.hpp"
#include "group_report.hpp"
#include "number_option.hpp"

namespace spindrift::tools {
namespace {

struct ForgetOptions : GroupCommandOptions {
  std::uint32_t node = 0;
  bool yes = false;
};

/// The journals' directories, which the configuration names, if there is one.
std::optional<group::JournalPlace> journals(const ForgetOptions& options) {
  if (options.config.empty()) return std::nullopt;
  return group::journal_place(load_config(options));
}

/// Its lines say what the record is of, as far as it can be read; nothing: the node remembers nothing.
std::optional<std::string> content_of(const Result<std::optional<views::ViewRecord>>& record) {
  if (!record) return "a record that cannot be read: " + record.error().to_string();
  if (!*record || (*record)->empty()) return std::nullopt;
  const auto& last = (*record)->last;
  if (!last) return "a founding that it has accepted";
  std::vector<NodeId> members;
  for (const views::Join& each : last->members) members.push_back(each.node);
  if (members.empty()) return fmt::format("that the group has ended with view {}", last->id);
  return fmt::format("view {} of node{} {}", last->id, members.size() == 1 ? "" : "s", listed(members));
}

/// Lines about the others of this host that do not run: where members share memory what they remember counts as well.
std::string others_of(group::ViewFile& file) {
  std::string text;
  for (const views::ViewMemory::Neighbor& each : value_or_throw(file.neighbors())) {
    const auto content = each.lives ? std::nullopt : content_of(std::optional(each.record));
    if (content) text += fmt::format("node {} of this host remembers {}, too\n", each.node, *content);
  }
  return text;
}

/// The logs that go with the record, as far as they can be read; empty: none.
std::string logs_of(const std::optional<group::JournalPlace>& place, NodeId node) {
  const auto journal = place ? group::read_journal(*place, node) : std::optional<group::JournalContent>();
  if (!journal) {
    return "what its journal has of logs, which goes, too; spindrift log dump SUBGROUP prints what can be read of it until "
           "then";
  }
  if (!*journal || !(*journal)->has_logs()) return {};
  std::uint64_t messages = 0;
  std::size_t logs = 0;
  for (const store::LogEnd& end : (*journal)->findings.ends.all()) {
    if (end.subgroup == store::no_subgroup) continue;
    messages += end.version.value();
    ++logs;
  }
  return fmt::format("its logs of {} logged subgroup{}, {} message{}, which go, too; spindrift log dump SUBGROUP prints "
                     "them while they are there",
                     logs, logs == 1 ? "" : "s", messages, messages == 1 ? "" : "s");
}

/// A process need not have a record (founding = present), and one that has says so in words for another process of its node.
void require_absent(const GroupPlace& place, NodeId node) {
  for (const NodeReport& each : value_or_throw(read_group(place.directory)).nodes) {
    if (each.status.node != node || each.status.end || !group::runs(each.status)) continue;
    const std::string why = fmt::format("node {} runs on this host as process {}", node, each.status.process);
    throw Exception(Error(ErrorKind::refused, why)
                        .at(place.directory)
                        .fix("end that process first, if the node is to forget"));
  }
}

/// An id that neither the configuration has nor any process here had is a slip of whoever wrote it. Without a configuration
/// any id may be one.
void require_known(const ForgetOptions& options, const GroupPlace& place, NodeId node) {
  if (options.config.empty()) return;
  const auto configured = load_config(options).view();
  if (!configured || configured->rank_of(node)) return;
  for (const NodeReport& each : value_or_throw(read_group(place.directory)).nodes) {
    if (each.status.node == node) return;
  }
  throw Exception(Error(ErrorKind::bad_argument, fmt::format("node {} is none of the configuration's, and nothing of it is "
                                                             "here",
                                                             node))
                      .at(options.config)
                      .fix(fmt::format("name one of nodes {}", listed(configured->members))));
}

bool confirmed(const ForgetOptions& options, const std::string& group) {
  if (options.yes) return true;
  const Error nobody = Error(ErrorKind::bad_argument, "nobody is here to be asked whether the node may forget")
                           .fix("give --yes once you know that no other part of the group runs, or will be started with "
                                "what it remembers");
  return says_yes(
      fmt::format(
          "Node {} then takes part in founding group {} as on the first day, together with all configured founders.\n"
          "If other nodes of the group run somewhere, or remember it and are started, there may be two groups of this "
          "name,\nand what the last one agreed on since it was founded (its roster, say) is lost with its last record.\n"
          "What it has of logs is deleted: what no other node has of them is lost.\n"
          "Forget?",
          options.node, group),
      nobody);
}

int forget(const ForgetOptions& options) {
  const GroupPlace place = place_of(options);
  const GuardedDirectory directory = opened(place);
  const NodeId node(options.node);
  require_absent(place, node);
  const auto kept = journals(options);
  const auto [content, others] = [&] {
    group::ViewFile file = value_or_throw(group::ViewFile::open(directory, node));
    return std::pair(content_of(group::last_record(kept, file, node)), others_of(file));
  }();
  const std::string logs = logs_of(kept, node);
  if (!content && logs.empty()) require_known(options, place, node);
  fmt::print("node {} remembers {}\n", node, content.value_or("nothing here: there is nothing to forget"));
  if (!logs.empty()) fmt::print("and has {}\n", logs);
  std::fflush(stdout);
  if (content && !confirmed(options, place.name)) {
    fmt::print("nothing was forgotten\n");
    return number(ExitCode::interrupted);
  }
  value_or_throw(group::ViewFile::forget(directory, node));
  if (kept) value_or_throw(group::ViewJournal::forget(*kept, node));
  if (content) fmt::print("node {} remembers nothing now\n{}", node, others);
  return number(ExitCode::success);
}

}  // namespace

void add_forget_command(CLI::App& group, Work& chosen) {
  auto options = std::make_shared<ForgetOptions>();
  CLI::App* const command = add_command(
      group, chosen,
      {"forget", "Let a node of this host that does not run forget the last view, if those that it needs never come back"},
      options, forget);
  add_group_options(*command, *options);
  command->add_option("node", options->node, "ID of the node")
      ->required()
      ->check(number_from(0U, node_id_max))
      ->type_name("NODE");
  command->add_flag("--yes", options->yes, "Do not ask");
}

}  // namespace spindrift::tools
