// A journal on its thread: what is appended becomes durable without anybody waiting, and what goes wrong is told.
#include <catch2/catch.hpp>

#include <condition_variable>
#include <mutex>
#include <string>
#include <type_traits>

#include <spindrift/store/journal_thread.hpp>

#include "journal_fixture.hpp"
#include "simulated_disk.hpp"

namespace spindrift::store {
namespace {

using sim::SimulatedDisk;

/// A disk that the journal's thread uses and the test changes, one at a time; its durable writes can be held up.
class SharedDisk {
 public:
  class SharedFile final : public StoredFile {
   public:
    SharedFile(SharedDisk& disk, std::unique_ptr<StoredFile> file) : disk_(disk), file_(std::move(file)) {}
    [[nodiscard]] std::uint64_t bytes() const noexcept override { return file_->bytes(); }
    Result<void> read(std::uint64_t at, std::span<std::byte> to) override {
      return disk_.alone([&] { return file_->read(at, to); });
    }
    Result<void> write(std::uint64_t at, std::span<const std::byte> from) override {
      return disk_.alone([&] { return file_->write(at, from); });
    }
    Result<void> write_durably(std::uint64_t at, std::span<const std::byte> from) override {
      disk_.pass();
      return disk_.alone([&] { return file_->write_durably(at, from); });
    }
    Result<void> begin_write(std::uint64_t at, std::span<const std::byte> from) override {
      return disk_.alone([&] { return file_->begin_write(at, from); });
    }
    Result<void> finish_write() override {
      disk_.pass();
      return disk_.alone([&] { return file_->finish_write(); });
    }
    Result<void> sync() override {
      return disk_.alone([&] { return file_->sync(); });
    }

   private:
    SharedDisk& disk_;
    std::unique_ptr<StoredFile> file_;
  };
  class SharedStorage final : public Storage {
   public:
    SharedStorage(SharedDisk& disk, std::unique_ptr<Storage> storage) : disk_(disk), storage_(std::move(storage)) {}
    Result<std::vector<std::string>> names() override {
      return disk_.alone([&] { return storage_->names(); });
    }
    Result<std::unique_ptr<StoredFile>> create(std::string_view name, std::uint64_t bytes) override {
      return shared(disk_.alone([&] { return storage_->create(name, bytes); }));
    }
    Result<std::unique_ptr<StoredFile>> open(std::string_view name) override {
      return shared(disk_.alone([&] { return storage_->open(name); }));
    }
    Result<void> rename(std::string_view from, std::string_view to) override {
      return disk_.alone([&] { return storage_->rename(from, to); });
    }
    Result<void> remove(std::string_view name) override {
      return disk_.alone([&] { return storage_->remove(name); });
    }
    Result<void> sync_names() override {
      return disk_.alone([&] { return storage_->sync_names(); });
    }
    [[nodiscard]] std::string place(std::string_view name) const override { return storage_->place(name); }

   private:
    Result<std::unique_ptr<StoredFile>> shared(Result<std::unique_ptr<StoredFile>> file) {
      if (!file) return file;
      return std::unique_ptr<StoredFile>(std::make_unique<SharedFile>(disk_, std::move(file).value()));
    }
    SharedDisk& disk_;
    std::unique_ptr<Storage> storage_;
  };

  [[nodiscard]] std::unique_ptr<Storage> storage() { return std::make_unique<SharedStorage>(*this, disk_.storage()); }
  /// Calls it while nobody else is at the disk.
  template <class Call>
  std::invoke_result_t<Call> alone(Call call) {
    const std::lock_guard lock(mutex_);
    return call();
  }
  [[nodiscard]] SimulatedDisk& disk() { return disk_; }

  /// From now on durable writes wait, or not.
  void hold(bool hold) {
    {
      const std::lock_guard lock(mutex_);
      held_ = hold;
    }
    changed_.notify_all();
  }
  /// One of those that wait goes on, or the next one that comes.
  void let_one_pass() {
    {
      const std::lock_guard lock(mutex_);
      ++passes_;
      waiting_ = false;
    }
    changed_.notify_all();
  }
  void await_waiting() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_; });
  }
  void pass() {
    std::unique_lock lock(mutex_);
    waiting_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_ || passes_ > 0; });
    if (held_) --passes_;
    else waiting_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  bool waiting_ = false;
  std::uint64_t passes_ = 0;
  SimulatedDisk disk_{1};
};

