// A journal on a thread of its own, which nobody waits for: entries that come while a commit is under way make up the next
// one. (Group commit: J. Gray, A. Reuter, Transaction Processing, 1993, 9.4.)
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/store/journal.hpp>

namespace spindrift::store {

struct JournalThreadOptions {
  std::size_t waiting_bytes_max = std::size_t{16} << 20U;  ///< that are not yet taken by the thread; at least 1
  std::uint64_t batch_bytes = std::uint64_t{1} << 20U;     ///< with so many a commit begins, be there more or not
  std::chrono::nanoseconds retry_after = std::chrono::milliseconds(100);  ///< while the disk is full
  std::chrono::nanoseconds vouch_after = std::chrono::milliseconds(20);   ///< without a commit: see `Journal::vouch`
};

/// Vouching for an entry, so that damage to it can be told from a torn tail: see `Journal::vouch`.
enum class Vouch : std::uint8_t {
  later,  ///< after a while without a commit, or with a later entry
  first,  ///< before the entry is said to be on the disk
};

class JournalThread {
 public:
  enum class State : std::uint8_t {
    running,
    full,    ///< the disk is; what waits is kept, and committed when there is space
    failed,  ///< a write failed: nothing becomes durable any more, and the node has to stop
  };
  /// Is called on the journal's thread whenever `durable()` or `state()` has changed. Throws nothing.
  using Progress = std::function<void()>;

  /// Begins at once. Throws resource: there can be no thread.
  JournalThread(Journal journal, const JournalThreadOptions& options, Progress on_progress);
  /// As `stop`; what went wrong is lost.
  ~JournalThread();
  JournalThread(const JournalThread&) = delete;
  JournalThread& operator=(const JournalThread&) = delete;

  // One thread, the poller:
  /// Copies the payload; never waits for the disk. `head.time` is not less than that of the entry before. Nothing: too much
  /// waits, and it is to be tried again after the next progress. Nothing comes of it before `flush`, but of much.
  [[nodiscard]] std::optional<JournalPosition> append(const EntryHead& head, std::span<const std::byte> payload,
                                                      Vouch vouch = Vouch::later);
  /// As `append`: the log of that subgroup goes on from this end.
  [[nodiscard]] std::optional<JournalPosition> append_base(const LogEnd& end, std::uint64_t time);
  /// Hands over what was appended: behind a pass, so that what it brought becomes durable at once.
  void flush();
  /// Has the journal forget what lies before, when it comes to it.
  void trim(JournalPosition before);
  /// Flushes, commits what waits, closes the journal, and ends the thread. While the disk is full it does not wait for
  /// space. Errors: those that the state tells of.
  [[nodiscard]] Result<void> stop();

  // Any thread:
  /// Everything before it is on the disk.
  [[nodiscard]] JournalPosition durable() const noexcept {
    return JournalPosition(durable_.load(std::memory_order_acquire));
  }
  [[nodiscard]] State state() const noexcept { return state_.load(std::memory_order_acquire); }
  /// Why the state is not `running`; nothing: it is.
  [[nodiscard]] std::optional<Error> error() const;

 private:
  /// The next thing to do when nothing is to be committed.
  enum class Idle : std::uint8_t {
    committing,  // finish the commit that is under way
    preparing,   // make the next ones faster
    unvouched,   // vouch for what is durable, after a while
    done,        // wait
  };
  struct Filling {
    JournalPosition next;        // of the next entry
    Batch batch;                 // is handed over next
    Vouch vouch = Vouch::later;  // for some of it
  };
  struct Inbox {
    std::deque<Batch> batches;
    std::atomic<std::uint64_t> bytes{0};  // of these; the poller reads it without the mutex
    std::vector<Batch> spare;             // empty, with memory
    JournalPosition trim;                 // 0: nothing is asked for
    JournalPosition vouch;                // behind the last entry that is to be vouched for first; 0: there is none
  };

  [[nodiscard]] bool has_room_for(std::uint64_t payload_bytes) const noexcept;
  JournalPosition note_appended();
  void run(const std::stop_token& stop);
  /// Waits for work, or until there is something to do without any; takes the next batch if there is none at hand. False:
  /// there is nothing left, and it is the end.
  [[nodiscard]] bool await(const std::stop_token& stop);
  [[nodiscard]] bool has_work() const { return !inbox_.batches.empty() || inbox_.trim.value() != 0; }
  void take();
  void publish();
  void commit();
  void finish_commit();
  void idle();
  void trim_now();
  void close();
  void set_state(State state, std::optional<Error> error);

  JournalThreadOptions options_;
  Progress on_progress_;
  Journal journal_;          // the thread's, as are the next four
  Batch batch_;              // is committed next
  bool more_waits_ = false;  // behind it
  JournalPosition trim_;     // is to be done
  JournalPosition vouch_;    // before it is reached nothing is published without
  std::atomic<std::uint64_t> durable_;
  std::atomic<State> state_ = State::running;
  Filling filling_;  // the poller's
  Idle idle_ = Idle::preparing;  // the thread's
  mutable std::mutex mutex_;
  std::condition_variable_any given_;
  Inbox inbox_;  // behind the mutex, as is the error
  std::optional<Error> error_;
  std::jthread thread_;
};

}  // namespace spindrift::store
