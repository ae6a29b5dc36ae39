// `spindrift node`: a member that takes part until it is told to leave, and says what view it is in.
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <spindrift/core/line_writer.hpp>

#include "commands.hpp"
#include "exit_code.hpp"
#include "json_output.hpp"
#include "options.hpp"
#include "output.hpp"
#include "session.hpp"
#include "view_line.hpp"

namespace spindrift::tools {
namespace {

/// Prints lines on a thread of its own: views are told on the poller, which must not wait for whoever reads them. Where
/// nobody can read them, the member leaves. Lines that a reader who has stopped is not going to see are counted.
class EventPrinter {
 public:
  explicit EventPrinter(bool json)
      : lines_([output = output_, json](const Line& line, std::uint64_t lost) {
          if (lost > 0) output->print(lost_line(lost, json));
          output->print(line.text);
        }) {}

  /// Any thread.
  void print(std::string line) { lines_.write(std::move(line)); }
  /// The session whose wait a failure ends; null: none.
  void end_on_failure(Session* session) {
    const std::lock_guard lock(output_->mutex);
    output_->session = session;
    if (session != nullptr && output_->failure) session->request_stop();
  }
  /// Waits until everything is printed, for `limit` at most. Throws what was in its way.
  void await(std::chrono::milliseconds limit) {
    static_cast<void>(lines_.await_written(limit));
    const std::lock_guard lock(output_->mutex);
    if (output_->failure) throw Exception(*output_->failure);
  }

 private:
  /// It belongs to the printing thread, too, which outlives this object if the reader has stopped.
  struct Output {
    std::mutex mutex;
    std::optional<Error> failure;
    Session* session = nullptr;

    void print(const std::string& line) {
      auto printed = print_line(line);
      const std::lock_guard lock(mutex);
      if (printed || failure) return;
      failure = std::move(printed).error();
      if (session != nullptr) session->request_stop();
    }
  };

  static std::string lost_line(std::uint64_t lost, bool json) {
    return json ? event_line({{"event", "lost"}, {"lines", lost}})
                : fmt::format("lost {} lines: the reader of this output had stopped", lost);
  }

  std::shared_ptr<Output> output_ = std::make_shared<Output>();
  LineWriter lines_;
};

/// A session in whose life its wait ends if its lines cannot be printed.
class PrintedSession {
 public:
  PrintedSession(Session& session, EventPrinter& printer) : printer_(printer) { printer_.end_on_failure(&session); }
  ~PrintedSession() { printer_.end_on_failure(nullptr); }
  PrintedSession(const PrintedSession&) = delete;
  PrintedSession& operator=(const PrintedSession&) = delete;

 private:
  EventPrinter& printer_;
};

/// The first view of a member is told as that member's joining: who was there before has not joined.
class ViewLines {
 public:
  ViewLines(NodeId self, bool json) : self_(self), json_(json) {}

  std::string of(const NewView& news) {
    NewView told = news;
    if (std::exchange(first_, false) && news.view.id > ViewId(0)) told.joined = {self_};
    return view_line(told, self_, json_);
  }

 private:
  NodeId self_;
  bool json_;
  bool first_ = true;
};

int run_node(const CommandOptions& options) {
  const OwnConfig own =
      await_own_config(load_config(options), options.json ? ErrorForm::json : ErrorForm::text);
  const Config& config = *own;
  const NodeId self = config.local_id();
  const View view = value_or_throw(config.view());
  value_or_throw(config.local_rank());
  EventPrinter printer(options.json);
  // `event` is for programs, `text` for people.
  const auto print = [&](const char* event, const std::string& text) {
    printer.print(options.json ? event_line({{"event", event}, {"node", self.value()}}) : text);
  };
  print("joining", fmt::format("joining group {} as node {}, one of {} members", config.group_name(), self.value(),
                               view.members.size()));
  printer.await(LineWriter::farewell);  // a group is not held up by a reader who has stopped
  GroupOptions group;
  ViewLines views(self, options.json);
  group.on_view = [&](const NewView& news) { printer.print(views.of(news)); };
  Session session(config, std::move(group), {.quiet = options.quiet, .json = options.json});
  session.drop_deliveries();
  const PrintedSession printed(session, printer);
  printer.print(in_view_line(session.group(), options.json));
  if (session.wait_for() == Session::Event::signal) print("leaving", "leaving; the others go on");
  session.finish();
  print("left", "left: what this member sent was delivered at every member");
  printer.await(std::chrono::hours(24 * 365));
  return number(ExitCode::success);
}

}  // namespace

void add_node_command(CLI::App& app, Work& chosen) {
  auto options = std::make_shared<CommandOptions>();
  const CommandText text{
      "node", "Run a member of a group until it is told to leave",
      R"(Joins, takes part in every subgroup, drops what is delivered, and prints a line for every view: its members, and who
joined, left or failed, and why. SIGINT, SIGTERM and SIGHUP make it leave gracefully; the others go on. It ends by itself,
with an error, when the others removed it or a majority of the view is gone. Started again, it joins again.

Examples:
  spindrift node --config derecho.cfg --id 1
  spindrift node --config derecho.cfg --id 2 --set SPINDRIFT/join_timeout_ms=5000 --json)"};
  CLI::App* command = add_command(app, chosen, text, options, run_node);
  add_member_options(*command, *options);
  add_quiet_option(*command, *options);
  add_json_option(*command, *options, "Print one JSON object per line");
}

}  // namespace spindrift::tools
