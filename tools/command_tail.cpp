// `spindrift tail`: prints what a subgroup delivers, in delivery order.
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>

#include <spindrift/group/observer.hpp>

#include "commands.hpp"
#include "error_output.hpp"
#include "exit_code.hpp"
#include "member_output.hpp"
#include "message_printer.hpp"
#include "number_option.hpp"
#include "options.hpp"
#include "output.hpp"
#include "session.hpp"
#include "subgroup_option.hpp"

namespace spindrift::tools {
namespace {

struct TailOptions : SubgroupCommandOptions {
  std::optional<std::uint64_t> count;
  bool reliable = false;
  std::string from;  ///< empty: with what is delivered from now on
};

int exit_code(const MessagePrinter& printer) {
  if (const int refused = printer.refused()) throw Exception(output_error(refused));
  return number(printer.complete() ? ExitCode::success : ExitCode::interrupted);
}

constexpr std::chrono::seconds reader_patience(1);

/// A member that is out of its group says so and ends, although its reader has stopped.
void end_with(const Error& why, ErrorForm form, MemberOutput& output) {
  if (output.await_printed(reader_patience)) return;
  write_to_standard_error(error_line(form, "spindrift", why));
  std::_Exit(number(exit_code_of(why.kind())));
}

/// A member that has left waits for its reader, as for all that it leaves behind.
void await_reader(MemberOutput& output) {
  if (output.await_printed(reader_patience)) return;
  write_to_standard_error(
      "spindrift: still printing what was delivered: the reader of standard output has stopped; another signal ends this "
      "process at once\n");
  static_cast<void>(output.await_printed(std::nullopt));
}

/// Standard output, if it is a pipe: its end can be waited for, as nobody reads it any more.
int pipe_to_reader() {
  struct stat output {};
  return ::fstat(STDOUT_FILENO, &output) == 0 && S_ISFIFO(output.st_mode) ? STDOUT_FILENO : -1;
}

/// "first", a version, or "last:N". `now`: the member's first view.
OutputStart start_of(const std::string& from, ViewId now) {
  constexpr std::string_view last = "last:";
  if (from.empty()) return {.version = 0, .view = now};
  if (from == "first") return {};
  const bool of_the_end = from.starts_with(last);
  const std::string_view digits = std::string_view(from).substr(of_the_end ? last.size() : 0);
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_number = failure == std::errc() && end == digits.data() + digits.size();
  if (!is_number || (digits.size() > 1 && digits.front() == '0') || (of_the_end && number == 0)) {
    throw Exception(Error(ErrorKind::bad_argument, "--from " + from + " says no place in a log or a history")
                        .fix("write first, the version of a message, as 0 or 1200, or last: and how many, as last:10"));
  }
  return of_the_end ? OutputStart{.last = number} : OutputStart{.version = number};
}

/// A log or a history that is shorter has nothing to print, perhaps for long; and it may have lost what it began with.
void say_what_is_kept(const TailOptions& options, const MemberOutput::Span& kept) {
  const bool names_version = !options.from.empty() && options.from.find_first_not_of("0123456789") == std::string::npos;
  if (options.quiet || !names_version) return;
  const std::uint64_t begin = start_of(options.from, ViewId(0)).version;
  const std::string what = "spindrift: what is kept of " + options.subgroup;
  const std::string that = ": that of --from " + options.from;
  if (begin > 0 && begin >= kept.end) {
    write_to_standard_error(what + " ends at version " + std::to_string(kept.end) + that + " is still to come\n");
  } else if (begin < kept.begin) {
    write_to_standard_error(what + " begins at version " + std::to_string(kept.begin) + that + " is kept no more\n");
  }
}

/// A member that ends before says so by itself.
void release_when_loaded(Session& session, MemberOutput& output, const TailOptions& options) {
  try {
    session.group().loaded();
    say_what_is_kept(options, output.delivered());
  } catch (const Exception&) {
  }
  output.release();
}

void check_start(const TailOptions& options, bool kept) {
  static_cast<void>(start_of(options.from, ViewId(0)));
  if (options.from.empty() || kept) return;
  const std::string what = "--from: subgroup " + options.subgroup + " is not logged, and keeps no history";
  throw Exception(Error(ErrorKind::bad_argument, what)
                      .fix("leave it out, or give the subgroup \"storage\": \"logged\" or \"history\": 1000 in the layout "
                           "of all members"));
}

/// The first view of this process: others may have come and gone before the thread that joined runs again.
class FirstView {
 public:
  void note(ViewId view) noexcept {
    std::uint64_t unset = none;
    id_.compare_exchange_strong(unset, view.value());
  }
  /// Behind the join.
  [[nodiscard]] ViewId id() const noexcept { return ViewId(id_); }

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  std::atomic<std::uint64_t> id_ = none;
};

int run_member(const TailOptions& options) {
  const ErrorForm form = options.json ? ErrorForm::json : ErrorForm::text;
  const OwnConfig own = await_own_config(load_subgroup_config(options), form);
  const Config& config = *own;
  const SubgroupView shape = require_subgroup(config, options, SubgroupUse::receive);
  const bool kept = shape.storage == SubgroupStorage::logged || shape.history.any();
  check_start(options, kept);
  MemberOutput output(options.subgroup, options.json, options.count);
  GroupOptions handlers;
  handlers.on_created = [&output](Subgroup& subgroup) { output.take(subgroup); };
  FirstView first_view;
  handlers.on_view = [&first_view](const NewView& news) { first_view.note(news.view.id); };
  Session session(config, std::move(handlers), {.quiet = options.quiet, .json = options.json});
  output.on_joined(session);
  session.drop_deliveries(options.subgroup);
  Subgroup& subgroup = use_subgroup(session.group(), options);
  if (kept) output.begin_with(start_of(options.from, first_view.id()));
  if (is_of_layout(config, options.subgroup)) output.take(subgroup);
  if (kept) release_when_loaded(session, output, options);
  const Session::Event event = session.wait_for(pipe_to_reader());
  try {
    session.finish();
  } catch (const Exception& failure) {
    output.end();
    end_with(failure.error(), form, output);
    throw;
  }
  output.end();
  await_reader(output);
  if (event == Session::Event::input) throw Exception(output_error(EPIPE));  // as if a line had found that nobody reads
  const MessagePrinter& printer = output.printer();
  if (event == Session::Event::ended && !session.signaled() && !printer.done())
    throw Exception(taken_out(session.group().self(), options.count ? "--count messages came" : "it was told to end"));
  return exit_code(printer);
}

bool is_readable(int descriptor) {
  pollfd wait = readable(descriptor);
  return ::poll(&wait, 1, 0) > 0;
}

/// Says on standard error whom the observer reads, and for whom it waits.
class SourceLines {
 public:
  SourceLines(const Observer& observer, bool quiet) : observer_(observer), quiet_(quiet) {}

