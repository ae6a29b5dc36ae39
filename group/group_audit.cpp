// Views and ends as events.
#include <spindrift/group/group_audit.hpp>

#include <utility>

namespace spindrift::group {

void tell_view(AuditTrail& audit, const views::NewView& news, const std::vector<NodeId>& joined,
               const AddressOf& address_of) {
  const log::Field view("view", news.view.id);
  for (const views::Removal& each : news.failed) {
    audit.write({.kind = AuditKind::removed,
                 .subject = each.node,
                 .by = each.by,
                 .address = address_of(each.node),
                 .reason = each.reason,
                 .more = {view}});
  }
  for (const NodeId node : news.left) audit.write({.kind = AuditKind::left, .subject = node, .more = {view}});
  for (const NodeId node : joined) {
    const auto rank = news.view.rank_of(node);
    if (!rank) continue;
    audit.write({.kind = AuditKind::joined,
                 .subject = node,
                 .address = address_of(node),
                 .more = {view, {"incarnation", news.view.incarnations[rank->value()]}}});
  }
}

void RefusedNodes::tell(AuditTrail& audit, NodeId node, const std::string& reason, std::string address, Time now) {
  const std::uint64_t times = told_.due(node, reason, now);
  if (times == 0) return;
  std::vector<log::Field> more;
  if (times > 1) more.emplace_back("times", times);
  audit.write({.kind = AuditKind::refused,
               .subject = node,
               .address = std::move(address),
               .reason = reason,
               .more = std::move(more)});
}

void tell_end(AuditTrail& audit, NodeId self, const std::optional<Error>& failure) {
  if (!failure) return audit.write({.kind = AuditKind::left, .subject = self});
  const bool gone = failure->kind() == ErrorKind::removed || failure->kind() == ErrorKind::given_up;
  const AuditKind kind = gone ? AuditKind::removed : AuditKind::stopped;
  audit.write({.kind = kind, .subject = self, .reason = failure->to_string()});
}

}  // namespace spindrift::group
