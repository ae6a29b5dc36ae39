// A neighbor in a process of its own, whose memory a test looks into: sends back whatever it is sent in the subgroup "news".
//
//   rows_peer CONFIG
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <queue>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include <spindrift/group/group.hpp>

namespace {

/// Answers on a thread of its own: a subgroup takes nothing between two views, and a handler may not wait for the next one.
class Echo {
 public:
  explicit Echo(spindrift::Subgroup& to) : to_(to), thread_([this] { run(); }) {}
  ~Echo() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  Echo(const Echo&) = delete;
  Echo& operator=(const Echo&) = delete;

  void answer(std::string text) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push(std::move(text));
    }
    changed_.notify_one();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
      if (ending_) return;
      const std::string text = std::move(waiting_.front());
      waiting_.pop();
      lock.unlock();
      try {
        to_.send(text);
      } catch (const spindrift::Exception& failure) {
        std::fprintf(stderr, "cannot answer: %s\n", failure.what());
        return;
      }
      lock.lock();
    }
  }

  spindrift::Subgroup& to_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::queue<std::string> waiting_;
  bool ending_ = false;
  std::thread thread_;  // the last: it uses the others
};

}  // namespace

int main(int count, char** arguments) {
  using namespace spindrift;
  if (count != 2) return EXIT_FAILURE;
  try {
    Group group(value_or_throw(Config::read(arguments[1])));
    Subgroup& news = group.subgroup("news");
    Echo echo(news);
    news.on_delivery([&](std::span<const Delivery> batch) {
      for (const Delivery& delivery : batch) {
        if (delivery.sender == group.self()) continue;
        echo.answer("again " + std::string(reinterpret_cast<const char*>(delivery.payload.data()), delivery.payload.size()));
      }
    });
    group.wait();
    return EXIT_SUCCESS;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return EXIT_FAILURE;
  }
}
