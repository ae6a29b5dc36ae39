// Sessions for those that need them, and time limits.
#include <spindrift/fabric/connected/proofs.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

#include <spindrift/core/log.hpp>
#include <spindrift/fabric/tls/credentials.hpp>

namespace spindrift::fabric::connected {
namespace {

constexpr auto proof_max = std::chrono::seconds(3);
constexpr auto between_attempts = std::chrono::seconds(1);

}  // namespace

Proofs::Proofs(std::shared_ptr<tls::Credentials> credentials, std::shared_ptr<AuditTrail> audit, NodeId self,
               std::uint64_t incarnation, Time now, ProvedBy proved_by)
    : credentials_(std::move(credentials)),
      audit_(std::move(audit)),
      self_(self),
      incarnation_(incarnation),
      proved_by_(proved_by),
      key_watch_(proved_by == ProvedBy::session ? credentials_ : nullptr, audit_, now),
      refusals_(audit_) {
  if (credentials_ == nullptr) return;
  revision_ = credentials_->revision();
  lists_ = credentials_->lists();
}

void Proofs::attach(Connection& connection) const {
  if (credentials_ == nullptr || proved_by_ == ProvedBy::transport) return;
  auto records = connection.call().state == PeerCall::State::calling ? tls::RecordSession::calling(credentials_)
                                                                     : tls::RecordSession::answering(credentials_);
  if (!records) return connection.break_down(records.error().to_string());
  connection.session = std::make_unique<ControlSession>(std::move(records).value(), self_, incarnation_);
}

void Proofs::begin(ControlSession& session, Time now) {
  session.begin(now + proof_max);
  next_deadline_ = std::min(next_deadline_, session.deadline());
}

// A sign of life says nothing; a last word before the proof ends what has not begun; and small writes are data, which this
// fabric leaves in the clear, as it does all others. Without a session all is as safe as the transport makes it; but who has
// no keys has no use for lists.
bool Proofs::may_be_clear(const Connection& connection, Kind kind) const noexcept {
  if (connection.session == nullptr) return kind != Kind::sealed && (kind != Kind::revoked || credentials_ != nullptr);
  const bool proved = connection.session->state() == ControlSession::State::proved;
  return kind == Kind::alive || kind == (proved ? Kind::writes : Kind::goodbye);
}

Result<void> Proofs::judge(const Connection& connection, bool other_keys, Time now) {
  if (credentials_ == nullptr) return {};
  const ControlSession* const session = connection.session.get();
  if (session == nullptr || session->state() == ControlSession::State::proved)
    return other_keys ? judge_again(connection) : Result<void>();
  Result<void> verdict;
  if (now >= session->deadline()) {
    verdict = Error(ErrorKind::timed_out, "it did not prove who it is in 3 s");
  } else {
    next_deadline_ = std::min(next_deadline_, session->deadline());
  }
  if (!verdict) on_refused(connection, verdict.error(), now);
  return verdict;
}

Result<void> Proofs::judge_again(const Connection& connection) const {
  auto verdict = connection.recheck();
  if (!verdict) {
    audit_->write({.kind = AuditKind::cut_off,
                   .subject = connection.node(),
                   .certificate = connection.certificate(),
                   .reason = verdict.error().to_string()});
  }
  return verdict;
}

void Proofs::on_proved(const Connection& connection) {
  audit_->write({.kind = AuditKind::proved, .subject = connection.node(), .certificate = connection.certificate()});
}

void Proofs::on_refused(const Connection& connection, const Error& why, Time now) {
  refusals_.tell(connection.node(), why, now, {}, connection.certificate());
  if (credentials_ != nullptr) credentials_->note_refusal(connection.node(), why);
}

void Proofs::give_lists(Connection& connection) const {
  if (lists_ == nullptr) return;
  for (const auto& message : revoked_messages(*lists_)) connection.send_sealed(message, false, 0);
  connection.ring();
}

// Lists that are good, and that this node cannot take all the same, are its own trouble.
Result<void> Proofs::take_lists(Connection& connection, const Control& revoked, Time now) {
  auto whole = connection.heard_lists.take(revoked.payload, revoked.rest, now);
  if (whole && !*whole) return {};
  auto taken = whole ? credentials_->take_lists(**whole) : Result<bool>(std::move(whole).error());
  if (!taken && taken.error().kind() == ErrorKind::refused) {
    on_refused(connection, taken.error(), now);
    return std::move(taken).error();
  }
  if (!taken) {
    log::error(log::Room::fabric, "lists of revoked certificates are not taken",
               {{"from", connection.node()}, {"reason", taken.error().to_string()}});
  } else if (*taken) {
    tls::tell_change(credentials_->take_change(), connection.node(), *audit_);
  }
  return {};
}

bool Proofs::take_newer_lists() {
  const auto before = std::exchange(lists_, credentials_->lists());
  return *before != *lists_;
}

std::optional<Error> Proofs::take_own_end() {
  if (!credentials_->revoked() || std::exchange(own_end_told_, true)) return std::nullopt;
  return tls::own_certificate_revoked(credentials_->identity().uri());
}

void Proofs::on_gone(const Connection& connection, Time now) {
  if (connection.session == nullptr || connection.session->state() == ControlSession::State::waiting) return;
  if (wanted_.contains(connection.node())) due_[connection.node()] = now + between_attempts;
}

void Proofs::forget(NodeId node) {
  wanted_.erase(node);
  due_.erase(node);
}

// Other keys came into force by what a peer said, or in the transport's own thread: that is due at once.
Time Proofs::next_time() const noexcept {
  if (credentials_ != nullptr && credentials_->revision() != revision_) return Time{};
  Time next = std::min(key_watch_.next_look(), next_deadline_);
  for (const auto& [node, at] : due_) next = std::min(next, at);
  return next;
}

bool Proofs::on_time(Time now) {
  if (now >= next_deadline_) next_deadline_ = never;
  static_cast<void>(key_watch_.look(now));
  if (credentials_ == nullptr) return false;
  const std::uint64_t revision = credentials_->revision();
  return std::exchange(revision_, revision) != revision;
}

std::vector<NodeId> Proofs::take_due(Time now) {
  std::vector<NodeId> nodes;
  for (const auto& [node, at] : due_) {
    if (at <= now) nodes.push_back(node);
  }
  for (const NodeId node : nodes) due_.erase(node);
  return nodes;
}

}  // namespace spindrift::fabric::connected