  void look() {
    const auto source = observer_.source();
    if (quiet_) return;
    if (source) return on_source(*source);
    constexpr std::chrono::seconds before_telling(1);
    const auto now = std::chrono::steady_clock::now();
    if (!waits_since_) waits_since_ = now;
    if (now - *waits_since_ < before_telling) return;
    const std::string waits = observer_.waits_for();
    if (waits != waits_) say("waiting for " + waits);
    waits_ = waits;
  }

 private:
  void on_source(NodeId source) {
    waits_since_.reset();
    waits_.clear();
    if (source_ != source) say("observes node " + std::to_string(source.value()));
    source_ = source;
  }
  static void say(const std::string& line) { std::fputs(("spindrift: " + line + "\n").c_str(), stderr); }

  const Observer& observer_;
  const bool quiet_;
  std::optional<NodeId> source_;
  std::optional<std::chrono::steady_clock::time_point> waits_since_;
  std::string waits_;
};

int run_observer(const TailOptions& options) {
  const Config config = load_config_with_warnings(options);
  const auto source = options.id ? std::optional(NodeId(*options.id)) : std::nullopt;
  require_observable(config, options.subgroup, source);
  const StopSignals signals;
  MessagePrinter printer(options.json, options.count);
  const ObserverHandlers handlers{[&printer](const Delivery& delivery) { printer.print(delivery); },
                                  [&printer](const Gap& gap) { printer.print(gap); }};
  Observer observer(config, options.subgroup, handlers, {source});
  SourceLines lines(observer, options.quiet);
  while (!printer.done() && !is_readable(signals.descriptor())) {
    const std::size_t messages = observer.poll();
    printer.flush();
    printer.look_at_reader();
    lines.look();
    constexpr std::chrono::seconds between_looks(1);
    if (messages == 0) static_cast<void>(observer.wait(signals.descriptor(), between_looks));
  }
  return exit_code(printer);
}

// Without a file there may be nobody yet to observe: whoever comes first founds.
int run_tail(const TailOptions& options) {
  const bool member = options.reliable || !options.from.empty() || options.config.empty();
  return member ? run_member(options) : run_observer(options);
}

}  // namespace

void add_tail_command(CLI::App& app, Work& chosen) {
  auto options = std::make_shared<TailOptions>();
  const CommandText text{
      "tail", "Print what a subgroup delivers",
      R"(Prints "[view.sequence] node: text" for each message that members deliver from now on, view after view. Sequence
numbers begin at 0 in each view and have gaps where a member had nothing to send.

With --config it observes: reads what a member delivers, without being one: of this host, else of another, if the file sets
observer_port. It counts for nothing and holds up nobody: what it is too slow for it misses, and a line says so. When that
member goes, it goes on with another one. --id names the one to observe. With --reliable it joins as member --id instead:
then it misses nothing, and the group waits for whoever reads its output. With --from it does the same, and prints first what
a subgroup that is logged or keeps a history has delivered before, as far as that is there: all of it, that from a version
on, or the last messages. It ends after --count messages, or on SIGINT, SIGTERM or SIGHUP.

Without --config the group is this user's on this host, or the one that --group names: whoever is there founds it, each
process takes an id that nobody has, and the subgroup is created if nobody has. There may be nobody to observe: tail is a
member then, as with --reliable.

Examples:
  spindrift tail orders
  spindrift tail --config derecho.cfg --subgroup orders
  spindrift tail --config derecho.cfg --subgroup orders --json | less
  spindrift tail --config derecho.cfg --id 1 --subgroup orders --reliable --count 10)"};
  CLI::App* command = add_command(app, chosen, text, options, run_tail);
  add_subgroup_options(*command, *options, "to print");
  add_quiet_option(*command, *options);
  command->add_option("--count", options->count, "End after this many messages")
      ->type_name("N")
      ->check(number_from(std::uint64_t{1}, std::numeric_limits<std::uint64_t>::max()));
  command->add_option("--from", options->from, "Begin there in the log or the history of the subgroup, as a member")
      ->type_name("first|VERSION|last:N")
      ->check([](const std::string& from) { return from.empty() ? "it is empty; write first, a version, or last:N" : ""; });
  command->add_flag("--reliable", options->reliable, "Join as a member, and miss nothing");
  add_json_option(*command, *options, "Print one JSON object per message; text that is no UTF-8 has replacement characters");
}

}  // namespace spindrift::tools
