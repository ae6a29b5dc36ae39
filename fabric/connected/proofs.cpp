// Sessions for those that need them, and time limits.
#include <spindrift/fabric/connected/proofs.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

#include <spindrift/fabric/tls/credentials.hpp>

namespace spindrift::fabric::connected {
namespace {

constexpr auto proof_max = std::chrono::seconds(3);
constexpr auto between_attempts = std::chrono::seconds(1);

}  // namespace

Proofs::Proofs(std::shared_ptr<tls::Credentials> credentials, NodeId self, std::uint64_t incarnation, Time now)
    : credentials_(std::move(credentials)), self_(self), incarnation_(incarnation), key_watch_(credentials_, now) {}

void Proofs::attach(Connection& connection) const {
  if (credentials_ == nullptr) return;
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
// fabric leaves in the clear, as it does all others.
bool Proofs::may_be_clear(const Connection& connection, Kind kind) noexcept {
  if (connection.session == nullptr) return kind != Kind::sealed;
  const bool proved = connection.session->state() == ControlSession::State::proved;
  return kind == Kind::alive || kind == (proved ? Kind::writes : Kind::goodbye);
}

Result<void> Proofs::judge(const Connection& connection, bool other_keys, Time now) {
  if (connection.session == nullptr) return {};
  const ControlSession& session = *connection.session;
  Result<void> verdict;
  if (session.state() == ControlSession::State::proved) {
    if (other_keys) verdict = session.recheck();
  } else if (now >= session.deadline()) {
    verdict = Error(ErrorKind::timed_out, "it did not prove who it is in 3 s");
  } else {
    next_deadline_ = std::min(next_deadline_, session.deadline());
  }
  if (!verdict) on_refused(connection.node(), verdict.error());
  return verdict;
}

void Proofs::on_gone(const Connection& connection, Time now) {
  if (connection.session == nullptr || connection.session->state() == ControlSession::State::waiting) return;
  if (wanted_.contains(connection.node())) due_[connection.node()] = now + between_attempts;
}

void Proofs::forget(NodeId node) {
  wanted_.erase(node);
  due_.erase(node);
}

Time Proofs::next_time() const noexcept {
  Time next = std::min(key_watch_.next_look(), next_deadline_);
  for (const auto& [node, at] : due_) next = std::min(next, at);
  return next;
}

bool Proofs::on_time(Time now) {
  if (now >= next_deadline_) next_deadline_ = never;
  return key_watch_.look(now);
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
