// Words about logs, to the leader of a view.
#include <spindrift/views/own_logs.hpp>

#include <utility>

namespace spindrift::views {

std::vector<KnownLog> known_logs(const SubgroupLogs* logs, const std::vector<SubgroupView>& shapes) {
  std::vector<KnownLog> known;
  for (std::uint32_t s = 0; logs != nullptr && s < shapes.size(); ++s) {
    if (shapes[s].storage != SubgroupStorage::logged) continue;
    const LogPoint end = logs->end(SubgroupId(s));
    if (end.version > 0 && !logs->is_cut_short(SubgroupId(s))) known.push_back({SubgroupId(s), end});
  }
  return known;
}

// The leader of a view is another only when the view ends; then it is said anew in the next one.
bool say_own_logs(Epoch& present, const OwnRecord& record, const SubgroupLogs* logs, Links& links) {
  const Rank self = present.self();
  const View& view = present.view();
  if (logs == nullptr || !record.is_kept() || !present.asks_for_logs()) return false;
  const std::uint64_t since = record.record().logs_since();
  std::vector<KnownLog> known = known_logs(logs, {view.of_layout().begin(), view.of_layout().end()});
  const Rank leader = present.change().leader();
  if (leader == self) {
    present.hear_logs(self, since, std::move(known));
  } else {
    links.send(view.members[leader.value()], encode(OwnLogs{view.id, since, std::move(known)}));
  }
  return true;
}

bool hear_own_logs(Epoch* epoch, const PeerConnection& from, const Message& message) {
  const auto* const said = std::get_if<OwnLogs>(&message);
  if (said == nullptr) return false;
  const auto rank = epoch == nullptr ? std::nullopt : rank_of(epoch->view(), from.who);
  if (rank && said->view == epoch->id()) epoch->hear_logs(*rank, said->since, said->logs);
  return true;
}

}  // namespace spindrift::views
