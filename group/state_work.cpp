// Saving and loading beside the poller.
#include <spindrift/group/state_work.hpp>

#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/group/state_file.hpp>

namespace spindrift::group {

/// A state that is saved, or is being saved.
class StateWork::Saved {
 public:
  void keep(const Saver& save) {
    try {
      file_ = keep_state(save);
    } catch (const std::exception& why) {
      failure_ = why.what();
    } catch (...) {
      failure_ = "what it threw is no std::exception";
    }
    ready_.store(true, std::memory_order_release);
  }
  /// No thread is there to save it. The poller's.
  void fail(std::string why) {
    failure_ = std::move(why);
    ready_.store(true, std::memory_order_release);
  }
  [[nodiscard]] bool ready() const noexcept { return ready_.load(std::memory_order_acquire); }
  [[nodiscard]] const std::optional<std::string>& failure() const noexcept { return failure_; }
  [[nodiscard]] views::StateReader& file() const { return *file_; }

 private:
  std::unique_ptr<views::StateReader> file_;  // before `ready_`
  std::optional<std::string> failure_;        // the same
  std::atomic<bool> ready_{false};
};

class StateWork::Reader final : public views::StateReader {
 public:
  Reader(std::shared_ptr<Saved> saved, std::shared_ptr<StateThread> thread)
      : saved_(std::move(saved)), thread_(std::move(thread)) {}
  ~Reader() override { thread_->dispose(std::move(saved_)); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  [[nodiscard]] bool ready() const noexcept override { return saved_->ready(); }
  [[nodiscard]] std::optional<std::string> failure() const override { return saved_->failure(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return saved_->file().bytes(); }
  void read(std::uint64_t offset, std::span<std::byte> to) override { saved_->file().read(offset, to); }

 private:
  std::shared_ptr<Saved> saved_;
  std::shared_ptr<StateThread> thread_;
};

class StateWork::Writer final : public views::StateWriter {
 public:
  explicit Writer(StateWork& work) : work_(work), collected_(collect_state(work.load_)), thread_(work.thread_) {}
  ~Writer() override { thread_->dispose(std::move(collected_)); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  // At most a window of the transfer at a time: the next one is not given to an application that does not accept it.
  void write(std::span<const std::byte> piece) override {
    work_.give([state = collected_, bytes = std::vector(piece.begin(), piece.end())] { state->write(bytes); });
  }
  void finish() override {
    work_.loads_.fetch_add(1, std::memory_order_relaxed);
    work_.give([&work = work_, state = std::move(collected_)] {
      state->finish();
      work.loads_.fetch_sub(1, std::memory_order_release);
    });
  }

 private:
  StateWork& work_;
  std::shared_ptr<views::StateWriter> collected_;
  std::shared_ptr<StateThread> thread_;
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
    try {
      give([saved, this] { saved->keep(save_); });
    } catch (const Exception& why) {
      saved->fail(why.what());
    }
  }
  return std::make_unique<Reader>(std::move(saved), thread_);
}

std::unique_ptr<views::StateWriter> StateWork::load() { return std::make_unique<Writer>(*this); }

void StateWork::give(std::function<void()> work) {
  waiting_.fetch_add(1, std::memory_order_relaxed);
  try {
    thread_->give([this, work = std::move(work)] { this->work(work); });
  } catch (...) {
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    throw;
  }
}

// After a failure the member ends: nothing more is called.
void StateWork::work(const std::function<void()>& work) {
  if (failed_.load(std::memory_order_relaxed)) return;
  try {
    work();
    waiting_.fetch_sub(1, std::memory_order_release);
  } catch (...) {
    failure_ = std::current_exception();
    failed_.store(true, std::memory_order_release);
  }
  done_();
}

void StateWork::rethrow() const {
  if (failed_.load(std::memory_order_acquire)) std::rethrow_exception(failure_);
}

}  // namespace spindrift::group
