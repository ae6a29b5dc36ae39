// `spindrift node`: a member that takes part until it is told to leave, and says what view it is in.
#include <atomic>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "exit_code.hpp"
#include "options.hpp"
#include "output.hpp"
#include "session.hpp"
#include "view_line.hpp"

namespace spindrift::tools {
namespace {

/// `event` is for programs, `text` for people.
void print_event(const char* event, const std::string& text, NodeId node, bool json) {
  value_or_throw(print_line(json ? nlohmann::json{{"event", event}, {"node", node.value()}}.dump() : text));
}

/// Prints views on the poller thread, which must not throw: where nobody can read them, the member leaves.
class ViewPrinter {
 public:
  ViewPrinter(NodeId self, bool json) : self_(self), json_(json) {}

  void print(const NewView& news) {
    NewView told = news;
    const bool came_later = first_ && news.view.id > ViewId(0);
    if (came_later) told.joined = {self_};  // the others were there
    first_ = false;
    auto printed = print_line(view_line(told, self_, json_));
    if (printed || failure_) return;
    failure_ = std::move(printed).error();
    if (Session* const session = session_.load()) session->request_stop();
  }
  /// From now on a failure ends its wait; one before is met again by what is printed next.
  void ends(Session& session) { session_.store(&session); }
  /// Once the group has ended.
  [[nodiscard]] const std::optional<Error>& failure() const noexcept { return failure_; }

 private:
  NodeId self_;
  bool json_;
  bool first_ = true;
  std::optional<Error> failure_;
  std::atomic<Session*> session_{nullptr};
};

int run_node(const CommandOptions& options) {
  const Config config = load_config(options);
  const NodeId self = config.local_id();
  const View view = value_or_throw(config.view());
  value_or_throw(config.local_rank());
  print_event(
      "joining",
      fmt::format("joining group {} as node {}, one of {} members", config.group_name(), self.value(), view.members.size()),
      self, options.json);
  GroupOptions group;
  ViewPrinter printer(self, options.json);
  group.on_view = [&](const NewView& news) { printer.print(news); };
  Session session(config, std::move(group), options.quiet);
  session.drop_deliveries();
  printer.ends(session);
  print_in_view(session.group(), options.json);
  if (session.wait_for() == Session::Event::signal) print_event("leaving", "leaving; the others go on", self, options.json);
  session.finish();
  if (printer.failure()) throw Exception(*printer.failure());
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
  add_quiet_option(*command, *options);
  add_json_option(*command, *options, "Print one JSON object per line");
}

}  // namespace spindrift::tools
