// The processes of nodes that have journals in a directory of one test.
#pragma once

#include <catch2/catch.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/group/node_journal.hpp>
#include <spindrift/group/stored_logs.hpp>
#include <spindrift/store/forwarding_storage.hpp>

namespace spindrift::group {

struct JournalHost {
  JournalHost() {
    std::string name = std::filesystem::temp_directory_path() / "spindrift-logs-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    place = {name, "g"};
  }
  ~JournalHost() { std::filesystem::remove_all(place.above); }
  JournalHost(const JournalHost&) = delete;
  JournalHost& operator=(const JournalHost&) = delete;
  JournalPlace place;
};

/// A disk as the test has it.
struct DiskFaults {
  std::atomic<bool> full{false};     ///< no file can be made
  std::atomic<bool> failing{false};  ///< writes fail
};

class FaultyFile final : public store::ForwardingFile {
 public:
  FaultyFile(DiskFaults& faults, std::unique_ptr<StoredFile> file) : ForwardingFile(std::move(file)), faults_(faults) {}
  Result<void> write_durably(std::uint64_t at, std::span<const std::byte> from) override {
    if (faults_.failing) return Error(ErrorKind::resource, "the disk is broken");
    return ForwardingFile::write_durably(at, from);
  }
  Result<void> begin_write(std::uint64_t at, std::span<const std::byte> from) override {
    if (faults_.failing) return Error(ErrorKind::resource, "the disk is broken");
    return ForwardingFile::begin_write(at, from);
  }

 private:
  DiskFaults& faults_;
};

class FaultyStorage final : public store::ForwardingStorage {
 public:
  FaultyStorage(DiskFaults& faults, std::unique_ptr<Storage> storage)
      : ForwardingStorage(std::move(storage)), faults_(faults) {}
  Result<std::unique_ptr<store::StoredFile>> create(std::string_view name, std::uint64_t bytes) override {
    if (faults_.full) return Error(ErrorKind::disk_full, "the disk is full");
    return faulty(ForwardingStorage::create(name, bytes));
  }
  Result<std::unique_ptr<store::StoredFile>> open(std::string_view name) override {
    return faulty(ForwardingStorage::open(name));
  }

 private:
  Result<std::unique_ptr<store::StoredFile>> faulty(Result<std::unique_ptr<store::StoredFile>> file) {
    if (!file) return file;
    return std::unique_ptr<store::StoredFile>(std::make_unique<FaultyFile>(faults_, std::move(file).value()));
  }
  DiskFaults& faults_;
};

/// Segments of few blocks, so that a log lies in many.
inline constexpr NodeJournal::Options small_journal{
    .journal = {.segment_bytes = 12 * store::block_bytes, .prepared_bytes = 0},
    .thread = {.waiting_bytes_max = 16 * store::block_bytes, .batch_bytes = 4 * store::block_bytes,
               .retry_after = std::chrono::milliseconds(1)}};

/// One process of a node: its journal, and the logs in it.
class LoggingNode {
 public:
  static constexpr std::uint64_t message_bytes_max = 4096;

  LoggingNode(const JournalHost& host, std::uint32_t node, const NodeJournal::Options& options = small_journal,
              DiskFaults* faults = nullptr)
      : journal_(open(host, node, options, faults)) {}

  [[nodiscard]] NodeJournal& journal() { return *journal_; }
  [[nodiscard]] std::shared_ptr<NodeJournal> shared_journal() { return journal_; }
  [[nodiscard]] StoredLogs& logs() { return logs_; }

  /// The next `count` messages of that log, each with a text of its own.
  void append(SubgroupId subgroup, std::uint64_t count, const std::string& kind = "message") {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t version = logs_.end(subgroup).version;
      const std::string text = text_of(kind, version);
      const Delivery delivery{NodeId(static_cast<std::uint32_t>(version % 3)), SenderRank(0), MessageIndex(0),
                              SequenceNumber(version), std::as_bytes(std::span(text)), ViewId(4), version};
      logs_.append(subgroup, std::span(&delivery, 1));
    }
  }
  static std::string text_of(const std::string& kind, std::uint64_t version) {
    return kind + std::string(version % 40, '.') + std::to_string(version);
  }
  /// Flushes until it is so, again after each progress.
  template <class Condition>
  void await(Condition condition) {
    std::unique_lock lock(mutex_);
    while (true) {
      const std::uint64_t seen = events_;
      lock.unlock();
      logs_.flush();
      if (condition()) return;
      lock.lock();
      happened_.wait(lock, [&] { return events_ != seen; });
    }
  }
  void await_durable(SubgroupId subgroup) {
    await([&] { return logs_.durable(subgroup) == logs_.end(subgroup).version; });
  }
  /// The stream of what another log lacks of this one.
  [[nodiscard]] std::vector<std::byte> stream(SubgroupId subgroup, const views::LogPoint& from) {
    return stream(subgroup, from, logs_.end(subgroup).version);
  }
  [[nodiscard]] std::vector<std::byte> stream(SubgroupId subgroup, const views::LogPoint& from, std::uint64_t to) {
    const auto reader = logs_.read(subgroup, from, to);
    await([&] { return reader->ready(); });
    REQUIRE(reader->failure().value_or("") == "");
    std::vector<std::byte> bytes(reader->bytes());
    reader->read(0, bytes);
    return bytes;
  }
  void note_event() {
    {
      const std::lock_guard lock(mutex_);
      ++events_;
    }
    happened_.notify_all();
  }

 private:
  std::shared_ptr<NodeJournal> open(const JournalHost& host, std::uint32_t node, const NodeJournal::Options& options,
                                    DiskFaults* faults) {
    FoundJournal found = value_or_throw(FoundJournal::take(host.place, NodeId(node)));
    if (faults != nullptr) found.storage = std::make_unique<FaultyStorage>(*faults, std::move(found.storage));
    return value_or_throw(NodeJournal::open(std::move(found), options, [this] { note_event(); }));
  }

  std::mutex mutex_;
  std::condition_variable happened_;
  std::uint64_t events_ = 0;
  std::shared_ptr<NodeJournal> journal_;
  StoredLogs logs_{*journal_, [](SubgroupId) { return message_bytes_max; }, [this] { note_event(); }};
};

}  // namespace spindrift::group
