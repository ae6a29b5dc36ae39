// `spindrift group create-subgroup|drop-subgroup|subgroups`: subgroups beyond those of the configuration, through a member
// that runs here.
#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <spindrift/core/ids_text.hpp>

#include "command_roster.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "json_output.hpp"
#include "number_option.hpp"
#include "roster_call.hpp"
#include "subgroup_option.hpp"
#include "table.hpp"

namespace spindrift::tools {
namespace {

using Json = nlohmann::json;

constexpr int subgroups_json_version = 1;

struct CreatedOptions : RosterCallOptions {
  std::vector<std::string> names;
  std::string mode = "ordered";
  std::vector<std::string> members, senders;                    // "all", or ids
  std::uint64_t window = 0, message_bytes = 0, ring_bytes = 0;  // 0: as [SUBGROUP/DEFAULT], or the group, has it
};

Json json_of(const std::vector<NodeId>& nodes) {
  if (nodes.empty()) return {};
  Json list = Json::array();
  for (const NodeId node : nodes) list.push_back(node.value());
  return list;
}

Json json_of(const AddedSubgroup& subgroup) {
  return {{"name", subgroup.name},
          {"mode", subgroup.mode == DeliveryMode::ordered ? "ordered" : "unordered"},
          {"members", json_of(subgroup.members)},
          {"senders", json_of(subgroup.senders)},
          {"window_messages", subgroup.profile.window_messages},
          {"message_bytes_max", subgroup.profile.message_bytes_max},
          {"ring_bytes", subgroup.profile.ring_bytes}};
}

void print_json(const Roster& roster) {
  Json subgroups = Json::array();
  for (const AddedSubgroup& each : roster.added) {
    if (!each.name.empty()) subgroups.push_back(json_of(each));
  }
  Json configured = Json::array();
  for (const RingSizes& each : roster.sizes) {
    configured.push_back(
        {{"name", each.subgroup}, {"window_messages", each.window_messages}, {"ring_bytes", each.ring_bytes}});
  }
  print_document(versioned(subgroups_json_version, {{"edition", roster.edition},
                                                    {"subgroups", std::move(subgroups)},
                                                    {"configured", std::move(configured)}}));
}

void print_configured(const Roster& roster) {
  if (roster.sizes.empty()) return;
  fmt::print("subgroups of the configuration\n");
  using Align = TextTable::Align;
  TextTable table({Align::left, Align::right, Align::right});
  table.add({"subgroup", "window", "ring"});
  for (const RingSizes& each : roster.sizes)
    table.add({each.subgroup, std::to_string(each.window_messages), std::to_string(each.ring_bytes)});
  table.print();
}

int print(const CreatedOptions& options, const Answered& answered) {
  const Roster& roster = answered.roster;
  if (options.json) {
    print_json(roster);
    return number(ExitCode::success);
  }
  fmt::print("subgroups that commands created, as node {} has them in the roster of edition {}\n", answered.node,
             roster.edition);
  using Align = TextTable::Align;
  TextTable table({Align::left, Align::left, Align::left, Align::left, Align::right, Align::right, Align::right});
  table.add({"subgroup", "mode", "members", "senders", "window", "message", "ring"});
  const auto nodes = [](const std::vector<NodeId>& some) { return some.empty() ? std::string("all") : listed(some); };
  for (const AddedSubgroup& each : roster.added) {
    if (each.name.empty()) continue;
    table.add({each.name, each.mode == DeliveryMode::ordered ? "ordered" : "unordered", nodes(each.members),
               nodes(each.senders), std::to_string(each.profile.window_messages),
               std::to_string(each.profile.message_bytes_max), std::to_string(each.profile.ring_bytes)});
  }
  table.print();
  print_configured(roster);
  return number(ExitCode::success);
}

/// None: all of them.
std::vector<NodeId> ids_of(const std::vector<std::string>& texts) {
  std::vector<NodeId> nodes;
  for (const std::string& text : texts) {
    if (text == "all" && texts.size() > 1) {
      throw Exception(
          Error(ErrorKind::bad_argument, "all are named, and some of them").fix("give either all, or their ids"));
    }
    if (text != "all") nodes.emplace_back(static_cast<std::uint32_t>(std::stoul(text)));
  }
  return nodes;
}

/// As a command line has them.
std::string words_of(const std::vector<NodeId>& nodes) {
  std::string words;
  for (const NodeId node : nodes) words += (words.empty() ? "" : " ") + std::to_string(node.value());
  return words;
}

/// Nodes may be named before they are added, so that a subgroup is there for them when they come; an id that was mistyped
/// looks like one of those.
void warn_of_strangers(const char* option, const std::vector<std::string>& texts, const Roster& roster) {
  std::vector<NodeId> strangers = ids_of(texts);
  std::erase_if(strangers, [&](NodeId node) { return roster.contains(node); });
  if (strangers.empty()) return;
  std::vector<NodeId> known;
  for (const NodeAddress& each : roster.nodes) known.push_back(each.node);
  std::ranges::sort(known);
  const bool one = strangers.size() == 1;
  fmt::print(stderr,
             "spindrift: {}: node{} {} {} not in the roster, which has {}: {} no part before being added; fix: spindrift "
             "group add {}, or name others\n",
             option, one ? "" : "s", listed(strangers), one ? "is" : "are", listed(known), one ? "it takes" : "they take",
             words_of(strangers));
}

int run(const CreatedOptions& options, const GroupPlace& place, const std::vector<RosterChange>& changes) {
  const Answered answered = ask_group(options, place, changes);
  warn_of_strangers("--members", options.members, answered.roster);
  warn_of_strangers("--senders", options.senders, answered.roster);
  return print(options, answered);
}

int create(const CreatedOptions& options) {
  std::vector<RosterChange> changes;
  for (const std::string& name : options.names) {
    require_subgroup_name(name, "create-subgroup");
    RosterChange& change = changes.emplace_back();
    change.kind = RosterChange::Kind::create;
    AddedSubgroup& subgroup = change.subgroup;
    subgroup.name = name;
    subgroup.mode = options.mode == "ordered" ? DeliveryMode::ordered : DeliveryMode::unordered;
    subgroup.profile.window_messages = options.window;
    subgroup.profile.message_bytes_max = options.message_bytes;
    subgroup.profile.ring_bytes = options.ring_bytes;
    subgroup.members = ids_of(options.members);
    subgroup.senders = ids_of(options.senders);
  }
  return run(options, place_of(options), changes);
}

/// A value that is not given stays as the group has it.
int change(const CreatedOptions& options) {
  if (options.window == 0 && options.ring_bytes == 0 && options.senders.empty()) {
    throw Exception(Error(ErrorKind::bad_argument, "change-subgroup is given nothing to change")
                        .fix("give --window, --ring-bytes or --senders"));
  }
  const GroupPlace place = place_of(options);
  const Roster now = ask_group(options, place, {}).roster;
  std::vector<RosterChange> changes;
  for (const std::string& name : options.names) {
    RosterChange& change = changes.emplace_back();
    change.kind = RosterChange::Kind::change;
    if (const AddedSubgroup* const there = now.find_added(name)) change.subgroup = *there;
    AddedSubgroup& subgroup = change.subgroup;
    subgroup.name = name;
    if (options.window != 0) subgroup.profile.window_messages = options.window;
    if (options.ring_bytes != 0) subgroup.profile.ring_bytes = options.ring_bytes;
    if (!options.senders.empty()) subgroup.senders = ids_of(options.senders);
  }
  return run(options, place, changes);
}

int drop(const CreatedOptions& options) {
  std::vector<RosterChange> changes;
  for (const std::string& name : options.names) {
    RosterChange& change = changes.emplace_back();
    change.kind = RosterChange::Kind::drop;
    change.subgroup.name = name;
  }
  return run(options, place_of(options), changes);
}

int show(const CreatedOptions& options) { return run(options, place_of(options), {}); }

void add_size(CLI::App& command, const char* name, std::uint64_t& to, CLI::Validator range,
              const std::string& what) {
  command.add_option(name, to, what)->check(std::move(range))->type_name("N");
}

/// The parser joins the texts of two checks to one that nobody understands.
std::string node_or_all(const std::string& text) {
  if (text.empty()) return "no node is named; give ids with commas between them, as in 0,1, or all";
  if (text == "all" || number_from(0U, node_id_max)(std::string(text)).empty()) return "";
  return fmt::format("{} is no node's id, a whole number from 0 to {}, and not all", text, node_id_max);
}

void add_nodes(CLI::App& command, const char* name, std::vector<std::string>& to, const std::string& what) {
  command.add_option(name, to, what)
      ->delimiter(',')
      ->check(node_or_all, "")
      ->type_name("IDS|all");
}

/// Those that change while the group runs, too.
void add_value_options(CLI::App& command, CreatedOptions& options, const std::string& otherwise) {
  command.add_option("names", options.names, "Their names, of A-Z, a-z, 0-9, _, . and -")->required()->type_name("NAME");
  add_nodes(command, "--senders", options.senders, "Members that may send; otherwise " + otherwise);
  add_size(command, "--window", options.window, number_from(std::uint64_t{1}, std::uint64_t{1} << 20),
           "Messages of one sender that may be on their way at once");
  add_size(command, "--ring-bytes", options.ring_bytes, number_from(ring_bytes_min, ring_bytes_max),
           fmt::format("Bytes of each sender's ring: a power of two; those of created subgroups have {} together",
                       added_ring_bytes_max));
}

}  // namespace

void add_created_subgroup_commands(CLI::App& group, Work& chosen) {
  auto options = std::make_shared<CreatedOptions>();
  const auto add = [&](const char* name, const char* description, int (*work)(const CreatedOptions&)) {
    CLI::App* command = add_command(group, chosen, {name, description}, options, work);
    add_roster_call_options(*command, *options);
    add_json_option(*command, *options, "Print the subgroups as JSON");
    return command;
  };
  CLI::App* const create_command =
      add("create-subgroup", "Create subgroups while the group runs; sizes are [SUBGROUP/DEFAULT]'s unless given", create);
  add_value_options(*create_command, *options, "all");
  add_nodes(*create_command, "--members", options->members,
            "Nodes that are in them when they are in the view; otherwise all members");
  create_command->add_option("--mode", options->mode, "How they deliver")
      ->check(CLI::IsMember({"ordered", "unordered"}))
      ->capture_default_str();
  add_size(*create_command, "--message-bytes", options->message_bytes,
           number_from(std::uint64_t{1}, std::uint64_t{1} << 28), "Bytes of the largest message");
  add_value_options(
      *add("change-subgroup",
           "Change subgroups: what is given, by a change of the view; of the configuration's, window and ring", change),
      *options, "as they are");
  add("drop-subgroup", "Drop subgroups that were created so, when what was sent to them is delivered", drop)
      ->add_option("names", options->names, "Their names")
      ->required()
      ->type_name("NAME");
  add("subgroups", "The subgroups that were created while the group runs, and the sizes of the configuration's", show);
}

}  // namespace spindrift::tools
