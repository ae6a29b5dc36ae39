// The audit of a member: who came into its group, who was refused or removed, and which keys changed, each with who and why.
// One line for each, in the log and, if there is one, in a file of its own.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/line_writer.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift {

enum class AuditKind : std::uint8_t {
  began,                ///< this member starts
  proved,               ///< a connection stands, and its other end has shown whose key it holds
  refused,              ///< somebody is not let in, or a node that was called is not who it should be
  cut_off,              ///< a connection was ended because its certificate no longer counts
  joined,               ///< a node is in the view
  left,                 ///< a member left on its own wish
  removed,              ///< a member was removed
  stopped,              ///< this member ended with an error
  key_changed,          ///< this node has another key
  authorities_changed,  ///< this node trusts others to sign
  revocations_changed,  ///< other certificates are revoked
  keys_rejected,        ///< new files of keys are not taken
};
inline constexpr std::size_t audit_kind_count = 12;

[[nodiscard]] std::string_view to_string(AuditKind kind) noexcept;

/// A certificate's own words, as text; nobody need have verified it.
struct ShownCertificate {
  std::string identity;     ///< as its URI, or what it calls itself
  std::string serial;       ///< in hexadecimal digits
  std::string fingerprint;  ///< SHA-256, in hexadecimal digits
};

/// An event is one line, from which a member that was not set is left out.
struct AuditEvent {
  AuditKind kind = AuditKind::began;
  std::optional<NodeId> subject{};  ///< whom it is about
  std::optional<NodeId> by{};       ///< who said so
  std::string address{};            ///< where the subject listens, as configured
  std::string from{};               ///< a caller's address
  std::string to{};                 ///< the address that was called
  std::optional<ShownCertificate> certificate{};
  std::string reason{};
  std::vector<log::Field> more{};
};

enum class AbsentFile : std::uint8_t { make, refuse };

/// Opens a file to which lines of the audit may be appended: another user that may write it could make the audit say
/// anything. Errors: resource, bad_config.
[[nodiscard]] Result<FileDescriptor> open_audit_file(const std::string& path, AbsentFile absent);

/// Threads: any. Of what strangers cause, refusals and proofs, 40 lines of each in ten seconds are written, and behind them
/// how many were not. Values are cut at 1000 bytes, and hold printable ASCII alone.
class AuditTrail {
 public:
  static constexpr std::size_t lines_max = 40;
  static constexpr auto between_lines = std::chrono::seconds(10);

  /// The log alone, without saying whose it is.
  AuditTrail() = default;
  /// `file` empty: the log alone. A file that cannot be written is told of in the log, with how much it lacks, and stops
  /// nothing; each line opens it anew. One that stands still holds up a caller for a few milliseconds, once.
  AuditTrail(std::string group, NodeId node, const std::string& file, const Clock& clock = system_clock);

  void write(AuditEvent event);
  /// Whether everything that was written before is in the file, or was lost, within `limit`.
  [[nodiscard]] bool await_written(std::chrono::milliseconds limit);

 private:
  struct Budget {
    Time until{};
    std::size_t lines = 0;     ///< since `between_lines` before
    std::uint64_t unsaid = 0;  ///< since the last line
  };

  [[nodiscard]] bool within_budget(AuditEvent& event);

  static const SystemClock system_clock;

  std::mutex mutex_;
  const Clock& clock_ = system_clock;
  const std::string group_;
  const NodeId node_{};
  const std::unique_ptr<LineWriter> file_;  ///< null: the log alone
  std::array<Budget, audit_kind_count> budgets_;
};

}  // namespace spindrift
