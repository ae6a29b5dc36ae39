// `spindrift node`: a member that takes part until it is told to leave, and says what view it is in.
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "exit_code.hpp"
#include "options.hpp"
#include "session.hpp"
#include "view_line.hpp"

namespace spindrift::tools {
namespace {

/// `event` is for programs, `text` for people.
void print_event(const char* event, const std::string& text, NodeId node, bool json) {
  if (json) {
    fmt::print("{}\n", nlohmann::json{{"event", event}, {"node", node.value()}}.dump());
  } else {
    fmt::print("{}\n", text);
  }
  std::fflush(stdout);
}

int run_node(const CommandOptions& options) {
  const Config config = load_config(options);
  const NodeId self = config.local_id();
  const View view = value_or_throw(config.view());
  print_event(
      "joining",
      fmt::format("joining group {} as node {}, one of {} members", config.group_name(), self.value(), view.members.size()),
      self, options.json);
  GroupOptions group;
  group.on_view = [&](const NewView& news) {
    fmt::print("{}\n", view_line(news, self, options.json));
    std::fflush(stdout);
  };
  Session session(config, std::move(group));
  session.drop_deliveries();
  print_in_view(session.group(), options.json);
  if (session.wait_for() == Session::Event::signal) print_event("leaving", "leaving; the others go on", self, options.json);
  session.finish();
  print_event("left", "left: what this member sent was delivered at every member", self, options.json);
  return number(ExitCode::success);
}

}  // namespace

void add_node_command(CLI::App& app, Work& chosen) {
  auto options = std::make_shared<CommandOptions>();
  const CommandText text{
      "node", "Run a member of a group until it is told to leave",
      R"(Joins, takes part in every subgroup, drops what is delivered, and prints a line for every view: its members, and who
joined, left or failed, and why. SIGINT and SIGTERM make it leave gracefully; the others go on. It ends by itself, with
an error, when the others removed it or a majority of the view is gone. Started again, it joins again.

Examples:
  spindrift node --config derecho.cfg --id 1
  spindrift node --config derecho.cfg --id 2 --set SPINDRIFT/join_timeout_ms=5000 --json)"};
  CLI::App* command = add_command(app, chosen, text, options, run_node);
  add_member_options(*command, *options);
  add_json_option(*command, *options, "Print one JSON object per line");
}

}  // namespace spindrift::tools
