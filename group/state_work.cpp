// Saving and loading beside the poller.
#include <spindrift/group/state_work.hpp>

#include <system_error>
#include <utility>

#include <spindrift/core/limits.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/group/state_file.hpp>

namespace spindrift::group {

/// A state that is saved, or is being saved.
class StateWork::Saved {
 public:
  void keep(const Saver& save) {
    file_ = keep_state(save);
    ready_.store(true, std::memory_order_release);
  }
  [[nodiscard]] bool ready() const noexcept { return ready_.load(std::memory_order_acquire); }
  [[nodiscard]] views::StateReader& file() const { return *file_; }

 private:
  std::unique_ptr<views::StateReader> file_;  // before `ready_`
  std::atomic<bool> ready_{false};
};

class StateWork::Reader final : public views::StateReader {
 public:
  explicit Reader(std::shared_ptr<Saved> saved) : saved_(std::move(saved)) {}
  [[nodiscard]] bool ready() const noexcept override { return saved_->ready(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return saved_->file().bytes(); }
  void read(std::uint64_t offset, std::span<std::byte> to) override { saved_->file().read(offset, to); }

 private:
  std::shared_ptr<Saved> saved_;
};

class StateWork::Writer final : public views::StateWriter {
 public:
  explicit Writer(StateWork& work) : work_(work), collected_(collect_state(work.load_)) {}
  void write(std::span<const std::byte> piece) override { collected_->write(piece); }
  void finish() override {
    work_.loads_.fetch_add(1, std::memory_order_relaxed);
    work_.give([&work = work_, state = std::shared_ptr(std::move(collected_))] {
      state->finish();
      work.loads_.fetch_sub(1, std::memory_order_release);
    });
  }

 private:
  StateWork& work_;
  std::unique_ptr<views::StateWriter> collected_;
};

void StateWork::set(Saver save, Loader load) {
  save_ = std::move(save);
  load_ = std::move(load);
}

std::unique_ptr<views::StateReader> StateWork::save() {
  std::shared_ptr<Saved> saved = busy() ? saved_.lock() : nullptr;
  if (saved == nullptr || saved->ready()) {
    saved = std::make_shared<Saved>();
    saved_ = saved;
    give([saved, this] { saved->keep(save_); });
  }
  return std::make_unique<Reader>(std::move(saved));
}

std::unique_ptr<views::StateWriter> StateWork::load() { return std::make_unique<Writer>(*this); }

void StateWork::give(std::function<void()> work) {
  waiting_.fetch_add(1, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    works_.push_back(std::move(work));
  }
  given_.notify_one();
  if (thread_.joinable()) return;
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  } catch (const std::system_error& why) {
    throw Exception(out_of_threads(why));
  }
}

// After a failure the member ends: nothing more is called, and what waits stays.
void StateWork::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (given_.wait(lock, stop, [this] { return !works_.empty(); })) {
    if (stop.stop_requested()) return;
    const std::function<void()> work = std::move(works_.front());
    works_.pop_front();
    lock.unlock();
    try {
      work();
    } catch (...) {
      failure_ = std::current_exception();
      failed_.store(true, std::memory_order_release);
      return done_();
    }
    waiting_.fetch_sub(1, std::memory_order_release);
    done_();
    lock.lock();
  }
}

void StateWork::rethrow() const {
  if (failed_.load(std::memory_order_acquire)) std::rethrow_exception(failure_);
}

}  // namespace spindrift::group
