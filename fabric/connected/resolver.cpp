// A thread with a queue of names.
#include <spindrift/fabric/connected/resolver.hpp>

#include <netinet/in.h>
#include <resolv.h>

#include <condition_variable>
#include <deque>
#include <mutex>
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

struct Resolver::Shared {
  enum class State : std::uint8_t { idle, asking, over };

  explicit Shared(std::function<void()> on_answer) : wake(std::move(on_answer)) {}

  void work();

  const std::function<void()> wake;  // behind the mutex, as all that follows, and not called when it is over
  std::mutex mutex;
  std::condition_variable asked;
  std::deque<std::pair<NodeId, std::string>> questions;
  std::deque<Answer> answers;
  State state = State::idle;
};

Resolver::Resolver(std::function<void()> wake) : shared_(std::make_shared<Shared>(std::move(wake))) {}

Resolver::~Resolver() {
  if (!thread_.joinable()) return;
  bool asking = false;
  {
    const std::lock_guard lock(shared_->mutex);
    asking = std::exchange(shared_->state, Shared::State::over) == Shared::State::asking;
  }
  shared_->asked.notify_one();
  if (asking) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void Resolver::ask(NodeId node, std::string endpoint) {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->questions.emplace_back(node, std::move(endpoint));
  }
  if (!thread_.joinable()) thread_ = std::thread([shared = shared_] { shared->work(); });
  shared_->asked.notify_one();
}

std::optional<Resolver::Answer> Resolver::take() {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->answers.empty()) return std::nullopt;
  Answer answer = std::move(shared_->answers.front());
  shared_->answers.pop_front();
  return answer;
}

void Resolver::Shared::work() {
  std::unique_lock lock(mutex);
  while (true) {
    asked.wait(lock, [this] { return state == State::over || !questions.empty(); });
    if (state == State::over) return;
    const auto [node, endpoint] = std::move(questions.front());
    questions.pop_front();
    state = State::asking;
    lock.unlock();
    bound_lookups();
    auto address = resolve(endpoint, false);
    lock.lock();
    if (state == State::over) return;
    state = State::idle;
    answers.push_back({node, std::move(address)});
    wake();
  }
}

}  // namespace spindrift::fabric::connected
