// A bounded queue between those who write lines and the one thread that brings them to their place.
#include <spindrift/core/line_writer.hpp>

#include <csignal>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <spindrift/core/limits.hpp>

namespace spindrift {
namespace {

/// A thread that is started meanwhile handles no signal: a program's handlers run on the threads that the program knows.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_{};
};

enum class Place : std::uint8_t { takes_lines, stands_still };
enum class Worker : std::uint8_t { not_begun, runs, ends, refused };

}  // namespace

class LineWriter::Queue : public std::enable_shared_from_this<Queue> {
 public:
  explicit Queue(Sink sink) : sink_(std::move(sink)) {}

  void write(Line line) {
    // A forked child has no thread beside its own, and a copy of the mutex that may be locked for ever.
    if (::getpid() != owner_) return sink_(line, 0);
    std::unique_lock lock(mutex_);
    if (worker_ == Worker::not_begun) begin();
    if (worker_ == Worker::refused) return sink_(line, 0);
    if (lines_.size() == lines_max || bytes_ + line.text.size() > bytes_max) {
      ++lost_;
      return;
    }
    bytes_ += line.text.size();
    lines_.push_back(std::move(line));
    const std::uint64_t number = ++accepted_;
    more_.notify_one();
    if (place_ == Place::takes_lines && !await(lock, number, patience)) place_ = Place::stands_still;
  }

  bool await_written(std::chrono::milliseconds limit) {
    if (::getpid() != owner_) return true;
    std::unique_lock lock(mutex_);
    return await(lock, accepted_, limit);
  }

  void end() {
    if (::getpid() != owner_) return;
    const bool all_written = await_written(farewell);
    std::optional<std::thread> worker;
    {
      const std::lock_guard lock(mutex_);
      if (worker_ == Worker::runs) worker_ = Worker::ends;
      worker = std::exchange(thread_, std::nullopt);
    }
    more_.notify_one();
    if (!worker) return;
    if (all_written) {
      worker->join();
    } else {
      worker->detach();
    }
  }

 private:
  bool await(std::unique_lock<std::mutex>& lock, std::uint64_t number, std::chrono::milliseconds limit) {
    return written_.wait_for(lock, limit, [&] { return brought_ >= number; });
  }

  void begin() {
    const NoSignals quiet;
    auto started = start_thread([self = shared_from_this()] { self->bring(); });
    worker_ = started ? Worker::runs : Worker::refused;
    if (started) thread_ = std::move(*started);
  }

  void bring() {
    std::unique_lock lock(mutex_);
    while (true) {
      if (lines_.empty()) place_ = Place::takes_lines;
      more_.wait(lock, [&] { return !lines_.empty() || worker_ == Worker::ends; });
      if (lines_.empty()) return;
      const Line line = std::move(lines_.front());
      lines_.pop_front();
      bytes_ -= line.text.size();
      const std::uint64_t lost = std::exchange(lost_, 0);
      lock.unlock();
      sink_(line, lost);
      lock.lock();
      ++brought_;
      written_.notify_all();
    }
  }

  const Sink sink_;
  const pid_t owner_ = ::getpid();
  std::mutex mutex_;
  std::condition_variable more_;
  std::condition_variable written_;
  std::deque<Line> lines_;
  std::size_t bytes_ = 0;       ///< of `lines_`
  std::uint64_t accepted_ = 0;  ///< lines since the beginning
  std::uint64_t brought_ = 0;   ///< of which are at their place
  std::uint64_t lost_ = 0;      ///< since the last that was brought
  Place place_ = Place::takes_lines;
  Worker worker_ = Worker::not_begun;
  std::optional<std::thread> thread_;
};

void write_to_standard_error(std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
}

LineWriter::LineWriter(Sink sink) : queue_(std::make_shared<Queue>(std::move(sink))) {}

LineWriter::~LineWriter() { queue_->end(); }

void LineWriter::write(std::string text) { queue_->write({std::chrono::system_clock::now(), std::move(text)}); }

bool LineWriter::await_written(std::chrono::milliseconds limit) { return queue_->await_written(limit); }

}  // namespace spindrift
