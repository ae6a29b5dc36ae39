// The consequences of a look at the files of keys.
#include <spindrift/fabric/tls/key_watch.hpp>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>

#include <spindrift/core/log.hpp>
#include <spindrift/fabric/tls/credentials.hpp>

namespace spindrift::fabric::tls {
namespace {

/// Those of `some` that are not among `others`, as many as are read at a glance.
std::string listed_beyond(const std::set<std::string>& some, const std::set<std::string>& others) {
  constexpr std::size_t listed_max = 16;
  std::vector<std::string> beyond;
  std::set_difference(some.begin(), some.end(), others.begin(), others.end(), std::back_inserter(beyond));
  std::string text;
  for (std::size_t i = 0; i < std::min(beyond.size(), listed_max); ++i) text += (i == 0 ? "" : ",") + beyond[i];
  return beyond.size() <= listed_max ? text : text + " and " + std::to_string(beyond.size() - listed_max) + " more";
}

void tell_revocations(const KeyFacts& before, const KeyFacts& now, std::optional<NodeId> by, AuditTrail& audit) {
  if (before.revoked == now.revoked) return;
  audit.write({.kind = AuditKind::revocations_changed,
               .by = by,
               .reason = by ? "a member has handed on a newer list" : "the files in keys have changed",
               .more = {{"added", listed_beyond(now.revoked, before.revoked)},
                        {"gone", listed_beyond(before.revoked, now.revoked)},
                        {"revoked", now.revoked.size()}}});
}

}  // namespace

void tell_change(const KeyChange& change, std::optional<NodeId> by, AuditTrail& audit) {
  const auto& [before, now] = change;
  if (before.own.fingerprint != now.own.fingerprint) {
    audit.write({.kind = AuditKind::key_changed,
                 .certificate = now.own,
                 .reason = "the files in keys have changed",
                 .more = {{"serial_before", before.own.serial}}});
  }
  if (before.authorities != now.authorities) {
    audit.write({.kind = AuditKind::authorities_changed,
                 .reason = "the files in keys have changed",
                 .more = {{"added", listed_beyond(now.authorities, before.authorities)},
                          {"gone", listed_beyond(before.authorities, now.authorities)}}});
  }
  tell_revocations(before, now, by, audit);
}

// A member whose certificate has expired keeps its connections, and gets no new one: nobody tells it.
void KeyWatch::look_at_end(Time now) {
  const Validity validity = credentials_->validity();
  const auto today = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  if (!is_to_be_replaced(validity, today)) return warned_.reset();
  if (warned_ && now - *warned_ < between_warnings) return;
  warned_ = now;
  log::warn(log::Room::fabric, "this node's certificate is to be replaced",
            {{"until", time_text(validity.until)},
             {"now", time_text(today)},
             {"fix", "spindrift keys rotate, and copy the node's directory here: it needs no restart"}});
}

bool KeyWatch::look(Time now) {
  if (now < next_look_) return false;
  next_look_ = now + between_looks;
  look_at_end(now);
  const std::uint64_t revision = credentials_->revision();
  const auto changed = credentials_->reload();
  if (!changed) {
    std::string why = changed.error().to_string();
    if (why != wrong_) audit_->write({.kind = AuditKind::keys_rejected, .reason = why});
    wrong_ = std::move(why);
    tell_change(credentials_->take_change(), std::nullopt, *audit_);
    return credentials_->revision() != revision;
  }
  wrong_.clear();
  if (*changed) tell_change(credentials_->take_change(), std::nullopt, *audit_);
  return *changed;
}

}  // namespace spindrift::fabric::tls
