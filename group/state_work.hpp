// The application's functions that save and load the state of one subgroup, on a thread of their own: the protocol goes on
// for as long as they take. What comes of a state is written to its file there, too, for a disk may be slower than the
// poller can wait.
//
// The invariant to remember: while one of them is at work the application takes no deliveries (Channel::accepts); so what is
// saved is the state of one moment, and it is the same for every view that begins meanwhile.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <iosfwd>
#include <memory>

#include <spindrift/group/state_thread.hpp>
#include <spindrift/views/upcalls.hpp>

namespace spindrift::group {

class StateWork {
 public:
  using Saver = std::function<void(std::ostream&)>;
  using Loader = std::function<void(std::istream&)>;

  /// `done` is called on the thread when one of the functions has returned, or thrown.
  explicit StateWork(std::function<void()> done) : done_(std::move(done)) {}
  /// Waits until the function that is at work has returned; others are not called any more.
  ~StateWork() { thread_->stop(); }
  StateWork(const StateWork&) = delete;
  StateWork& operator=(const StateWork&) = delete;

  /// Once, before the rest.
  void set(Saver save, Loader load);
  [[nodiscard]] bool carried() const noexcept { return save_ != nullptr; }

  // The rest: one thread, the poller.
  /// The state as of now, behind what is still to be loaded; a save that is still at work is everybody's.
  /// The reader's failure tells what the function throws, and that no thread can be had for it.
  [[nodiscard]] std::unique_ptr<views::StateReader> save();
  /// Collects a state, and loads it once it is finished. Throws resource.
  [[nodiscard]] std::unique_ptr<views::StateWriter> load();
  /// Something is to be saved, written or loaded, or has failed.
  [[nodiscard]] bool busy() const noexcept { return waiting_.load(std::memory_order_acquire) > 0; }
  /// Some state is still to be loaded.
  [[nodiscard]] bool loading() const noexcept { return loads_.load(std::memory_order_acquire) > 0; }
  /// Throws what one of the functions has thrown.
  void rethrow() const;

 private:
  class Saved;
  class Reader;
  class Writer;
  void give(std::function<void()> work);
  void work(const std::function<void()>& work);

  std::function<void()> done_;
  Saver save_;
  Loader load_;
  std::weak_ptr<Saved> saved_;  // the newest; the poller's
  std::atomic<std::uint32_t> waiting_{0};  // pieces of work that are not over
  std::atomic<std::uint32_t> loads_{0};    // of these, loads
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;  // before `failed_`
  std::shared_ptr<StateThread> thread_ = std::make_shared<StateThread>();  // readers and writers may outlive this
};

}  // namespace spindrift::group
