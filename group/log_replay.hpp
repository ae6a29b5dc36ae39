// The messages of the own log, for the application: a thread reads them from the disk, a little ahead of the poller.
#pragma once

#include <condition_variable>
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
#include <spindrift/group/node_journal.hpp>
#include <spindrift/smc/delivery.hpp>

namespace spindrift::group {

class LogReplay {
 public:
  /// The messages of versions [from, to), which were appended; at most 512 or 1 MiB at once, a larger one alone. `journal`
  /// outlives it. `wake` is called on the thread when there is something to take, and at the end; throws nothing. Throws
  /// resource: there can be no thread.
  LogReplay(NodeJournal& journal, SubgroupId subgroup, std::uint64_t from, std::uint64_t to, std::function<void()> wake);
  ~LogReplay() = default;
  LogReplay(const LogReplay&) = delete;
  LogReplay& operator=(const LogReplay&) = delete;

  // The poller:
  /// The next messages; none: they are not read yet, or there are no more. Valid until the next call. Of each are told:
  /// sender, sequence, view, version and payload.
  [[nodiscard]] std::span<const Delivery> next();
  /// The last so many of those that `next` has returned were not taken: it returns them once more.
  void give_back(std::size_t count) noexcept { taken_ -= count; }
  /// The time in the log of one of the messages that `next` has returned last, in nanoseconds since 1970; nothing: it is
  /// none of them.
  [[nodiscard]] std::optional<std::uint64_t> time(std::uint64_t version) const;
  /// All were taken.
  [[nodiscard]] bool done() const noexcept { return taken_ == to_; }
  /// Why no more come, though not all were taken.
  [[nodiscard]] std::optional<Error> failure() const;

 private:
  struct Chunk {
    std::vector<std::uint64_t> words;  ///< the payloads, each from a word on
    std::vector<Delivery> deliveries;
    std::vector<std::uint64_t> times;  ///< of each
  };

  [[nodiscard]] std::span<const Delivery> rest_of_chunk() const noexcept;
  void run(const std::stop_token& stop);
  [[nodiscard]] Result<void> read(const std::stop_token& stop);
  /// False: nobody takes any more.
  [[nodiscard]] bool give(Chunk& chunk, const std::stop_token& stop);

  NodeJournal& journal_;
  const LogPlace log_;
  const store::JournalPosition written_;  // everything before it is on the disk when it is read
  const std::uint64_t from_;
  const std::uint64_t to_;
  std::function<void()> wake_;
  std::uint64_t taken_;  // the poller's: the version of the next message
  Chunk chunk_;          // the same: taken last
  mutable std::mutex mutex_;
  std::condition_variable_any taken_one_;
  std::deque<Chunk> chunks_;      // behind the mutex, as is the error
  std::optional<Error> failure_;
  std::jthread thread_;  // the last, for it uses the rest
};

}  // namespace spindrift::group
