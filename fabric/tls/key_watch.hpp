// Looks once a second whether the files of a node's keys have changed, and says in the audit what came of it; and in the log
// when the certificate is to be replaced.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <spindrift/core/audit.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>

namespace spindrift::fabric::tls {

class Credentials;
struct KeyChange;

/// Tells of another key, other authorities, and which certificates are revoked now and were not, or the other way round;
/// nothing, if all is as before. `by`: the member that has handed the lists on; nothing: they are from the files.
void tell_change(const KeyChange& change, std::optional<NodeId> by, AuditTrail& audit);

/// Belongs to one thread.
class KeyWatch {
 public:
  /// Null: there are no keys, and nothing to look at.
  KeyWatch(std::shared_ptr<Credentials> credentials, std::shared_ptr<AuditTrail> audit, Time now)
      : credentials_(std::move(credentials)),
        audit_(std::move(audit)),
        next_look_(credentials_ == nullptr ? never : now + between_looks) {}

  /// Looks if it is time to. Whether other keys are in force, so that who is connected is to be judged anew. Files that are
  /// copied one by one do not fit together for a moment: what is wrong with them is told once.
  [[nodiscard]] bool look(Time now);
  [[nodiscard]] Time next_look() const noexcept { return next_look_; }

 private:
  static constexpr auto between_looks = std::chrono::seconds(1);
  static constexpr auto between_warnings = std::chrono::hours(12);

  void look_at_end(Time now);

  std::shared_ptr<Credentials> credentials_;
  std::shared_ptr<AuditTrail> audit_;
  Time next_look_;
  std::string wrong_;  ///< as it was told last
  std::optional<Time> warned_;  ///< last, of the certificate in force
};

}  // namespace spindrift::fabric::tls
