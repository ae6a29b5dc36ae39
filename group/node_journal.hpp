// The one journal of a node that has logged subgroups: the poller appends to it without waiting, a thread writes it, and
// others may wait until the disk has what they are to read there.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <spindrift/group/found_journal.hpp>
#include <spindrift/group/journal_trim.hpp>
#include <spindrift/group/log_signer.hpp>
#include <spindrift/store/journal_thread.hpp>

namespace spindrift::group {

/// The place of a subgroup's log in a journal, for readers beside the writer.
struct LogPlace {
  std::string path;  ///< of the journal's directory
  store::JournalOwner owner;
  SubgroupId subgroup;
  store::JournalPosition base{};  ///< what lies before is not of the log that counts
  std::shared_ptr<const void> hold{};  ///< as long as it is there, nothing that was there is trimmed away
};

class NodeJournal {
 public:
  struct Options {
    store::JournalOptions journal;
    store::JournalThreadOptions thread;
  };
  /// Is called on the journal's thread whenever `durable`, `full` or `failure` says something else. Throws nothing.
  using Progress = std::function<void()>;

  /// Goes on with it, and starts the thread. Errors: as of `FoundJournal::take`.
  [[nodiscard]] static Result<std::unique_ptr<NodeJournal>> open(FoundJournal found, const Options& options,
                                                                 Progress on_progress);
  /// The same, and signs its logs. Errors: besides, as of `LogSigner::resume`.
  [[nodiscard]] static Result<std::unique_ptr<NodeJournal>> open_signed(FoundJournal found, Options options,
                                                                        std::unique_ptr<LogSigner> signer,
                                                                        Progress on_progress);
  /// As `close`.
  ~NodeJournal();
  NodeJournal(const NodeJournal&) = delete;
  NodeJournal& operator=(const NodeJournal&) = delete;

  [[nodiscard]] const JournalPlace& place() const noexcept { return found_.place; }
  [[nodiscard]] NodeId node() const noexcept { return found_.node; }
  /// As the node's processes before have left it.
  [[nodiscard]] const JournalContent& found() const noexcept { return found_.content; }

  // One thread, the poller:
  /// Takes the entry, also without room, and copies the payload; never waits. A time before that of the entry before becomes
  /// that one.
  void append(store::EntryHead head, std::span<const std::byte> payload);
  /// That log begins anew, behind this end of another node's.
  void append_base(const store::LogEnd& end, std::uint64_t time);
  /// Entries before it are not needed any more: whole segments of them go when nobody reads the journal, but never the last
  /// record of views, which is written once more where it is in the way. To be called again, as the log grows. True: all of
  /// them may go now, or have gone.
  bool trim(store::JournalPosition before);
  /// Hands over what was appended.
  void flush();
  /// All that was appended is with the thread, or on the disk: more may come.
  [[nodiscard]] bool has_room() const noexcept { return waiting_.empty(); }
  /// The position that the next entry will have.
  [[nodiscard]] store::JournalPosition end() const noexcept { return end_; }
  /// The time of the last entry, in nanoseconds since 1970; 0: there is none.
  [[nodiscard]] std::uint64_t time() const noexcept { return time_; }
  /// Everything before it is on the disk.
  [[nodiscard]] store::JournalPosition durable() const noexcept;
  /// The disk is; what waits is kept, and written when there is space.
  [[nodiscard]] bool full() const noexcept;
  /// Why nothing becomes durable any more, for good. Nothing: it does.
  [[nodiscard]] std::optional<Error> failure() const;
  /// Appends a record of views, and waits until it is durable and vouched for. While the disk is full that is in the
  /// reserve, until there is space. Errors: disk_full (it is too large for that, and may become durable later), resource,
  /// group_closed.
  [[nodiscard]] Result<void> commit(const store::EntryHead& head, std::span<const std::byte> payload);
  /// A record has been committed that says all that is in the reserve. Errors: resource.
  [[nodiscard]] Result<void> forget_reserved() { return reserve_->forget_earlier(); }
  /// Commits what waits, but waits for no space, and lets another process have the journal. What is appended afterwards
  /// never becomes durable. Errors: disk_full, resource.
  [[nodiscard]] Result<void> close();
  /// As of now: entries that were appended may still be on their way to the disk.
  [[nodiscard]] LogPlace log(SubgroupId subgroup) const;

  // Any thread:
  /// Since when it is full, in milliseconds since 1970, as `flush` saw it; 0: it is not.
  [[nodiscard]] std::uint64_t full_since_ms() const noexcept { return full_since_ms_.load(std::memory_order_relaxed); }
  /// Waits until everything before that position is on the disk. Errors: group_closed (the journal was closed before, or
  /// `stop` was requested), resource.
  [[nodiscard]] Result<void> await_durable(store::JournalPosition position, std::stop_token stop);

 private:
  struct Waiting {
    store::EntryHead head;
    std::vector<std::byte> payload;
    store::Vouch vouch = store::Vouch::later;
    std::optional<store::LogEnd> base{};  ///< it is one, behind this end
  };
  /// The state of one that is closed.
  struct Closed {
    bool is = false;                ///< behind the mutex
    std::optional<Error> failure{};  ///< why not all is on the disk
    store::JournalPosition durable;
  };

  NodeJournal(FoundJournal found, Progress on_progress) : found_(std::move(found)), on_progress_(std::move(on_progress)) {}

  [[nodiscard]] Result<void> start(const Options& options);
  using Base = std::optional<store::LogEnd>;
  void put(store::EntryHead head, std::span<const std::byte> payload, store::Vouch vouch, const Base& base = {});
  [[nodiscard]] bool give(const store::EntryHead& head, std::span<const std::byte> payload, store::Vouch vouch,
                          const Base& base);
  void give_waiting();
  void append_signatures();
  /// Signs all that is on its way to the disk.
  void finish_signatures();
  void tell_of_space();
  void note_progress();
  [[nodiscard]] std::uint64_t progress();
  /// Until `progress` was more than that.
  void await_progress(std::uint64_t seen);

  FoundJournal found_;
  Progress on_progress_;
  std::deque<Waiting> waiting_;  // in order, behind what the thread has
  store::JournalPosition end_;
  std::uint64_t time_ = 0;       // of the last entry
  std::atomic<std::uint64_t> full_since_ms_{0};
  std::map<SubgroupId, store::JournalPosition> bases_;
  JournalTrim trim_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::uint64_t progress_ = 0;  // behind the mutex: so often the thread has told of some
  Closed closed_;
  std::optional<store::Reserve> reserve_;       // the poller's, as long as there is a storage
  std::unique_ptr<LogSigner> signer_;           // null: logs are not signed. The thread calls it
  std::unique_ptr<store::JournalThread> thread_;  // until it is closed; the last, for it calls this object
};

}  // namespace spindrift::group