/// The poller's part.
class Poller {
 public:
  explicit Poller(SharedDisk& disk, const JournalThreadOptions& options = {}, const JournalOptions& journal = small_segments)
      : storage_(disk.storage()),
        thread_(value_or_throw(open_journal(*storage_, 1, journal)), options, [this] {
          const std::lock_guard lock(mutex_);
          ++calls_;
          progress_.notify_all();
        }) {}

  std::optional<JournalPosition> append(std::string_view text, Vouch vouch = Vouch::later) {
    return thread_.append({EntryKind::message, SubgroupId(0), NodeId(1), ViewId(1), SequenceNumber(0), 0},
                          std::as_bytes(std::span(text)), vouch);
  }
  void await_durable(std::uint64_t count) {
    await([&] { return thread_.durable() >= JournalPosition(count); });
  }
  void await_state(JournalThread::State state) {
    await([&] { return thread_.state() == state; });
  }
  [[nodiscard]] std::uint64_t calls() {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  [[nodiscard]] JournalThread& thread() { return thread_; }
  [[nodiscard]] Storage& storage() { return *storage_; }

 private:
  template <class Condition>
  void await(Condition condition) {
    std::unique_lock lock(mutex_);
    progress_.wait(lock, condition);
  }
  std::mutex mutex_;
  std::condition_variable progress_;
  std::uint64_t calls_ = 0;
  std::unique_ptr<Storage> storage_;
  JournalThread thread_;
};

TEST_CASE("what is appended and flushed becomes durable, and somebody is told") {
  SharedDisk disk;
  Poller poller(disk);
  CHECK(poller.append("a") == JournalPosition(0));
  CHECK(poller.append("b") == JournalPosition(1));
  poller.thread().flush();
  poller.await_durable(2);
  CHECK(poller.thread().state() == JournalThread::State::running);
  CHECK_FALSE(poller.thread().error());
  value_or_throw(poller.thread().stop());
  CHECK(texts_of(poller.storage()) == "a b");
}

TEST_CASE("entries that come while a commit is under way make up the next one") {
  SharedDisk disk;
  Poller poller(disk);
  disk.hold(true);
  static_cast<void>(poller.append("first"));
  poller.thread().flush();
  disk.await_waiting();
  for (int i = 0; i < 100; ++i) {
    static_cast<void>(poller.append("x"));
    poller.thread().flush();
  }
  CHECK(poller.thread().durable() == JournalPosition(0));
  disk.hold(false);
  poller.await_durable(101);
  CHECK(poller.calls() <= 3);
}

TEST_CASE("a batch that is being written is not durable, though the one behind it is sealed already") {
  SharedDisk disk;
  Poller poller(disk, {.batch_bytes = block_bytes});
  disk.hold(true);
  for (int i = 0; i < 3; ++i) {
    CHECK(poller.append(std::string(block_bytes, 'x')));
    poller.thread().flush();
    if (i == 0) disk.await_waiting();
  }
  disk.let_one_pass();
  poller.await_durable(1);
  disk.await_waiting();  // the second one is begun, and the third at hand
  CHECK(poller.thread().durable() == JournalPosition(1));
  disk.hold(false);
  poller.await_durable(3);
}

TEST_CASE("with too much that waits an append is refused, until there is progress") {
  SharedDisk disk;
  Poller poller(disk, {.waiting_bytes_max = 4 * block_bytes, .batch_bytes = block_bytes});
  disk.hold(true);
  std::uint64_t taken = 0;
  const auto append_all = [&] {
    while (poller.append(std::string(1000, 'x'))) ++taken;
  };
  append_all();
  disk.await_waiting();  // the thread has a batch, and takes no other
  append_all();
  CHECK(taken > 3);
  CHECK(taken < 40);
  CHECK_FALSE(poller.append(std::string(1000, 'y')));
  disk.hold(false);
  poller.await_durable(taken - 4);  // what is left fills no batch, and is not flushed
  CHECK(poller.append("y") == JournalPosition(taken));
  value_or_throw(poller.thread().stop());
  CHECK(value_or_throw(examine(poller.storage(), test_owner)).end == JournalPosition(taken + 1));
}

TEST_CASE("an entry that is larger than what may wait goes alone") {
  SharedDisk disk;
  Poller poller(disk, {.waiting_bytes_max = block_bytes, .batch_bytes = block_bytes});
  CHECK(poller.append(std::string(10 * block_bytes, 'x')));
  poller.await_durable(1);
}

TEST_CASE("while the disk is full what waits is kept, and it goes on by itself when there is space") {
  SharedDisk disk;
  Poller poller(disk, {.retry_after = std::chrono::milliseconds(1)});
  disk.alone([&] { disk.disk().set_capacity(0); });
  CHECK(poller.append(std::string(20 * block_bytes, 'x')));
  poller.thread().flush();
  poller.await_state(JournalThread::State::full);
  REQUIRE(poller.thread().error());
  CHECK(poller.thread().error()->kind() == ErrorKind::disk_full);
  CHECK(poller.append("behind it"));
  poller.thread().flush();
  disk.alone([&] { disk.disk().set_capacity(SimulatedDisk::unlimited); });
  poller.await_durable(2);
  CHECK(poller.thread().state() == JournalThread::State::running);
  CHECK_FALSE(poller.thread().error());
}

TEST_CASE("a journal whose disk is full is stopped without waiting for space, and says what it was") {
  SharedDisk disk;
  Poller poller(disk, {.retry_after = std::chrono::hours(1)});
  disk.alone([&] { disk.disk().set_capacity(0); });
  CHECK(poller.append(std::string(20 * block_bytes, 'x')));
  const auto stopped = poller.thread().stop();
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().kind() == ErrorKind::disk_full);
}

