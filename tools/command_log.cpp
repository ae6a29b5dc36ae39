// `spindrift log`: what a node of this host has in its journal, and whether that is whole.
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include <spindrift/fabric/tls/signing.hpp>

#include "commands.hpp"
#include "exit_code.hpp"
#include "log_adopt_command.hpp"
#include "log_output.hpp"
#include "log_part.hpp"
#include "log_repair_command.hpp"
#include "log_replay_command.hpp"
#include "log_target.hpp"
#include "log_trim_command.hpp"
#include "options.hpp"
#include "output.hpp"

namespace spindrift::tools {
namespace {

struct LogOptions : CommandOptions {
  LogPart part;
  std::string keys;     ///< of verify: whom to trust; empty: nothing is to be proved
  std::string journal;  ///< of verify: a directory; empty: that of the configuration's node
};

int run_ls(const LogOptions& options) {
  LogTarget target = log_target_of(options);
  JournalReading reading({target.directory, target.owner});
  const store::JournalFindings& findings = reading.examine(2);
  const JournaledLogs logs = reading.logs();
  reading.finish();
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

/// The journal to be verified: of a node of the configuration, or a copy that lies anywhere.
LogTarget target_to_verify(const LogOptions& options) {
  const bool copy = !options.journal.empty();
  if (copy != options.config.empty()) {
    throw Exception(Error(ErrorKind::bad_argument, copy ? "it is given with --config" : "neither it nor --journal is given")
                        .at(copy ? "--journal" : "--config")
                        .fix("name the journal by its configuration, or by its directory"));
  }
  if (!copy) return log_target_of(options);
  return {{}, {}, std::filesystem::absolute(options.journal).lexically_normal().string(), std::nullopt, NodeId(0)};
}

/// The owner of a journal that was examined, as it says itself. Nothing that is there is no journal without damage.
store::JournalOwner owner_of(const LogTarget& target, const store::JournalFindings& findings) {
  if (!findings.segments.empty()) return findings.segments.front().head.owner;
  if (target.owner && (findings.begun || !findings.damages.empty())) return *target.owner;
  throw Exception(Error(ErrorKind::resource, "there is no journal in it")
                      .at(target.directory)
                      .fix("name the directory with the files *.segment: <file_path>/<group_name>/<id>, or a copy of it; a "
                           "node makes its journal when it starts"));
}

int run_verify(const LogOptions& options) {
  std::optional<fabric::tls::SignerTrust> trust;
  if (!options.keys.empty()) trust.emplace(value_or_throw(fabric::tls::SignerTrust::read(options.keys)));
  LogTarget target = target_to_verify(options);
  JournalReading reading({target.directory, target.owner});
  constexpr std::uint64_t to_prove = 4;
  const store::JournalFindings& findings = reading.examine(trust ? to_prove : 2);
  const store::JournalOwner owner = owner_of(target, findings);
  target.node = owner.node;
  target.names = reading.names();
  Examined examined{findings};
  examined.logs = reading.logs();
  examined.refusals = reading.refusals(examined.logs);
  if (trust) examined.proof.emplace(prove(reading, examined.logs, owner, *trust));
  reading.finish();
  print_findings(target, examined, options.json);
  const bool proved = !examined.proof || examined.proof->holds();
  return number(!examined.whole() || !proved ? exit_code_of(ErrorKind::bad_input) : ExitCode::success);
}

constexpr const char* footer =
    R"(Subgroups with "storage": "logged" are kept in the journal of each member, in [PERS] file_path. These commands read
that of a node of this host, which may run meanwhile, but for repair; all but trim, adopt and repair change nothing. They
are for the node's user, and for root, who reads as that user. Without --id and local_id the node is the only one that has
a journal here.

All of the journal is read, so that damage is noticed. A log that began anew is listed from there on.

verify --keys says what the signatures of a node with [PERS] sign_logs prove to who has the certificate of the group's
authority. It needs no configuration and no private key: --journal names a copy of the directory, wherever it lies.

Examples:
  spindrift log ls --config derecho.cfg --id 1
  spindrift log dump orders --config derecho.cfg --id 1 --from 1200 --to 1300
  spindrift log dump orders --config derecho.cfg --id 1 --from 2026-11-28T10:00:00Z --json
  spindrift log replay orders --config derecho.cfg --id 1 --from 2026-11-28T10:00:00Z --pace 1 | my-program
  spindrift log trim orders --config derecho.cfg --id 1 --before 2026-11-01T00:00:00Z
  spindrift log adopt orders --from 2 --config derecho.cfg
  spindrift log verify --config derecho.cfg --id 1
  spindrift log repair --config derecho.cfg --id 1 --from copy/2 copy/3
  spindrift log verify --journal copy/1 --keys authority.crt)";

void add_verify_options(CLI::App& command, LogOptions& options) {
  add_member_options(command, options)->required(false);
  command.add_option("--journal", options.journal, "In place of --config: a journal's directory, or a copy of it")
      ->type_name("DIRECTORY")
      ->check(CLI::ExistingDirectory);
  command.add_option("--keys", options.keys,
                     "Prove the logs: the certificate of the group's authority, with its list of revoked ones behind it if "
                     "there is one; or a directory with authority.crt and revoked.crl")
      ->type_name("PATH")
      ->check(CLI::ExistingPath);
}

}  // namespace

void add_log_command(CLI::App& app, Work& chosen) {
  auto options = std::make_shared<LogOptions>();
  CLI::App* const log = app.add_subcommand("log", "Show what a node of this host keeps of logged subgroups, and check it");
  log->require_subcommand(1);
  log->footer(std::string(footer) + "\n\n" + exit_codes_text());
  const auto begin = [&](const char* name, const char* description, int (*run)(const LogOptions&)) {
    return add_command(*log, chosen, {name, description}, options, run);
  };
  CLI::App* const list = begin("ls", "List the logs: versions, last message, times, bytes, checkpoint, link", run_ls);
  add_member_options(*list, *options);
  add_json_option(*list, *options);
  CLI::App* const dump = begin("dump", "Print the messages of a log: \"version time [view.sequence] node: text\"", run_dump);
  add_member_options(*dump, *options);
  add_log_part_options(*dump, options->part, "print");
  add_json_option(*dump, *options, "Print one JSON object per message; bytes that are no UTF-8 in base64");
  add_replay_command(*log, chosen);
  add_trim_command(*log, chosen);
  add_adopt_command(*log, chosen);
  add_repair_command(*log, chosen);
  CLI::App* const verify = begin(
      "verify", "Read every byte, and say what is damaged; code 1 if durable entries are lost or not proved", run_verify);
  add_verify_options(*verify, *options);
  add_json_option(*verify, *options);
}

}  // namespace spindrift::tools
