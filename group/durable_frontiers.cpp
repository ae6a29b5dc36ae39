// A number per subgroup, behind one mutex.
#include <spindrift/group/durable_frontiers.hpp>

#include <utility>

#include <spindrift/group/upcall_heartbeats.hpp>

namespace spindrift::group {

std::shared_ptr<const DurableFrontiers::Handler> DurableFrontiers::advance(SubgroupId id, std::uint64_t version) {
  std::shared_ptr<const Handler> handler;
  {
    const std::lock_guard lock(mutex_);
    Frontier& frontier = frontiers_[id];
    frontier.version = version;
    frontier.untold = false;
    handler = frontier.handler;
  }
  changed_.notify_all();
  return handler;
}

void DurableFrontiers::News::tell(UpcallHeartbeats& heartbeats) const {
  if (!handler) return;
  const UpcallHeartbeats::Upcall upcall(heartbeats, id);
  (*handler)(version);
}

std::vector<DurableFrontiers::News> DurableFrontiers::take_untold() {
  if (!any_untold_.load(std::memory_order_relaxed)) return {};
  const std::lock_guard lock(mutex_);
  any_untold_.store(false, std::memory_order_relaxed);
  std::vector<News> news;
  for (auto& [id, frontier] : frontiers_) {
    if (std::exchange(frontier.untold, false)) news.push_back({id, frontier.version, frontier.handler});
  }
  return news;
}

void DurableFrontiers::end() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
}

std::uint64_t DurableFrontiers::version(SubgroupId id) const {
  const std::lock_guard lock(mutex_);
  const auto found = frontiers_.find(id);
  return found == frontiers_.end() ? 0 : found->second.version;
}

bool DurableFrontiers::await(SubgroupId id, std::uint64_t version, std::optional<Duration> limit) const {
  std::unique_lock lock(mutex_);
  const auto is_durable = [&] {
    const auto found = frontiers_.find(id);
    return found != frontiers_.end() && found->second.version > version;
  };
  const auto over = [&] { return is_durable() || over_; };
  if (limit) {
    static_cast<void>(changed_.wait_for(lock, *limit, over));
  } else {
    changed_.wait(lock, over);
  }
  return is_durable();
}

bool DurableFrontiers::set_handler(SubgroupId id, Handler handler) {
  const std::lock_guard lock(mutex_);
  Frontier& frontier = frontiers_[id];
  if (frontier.handler) return false;
  frontier.handler = std::make_shared<const Handler>(std::move(handler));
  if (frontier.version == 0) return true;
  frontier.untold = true;
  any_untold_.store(true, std::memory_order_relaxed);
  return true;
}

}  // namespace spindrift::group
