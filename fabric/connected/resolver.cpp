// A thread with a queue of names.
#include <spindrift/fabric/connected/resolver.hpp>

#include <netinet/in.h>
#include <resolv.h>

#include <utility>

namespace spindrift::fabric::connected {
namespace {

constexpr int answer_within_s = 1;  // of each server, for the first question; twice that for the second
constexpr int questions_max = 2;

/// From here on this thread waits for each name server a few seconds at most, whatever /etc/resolv.conf says. The state of
/// the resolver belongs to the thread; it is read anew each time, for the servers may be others by now.
void bound_lookups() noexcept {
  if (::res_init() != 0) return;
  _res.retrans = answer_within_s;
  _res.retry = questions_max;
}

}  // namespace

Resolver::~Resolver() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  asked_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Resolver::ask(NodeId node, std::string endpoint) {
  {
    const std::lock_guard lock(mutex_);
    questions_.emplace_back(node, std::move(endpoint));
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  asked_.notify_one();
}

std::optional<Resolver::Answer> Resolver::take() {
  const std::lock_guard lock(mutex_);
  if (answers_.empty()) return std::nullopt;
  Answer answer = std::move(answers_.front());
  answers_.pop_front();
  return answer;
}

void Resolver::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    asked_.wait(lock, [this] { return ends_ || !questions_.empty(); });
    if (ends_) return;
    const auto [node, endpoint] = std::move(questions_.front());
    questions_.pop_front();
    lock.unlock();
    bound_lookups();
    auto address = resolve(endpoint, false);
    lock.lock();
    answers_.push_back({node, std::move(address)});
    wake_();
  }
}

}  // namespace spindrift::fabric::connected
