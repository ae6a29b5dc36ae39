// `spindrift tail`: prints what a subgroup delivers, in delivery order.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "escaped.hpp"
#include "exit_code.hpp"
#include "number_option.hpp"
#include "options.hpp"
#include "output.hpp"
#include "session.hpp"
#include "subgroup_option.hpp"

namespace spindrift::tools {
namespace {

struct TailOptions : CommandOptions {
  std::string subgroup;
  std::optional<std::uint64_t> count;
};

/// Writes deliveries on a thread of its own: a slow reader of standard output holds up the subgroup rather than losing
/// messages, and does not cost this member its place.
class Printer {
 public:
  Printer(const TailOptions& options, Session& session) : options_(options), session_(session) {}

  void print(std::span<const Delivery> batch) {
    for (const Delivery& delivery : batch) {
      if (done_) return;
      const std::string line = line_of(delivery);
      const bool written = std::fwrite(line.data(), 1, line.size(), stdout) == line.size();
      if (!written || (options_.count && ++printed_ == *options_.count)) stop(written);
    }
    if (!done_ && std::fflush(stdout) != 0) stop(false);
  }

  /// The errno of what standard output did not take; 0: it took everything. After the group has ended.
  [[nodiscard]] int refused() const noexcept { return refused_; }
  [[nodiscard]] bool complete() const noexcept { return !options_.count || printed_ >= *options_.count; }

 private:
  void stop(bool written) {
    done_ = true;
    if (!written || std::fflush(stdout) != 0) refused_ = errno;
    session_.request_stop();
  }

  [[nodiscard]] std::string line_of(const Delivery& delivery) const {
    const std::string_view text(reinterpret_cast<const char*>(delivery.payload.data()), delivery.payload.size());
    if (!options_.json)
      return fmt::format("[{}.{}] {}: {}\n", delivery.view.value(), delivery.sequence.value(), delivery.sender.value(),
                         escaped(text));
    const nlohmann::json line{{"view", delivery.view.value()},
                              {"sequence", delivery.sequence.value()},
                              {"node", delivery.sender.value()},
                              {"index", delivery.index.value()},
                              {"bytes", text.size()},
                              {"text", text}};
    return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }

  const TailOptions& options_;
  Session& session_;
  std::uint64_t printed_ = 0;
  bool done_ = false;
  int refused_ = 0;
};

int run_tail(const TailOptions& options) {
  const Config config = load_config(options);
  require_subgroup(config, options.subgroup, SubgroupUse::receive);
  Session session(config, {}, options.quiet);
  Printer printer(options, session);
  session.drop_deliveries(options.subgroup);
  session.group().subgroup(options.subgroup).on_delivery([&](std::span<const Delivery> batch) { printer.print(batch); },
                                                         HandlerThread::own);
  static_cast<void>(session.wait_for());
  session.finish();
  if (const int refused = printer.refused()) throw Exception(output_error(refused));
  return number(printer.complete() ? ExitCode::success : ExitCode::interrupted);
}

}  // namespace

void add_tail_command(CLI::App& app, Work& chosen) {
  auto options = std::make_shared<TailOptions>();
  const CommandText text{
      "tail", "Print what a subgroup delivers",
      R"(Joins as a member and prints "[view.sequence] node: text" for each delivery, view after view. Sequence numbers begin
at 0 in each view and have gaps where a member had nothing to send. Leaves gracefully after --count deliveries, or on
SIGINT or SIGTERM; the others go on.

Examples:
  spindrift tail --config derecho.cfg --id 1 --subgroup orders
  spindrift tail --config derecho.cfg --id 1 --subgroup orders --count 10 --json)"};
  CLI::App* command = add_command(app, chosen, text, options, run_tail);
  add_member_options(*command, *options);
  add_quiet_option(*command, *options);
  command->add_option("--subgroup", options->subgroup, "Subgroup to print")->type_name("NAME")->required();
  command->add_option("--count", options->count, "Leave after this many deliveries")
      ->type_name("N")
      ->check(number_from(std::uint64_t{1}, std::numeric_limits<std::uint64_t>::max()));
  add_json_option(*command, *options,
                  "Print one JSON object per delivery; text that is no UTF-8 has replacement characters");
}

}  // namespace spindrift::tools
