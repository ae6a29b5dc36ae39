// `spindrift log`: what a node of this host has in its journal, and whether that is whole.
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "commands.hpp"
#include "exit_code.hpp"
#include "log_output.hpp"
#include "log_part.hpp"
#include "log_replay_command.hpp"
#include "log_target.hpp"
#include "options.hpp"
#include "output.hpp"

namespace spindrift::tools {
namespace {

struct LogOptions : CommandOptions {
  LogPart part;
};

int run_ls(const LogOptions& options) {
  LogTarget target = log_target_of(options);
  JournalReading reading(target.place, target.node);
  const store::JournalFindings& findings = reading.examine(2);
  const JournaledLogs logs = reading.logs();
  target.names = reading.names();
  print_logs(target, logs, options.json);
  if (const store::Damage* const damage = findings.loss()) {
    value_or_throw(flush_output());
    throw Exception(Error(ErrorKind::bad_input, std::string(to_string(damage->kind)))
                        .at(damage->place)
                        .fix("see what else is damaged: spindrift log verify"));
  }
  return number(ExitCode::success);
}

int run_dump(const LogOptions& options) {
  LogMessages messages(log_target_of(options), options.part);
  messages.find();
  int refused = 0;
  messages.visit([&](const store::Entry& message) {
    const std::string line = message_line(message, options.json);
    errno = 0;
    const bool written = std::fwrite(line.data(), 1, line.size(), stdout) == line.size();
    if (!written) refused = errno;
    return written;
  });
  if (refused != 0) throw Exception(output_error(refused));
  value_or_throw(flush_output());
  messages.require_whole();
  return number(ExitCode::success);
}

int run_verify(const LogOptions& options) {
  LogTarget target = log_target_of(options);
  JournalReading reading(target.place, target.node);
  const store::JournalFindings& findings = reading.examine(1);
  target.names = reading.names();
  const bool lost = findings.loss() != nullptr;
  print_findings(target, findings, lost ? std::optional(reading.logs()) : std::nullopt, options.json);
  return number(lost ? exit_code_of(ErrorKind::bad_input) : ExitCode::success);
}

constexpr const char* footer =
    R"(Subgroups with "storage": "logged" are kept in the journal of each member, in [PERS] file_path. These commands read
that of a node of this host, which may run meanwhile, and change nothing. They are for the node's user, and for root, who
reads as that user. Without --id and local_id the node is the only one that has a journal here.

All of the journal is read, so that damage is noticed. A log that began anew is listed from there on.

Examples:
  spindrift log ls --config derecho.cfg --id 1
  spindrift log dump orders --config derecho.cfg --id 1 --from 1200 --to 1300
  spindrift log dump orders --config derecho.cfg --id 1 --from 2026-11-28T10:00:00Z --json
  spindrift log replay orders --config derecho.cfg --id 1 --from 2026-11-28T10:00:00Z --pace 1 | my-program
  spindrift log verify --config derecho.cfg --id 1)";

}  // namespace

void add_log_command(CLI::App& app, Work& chosen) {
  auto options = std::make_shared<LogOptions>();
  CLI::App* const log = app.add_subcommand("log", "Show what a node of this host keeps of logged subgroups, and check it");
  log->require_subcommand(1);
  log->footer(std::string(footer) + "\n\n" + exit_codes_text());
  const auto add = [&](const char* name, const char* description, int (*run)(const LogOptions&)) {
    CLI::App* const command = add_command(*log, chosen, {name, description}, options, run);
    add_member_options(*command, *options);
    return command;
  };
  add_json_option(*add("ls", "List the logs: versions, last message, times, bytes, link", run_ls), *options);
  CLI::App* const dump = add("dump", "Print the messages of a log: \"version time [view.sequence] node: text\"", run_dump);
  add_log_part_options(*dump, options->part, "print");
  add_json_option(*dump, *options, "Print one JSON object per message; bytes that are no UTF-8 in base64");
  add_replay_command(*log, chosen);
  add_json_option(*add("verify", "Read every byte, and say what is damaged; code 1 if durable entries are lost", run_verify),
                  *options);
}

}  // namespace spindrift::tools
