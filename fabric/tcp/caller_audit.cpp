// Events of the audit from calls.
#include <spindrift/fabric/tcp/caller_audit.hpp>

#include <optional>

#include <spindrift/core/log.hpp>

namespace spindrift::fabric::tcp {
namespace {

std::optional<ShownCertificate> shown_on(const ByteStream* stream) {
  return stream == nullptr ? std::nullopt : stream->certificate();
}

}  // namespace

std::string text_of(const connected::SocketAddress& address) {
  const auto numbers = connected::in_numbers(address);
  return numbers ? numbers->host + " port " + numbers->port : "an unknown address";
}

// Without keys nobody proves anything.
void CallerAudit::on_called(NodeId node, const connected::SocketAddress& to, const ByteStream& stream) {
  if (auto shown = stream.certificate())
    audit_->write({.kind = AuditKind::proved, .subject = node, .to = text_of(to), .certificate = std::move(shown)});
}

void CallerAudit::on_caller(NodeId node, const connected::SocketAddress& from, const ByteStream& stream) {
  if (auto shown = stream.certificate())
    audit_->write({.kind = AuditKind::proved, .subject = node, .from = text_of(from), .certificate = std::move(shown)});
}

void CallerAudit::on_failed_call(NodeId node, const connected::SocketAddress& to, const ByteStream* stream, const Error& why,
                                 Time now) {
  if (why.kind() == ErrorKind::refused) nodes_.tell(node, why, now, text_of(to), shown_on(stream));
}

void CallerAudit::on_failed_caller(const connected::SocketAddress& from, const ByteStream* stream, const Error& why,
                                   Time now) {
  const bool hung_up = why.kind() == ErrorKind::member_lost;
  if (hung_up && !log::enabled(log::Room::fabric, log::Level::info)) return;
  const std::string reason = why.to_string();
  const std::uint64_t times = callers_.due(Source::of(from), reason, now);
  if (times == 0) return;
  if (hung_up)
    return log::info(log::Room::fabric, "a caller hung up", {{"from", text_of(from)}, {"reason", reason}, {"times", times}});
  audit_->write({.kind = AuditKind::refused,
                 .from = text_of(from),
                 .certificate = shown_on(stream),
                 .reason = reason,
                 .more = {{"times", times}}});
}

}  // namespace spindrift::fabric::tcp
