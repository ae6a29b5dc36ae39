// A thread with a queue of names.
#include <spindrift/fabric/connected/resolver.hpp>

#include <utility>

namespace spindrift::fabric::connected {

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
    auto address = resolve(endpoint, false);
    lock.lock();
    answers_.push_back({node, std::move(address)});
    wake_();
  }
}

}  // namespace spindrift::fabric::connected
