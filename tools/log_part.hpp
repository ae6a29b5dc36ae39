// The part of a subgroup's log that a command is asked for, and the messages in it that can be read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "commands.hpp"
#include "journal_reading.hpp"
#include "log_output.hpp"

namespace spindrift::tools {

/// The place of a message in a log: its version, or when it came.
struct LogBound {
  enum class Kind : std::uint8_t { version, time };
  Kind kind = Kind::version;
  std::uint64_t value = 0;  ///< a version, or nanoseconds since 1970

  /// Whether a message is before it.
  [[nodiscard]] bool is_behind(std::uint64_t version, std::uint64_t time) const noexcept {
    return (kind == Kind::version ? version : time) < value;
  }
};
/// "1200" or "2026-11-28T10:00:00Z". Errors: bad_argument, whose message says what is wrong.
[[nodiscard]] Result<LogBound> parse_bound(const std::string& text);

/// The words of a command line that say which part.
struct LogPart {
  std::string subgroup;
  std::string from;  ///< a bound; empty: from the first message on
  std::string to;    ///< likewise, and not in it; empty: up to the last one
};
/// An option that takes a bound, and refuses what is none.
CLI::Option* add_log_bound_option(CLI::App& command, const std::string& name, std::string& value,
                                  const std::string& description);
/// NAME or --subgroup, --from and --to. `does` says what is done to the messages.
void add_log_part_options(CLI::App& command, LogPart& part, const std::string& does);

class LogMessages {
 public:
  /// Opens the journal. Throws bad_argument (no log has such a part), and as JournalReading.
  LogMessages(LogTarget target, const LogPart& part);

  /// Reads all of the journal. Throws bad_argument (there is no such log, or it has no such part), bad_input (that is lost),
  /// and as JournalReading.
  void find();
  /// Behind `find`: those that can be read, in order, until the visitor wants no more. Once.
  void visit(const store::EntryVisitor& visitor);
  /// Behind `find`: those that versions leave of this part; behind `visit` those that times leave, too.
  [[nodiscard]] const VersionRange& versions() const noexcept { return versions_; }
  /// Behind `visit`. Throws bad_input if messages of this part, or entries of nobody knows which log, are lost.
  void require_whole() const;

 private:
  void require_bounds() const;
  void require_version() const;
  void tell_of_late_beginning() const;

  LogTarget target_;
  const LogPart part_;
  std::optional<LogBound> from_;
  std::optional<LogBound> to_;
  JournalReading reading_;
  JournaledLog log_;
  const store::JournalFindings* findings_ = nullptr;  // behind `find`
  VersionRange versions_;
};

}  // namespace spindrift::tools
