// Calls as the audit tells of them: proved ones and refused ones, with the address and what was shown.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <spindrift/core/audit.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/connected/node_refusals.hpp>
#include <spindrift/fabric/connected/socket_address.hpp>
#include <spindrift/fabric/refused_callers.hpp>
#include <spindrift/fabric/tcp/admission.hpp>
#include <spindrift/fabric/tcp/byte_stream.hpp>

namespace spindrift::fabric::tcp {

/// "10.0.0.1 port 7400"
[[nodiscard]] std::string text_of(const connected::SocketAddress& address);

/// Belongs to the thread in which connections begin. `stream`: null before there is one.
class CallerAudit {
 public:
  explicit CallerAudit(std::shared_ptr<AuditTrail> audit) : audit_(std::move(audit)), nodes_(audit_) {}

  void on_called(NodeId node, const connected::SocketAddress& to, const ByteStream& stream);
  void on_caller(NodeId node, const connected::SocketAddress& from, const ByteStream& stream);
  /// A node was called. One that does not answer is not told of, for that may pass.
  void on_failed_call(NodeId node, const connected::SocketAddress& to, const ByteStream* stream, const Error& why, Time now);
  /// A process that hangs up has most often met this one by a call of its own, and is no matter of the audit.
  void on_failed_caller(const connected::SocketAddress& from, const ByteStream* stream, const Error& why, Time now);

 private:
  const std::shared_ptr<AuditTrail> audit_;
  connected::NodeRefusals nodes_;
  RefusedCallers<Source> callers_;
};

}  // namespace spindrift::fabric::tcp