TEST_CASE("a write that fails ends the thread's work, and is told") {
  SharedDisk disk;
  Poller poller(disk);
  CHECK(poller.append("a"));
  poller.thread().flush();
  poller.await_durable(1);
  disk.alone([&] { disk.disk().fail_next(SimulatedDisk::Operation::write); });
  CHECK(poller.append("b"));
  poller.thread().flush();
  poller.await_state(JournalThread::State::failed);
  CHECK(poller.thread().durable() == JournalPosition(1));
  const auto stopped = poller.thread().stop();
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().kind() == ErrorKind::resource);
}

TEST_CASE("an entry that is to be vouched for first is, before it is said to be durable") {
  SharedDisk disk;
  Poller poller(disk, {.vouch_after = std::chrono::hours(1)});
  const auto vouched = [&] {
    return value_or_throw(outline(poller.storage(), test_owner)).back().mark.durable;
  };
  CHECK(poller.append("a"));
  poller.thread().flush();
  poller.await_durable(1);
  CHECK(vouched() == JournalPosition(0));
  CHECK(poller.append("b"));
  CHECK(poller.append("c", Vouch::first));
  CHECK(poller.append("d"));
  poller.thread().flush();
  poller.await_durable(4);
  CHECK(vouched() == JournalPosition(4));
  CHECK(poller.append("e"));
  poller.thread().flush();
  poller.await_durable(5);
  CHECK(vouched() == JournalPosition(4));
}

TEST_CASE("entries that are to be vouched for first are, also with others on their way behind them") {
  SharedDisk disk;
  Poller poller(disk, {.batch_bytes = block_bytes, .vouch_after = std::chrono::hours(1)});
  disk.hold(true);
  for (int i = 0; i < 3; ++i) {
    CHECK(poller.append(std::string(block_bytes, 'x'), i == 1 ? Vouch::later : Vouch::first));
    poller.thread().flush();
    if (i == 0) disk.await_waiting();
  }
  disk.let_one_pass();
  poller.await_durable(1);
  CHECK(value_or_throw(outline(poller.storage(), test_owner)).back().mark.durable >= JournalPosition(1));
  disk.hold(false);
  poller.await_durable(3);
  CHECK(value_or_throw(outline(poller.storage(), test_owner)).back().mark.durable == JournalPosition(3));
}

TEST_CASE("a log goes on from a base") {
  SharedDisk disk;
  Poller poller(disk);
  CHECK(poller.append("a"));
  CHECK(poller.append("b"));
  CHECK(poller.thread().append_base({SubgroupId(0), LogVersion(7), ViewId(1), SequenceNumber(1), digest_of("x")}, 0) ==
        JournalPosition(2));
  CHECK(poller.append("c"));
  value_or_throw(poller.thread().stop());
  const LogEnd end = value_or_throw(examine(poller.storage(), test_owner)).ends.of(SubgroupId(0));
  CHECK(end.version == LogVersion(8));
}

TEST_CASE("what lies before a position is forgotten when the thread is told so") {
  SharedDisk disk;
  Poller poller(disk);
  for (int i = 0; i < 10; ++i) {
    CHECK(poller.append(std::string(3 * block_bytes, 'x')));
    poller.thread().flush();
    poller.await_durable(static_cast<std::uint64_t>(i) + 1);
  }
  poller.thread().trim(JournalPosition(8));
  value_or_throw(poller.thread().stop());
  const JournalFindings findings = value_or_throw(examine(poller.storage(), test_owner));
  CHECK(findings.first() > JournalPosition(4));
  CHECK(findings.end == JournalPosition(10));
}

}  // namespace
}  // namespace spindrift::store
