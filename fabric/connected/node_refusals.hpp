// The audit's lines on nodes with which there is no connection, where waiting will not mend it: calls are repeated every
// second, and a stranger can call in the name of any node, but an audit is read by people.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <spindrift/core/audit.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/refused_callers.hpp>

namespace spindrift::fabric::connected {

/// Why there is no connection with a node: told at once, and for the same reason every hour.
class NodeRefusals {
 public:
  static constexpr Duration until_repeated = std::chrono::hours(1);

  explicit NodeRefusals(std::shared_ptr<AuditTrail> audit) : audit_(std::move(audit)) {}

  /// `to`: the address that was called, if that is known; `certificate`: what was shown there.
  void tell(NodeId node, const Error& why, Time now, std::string to = {}, std::optional<ShownCertificate> certificate = {}) {
    const std::string reason = why.to_string();
    const std::uint64_t times = refused_.due(node, reason, now);
    if (times == 0) return;
    audit_->write({.kind = AuditKind::refused,
                   .subject = node,
                   .to = std::move(to),
                   .certificate = std::move(certificate),
                   .reason = reason,
                   .more = {{"times", times}}});
  }

 private:
  const std::shared_ptr<AuditTrail> audit_;
  RefusedCallers<NodeId> refused_{until_repeated};
};

}  // namespace spindrift::fabric::connected
