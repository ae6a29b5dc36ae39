// The lines and the JSON of `spindrift log`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <spindrift/core/view.hpp>

#include "journal_reading.hpp"
#include "log_proofs.hpp"

namespace spindrift::tools {

/// The journal that a command looks at.
struct LogTarget {
  std::string config;  ///< the name of the file; empty: none was given
  View layout;         ///< a view of all members, by that
  std::string directory;
  std::optional<store::JournalOwner> owner;  ///< whose it must be
  NodeId node;
  LogNames names{};  ///< as the node has recorded them; a layout may have others at their places

  /// The subgroup of the log there, by the recorded name, or if there is none by the layout. Null: the layout has none.
  [[nodiscard]] const SubgroupView* subgroup(SubgroupId id) const;
};

/// The logs as a table, or as a document.
void print_logs(const LogTarget& target, const JournaledLogs& logs, bool json);

/// A line for a message, with its end.
[[nodiscard]] std::string message_line(const store::Entry& message, bool json);

/// A journal that was read.
struct Examined {
  const store::JournalFindings& findings;
  JournaledLogs logs{};
  std::vector<JournalRefusal> refusals{};
  std::optional<JournalProof> proof{};  ///< nothing: none was asked for

  /// No entry that was durable is lost, and nothing keeps the node from starting.
  [[nodiscard]] bool whole() const noexcept { return findings.loss() == nullptr && refusals.empty(); }
};
void print_findings(const LogTarget& target, const Examined& examined, bool json);

/// Messages of that log that cannot be read.
[[nodiscard]] std::string lost_text(const std::vector<VersionRange>& lost);
/// "orders", or "place 3" if the layout has no subgroup of its name.
[[nodiscard]] std::string name_of(const LogTarget& target, SubgroupId id);

}  // namespace spindrift::tools
