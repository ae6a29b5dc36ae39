// `spindrift metrics`: serves the metrics of a group's nodes on this host to Prometheus.
#include <cerrno>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "commands.hpp"
#include "exit_code.hpp"
#include "group_option.hpp"
#include "listening_socket.hpp"
#include "metrics_server.hpp"
#include "output.hpp"
#include "prometheus.hpp"
#include "session.hpp"

namespace spindrift::tools {
namespace {

struct MetricsOptions : GroupCommandOptions {
  std::string listen = "127.0.0.1:9741";
};

Result<std::string> page_of(const GroupPlace& place) {
  SPINDRIFT_TRY_ASSIGN(const GroupReport report, read_group(place.directory));
  SPINDRIFT_TRY_ASSIGN(const GroupCounters counters, read_group_counters(place.directory));
  return prometheus_text(place.name, report, counters);
}

int serve_metrics(const MetricsOptions& options) {
  const GroupPlace place = place_of(options);
  const StopSignals signals;
  ListeningSocket socket = value_or_throw(listen_at(options.listen));
  const MetricsServer server(std::move(socket.descriptor), prometheus_content_type, [&place] { return page_of(place); });
  value_or_throw(print_line("serving group " + place.name + " at http://" + socket.address + "/metrics"));
  pollfd signal = readable(signals.descriptor());
  while (::poll(&signal, 1, -1) < 0 && errno == EINTR) {
  }
  return number(ExitCode::success);
}

}  // namespace

void add_metrics_command(CLI::App& app, Work& chosen) {
  auto options = std::make_shared<MetricsOptions>();
  const CommandText text{
      "metrics", "Serve counters and states of this host's nodes to Prometheus",
      "Answers GET /metrics with what `spindrift counters --format prometheus` prints, until SIGTERM or SIGINT. Reads the "
      "files that nodes keep, and asks no process; the group may begin later. Port 0: the kernel chooses one.\n\n"
      "Examples:\n  spindrift metrics --config derecho.cfg\n"
      "  spindrift metrics --config derecho.cfg --listen 10.0.0.1:9741"};
  CLI::App* command = add_command(app, chosen, text, options, serve_metrics);
  add_group_options(*command, *options);
  command->add_option("--listen", options->listen, "Address to serve at; this host alone reaches the default")
      ->type_name("HOST:PORT")
      ->capture_default_str();
}

}  // namespace spindrift::tools
