// A journal in files: on a file system that forgets what was not synced, and written by a process that is killed at any
// moment. Whatever was reported durable is there, once and in order.
#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include <spindrift/store/file_storage.hpp>
#include <spindrift/store/journal_thread.hpp>

#include "../sim/random.hpp"
#include "../skip.hpp"
#include "forgetful_fs.hpp"
#include "journal_fixture.hpp"
#include "temporary_directory.hpp"

namespace spindrift::store {
namespace {

constexpr JournalOptions few_blocks{.segment_bytes = 24 * block_bytes, .prepared_bytes = 4 * block_bytes};

/// The text of the k-th entry: it says which it is, and has a size of its own.
std::string text_of(std::uint64_t position) {
  return std::to_string(position) + std::string(position * 977 % 3000, 'x');
}

/// The count of entries, if these are the first so many.
std::uint64_t count_entries(Storage& storage) {
  const JournalFindings findings = value_or_throw(examine(storage, test_owner));
  REQUIRE(findings.loss() == nullptr);
  std::uint64_t count = findings.first().value();
  for (const ReadEntry& entry : read_entries(storage, findings)) {
    REQUIRE(entry.position == count);
    REQUIRE(entry.text == text_of(count));
    ++count;
  }
  REQUIRE(findings.end == JournalPosition(count));
  return count;
}

TEST_CASE("a journal on a disk that forgets what was not synced has all that it reported durable, whenever that happens") {
  const TemporaryDirectory directory;
  const auto mount = ForgetfulMount::mount(directory.path(), {});
  if (!mount) return spindrift::test::skip(mount.error().to_string());
  sim::Random random(1, sim::Purpose::workload);
  std::uint64_t durable = 0;
  for (std::uint64_t process = 1; process <= 40; ++process) {
    {
      FileStorage storage = value_or_throw(FileStorage::open_at(directory.path()));
      REQUIRE(count_entries(storage) >= durable);
      Journal journal = value_or_throw(open_journal(storage, process, few_blocks));
      Batch batch;
      std::uint64_t next = journal.end().value();
      for (std::uint64_t steps = random.below(12); steps > 0; --steps) {
        for (std::uint64_t entries = random.below(4); entries > 0; --entries) append_text(batch, text_of(next++));
        switch (random.below(5)) {
          case 0: value_or_throw(journal.begin_commit(batch)); break;
          case 1: value_or_throw(journal.vouch()); break;
          case 2: value_or_throw(journal.prepare()); break;
          case 3: value_or_throw(journal.trim(JournalPosition(random.below(journal.durable().value() + 1)))); break;
          default: value_or_throw(journal.commit(batch));
        }
      }
      durable = journal.durable().value();
    }
    (*mount)->forget();
  }
  CHECK(durable > 100);
}

/// Appends and reports, by a word each time, how much is durable, until it is killed.
[[noreturn]] void append_for_ever(const std::string& path, std::uint64_t incarnation, int report) {
  FileStorage storage = value_or_throw(FileStorage::open_at(path));
  Journal journal = value_or_throw(open_journal(storage, incarnation, few_blocks));
  std::uint64_t next = journal.end().value();
  JournalThread* running = nullptr;
  JournalThread thread(std::move(journal), {.vouch_after = std::chrono::microseconds(200)}, [&] {
    if (running == nullptr) return;
    const std::uint64_t durable = running->durable().value();
    if (::write(report, &durable, sizeof durable) != sizeof durable) ::_exit(1);
  });
  running = &thread;
  for (;; ++next) {
    const std::string text = text_of(next);
    while (!thread.append({EntryKind::message, SubgroupId(0), NodeId(1), ViewId(2), SequenceNumber(5), 7},
                          std::as_bytes(std::span(text))))
      std::this_thread::yield();
    if (next % 5 == 0) thread.flush();
  }
}

/// The last word that a process has reported until it was killed; `last`: one that was read before.
std::uint64_t last_report(int report, std::uint64_t last) {
  for (std::uint64_t word = 0; ::read(report, &word, sizeof word) == sizeof word;) last = word;
  return last;
}

/// Kills so many processes, one after the other, each at an instant of its own.
void kill_processes(std::uint64_t count) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/journal";
  sim::Random random(2, sim::Purpose::faults);
  std::uint64_t durable = 0;
  for (std::uint64_t process = 1; process <= count; ++process) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      ::close(ends[0]);
      append_for_ever(path, process, ends[1]);
    }
    ::close(ends[1]);
    // Half of them are killed at any instant since they began, the others behind their first commit.
    std::uint64_t reported = 0;
    if (random.chance(1, 2)) REQUIRE(::read(ends[0], &reported, sizeof reported) == sizeof reported);
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(4000)));
    REQUIRE(::kill(child, SIGKILL) == 0);
    REQUIRE(::waitpid(child, nullptr, 0) == child);
    durable = std::max(durable, last_report(ends[0], reported));
    ::close(ends[0]);
    FileStorage storage = value_or_throw(FileStorage::open_at(path));
    REQUIRE(count_entries(storage) >= durable);
    // So that it stays small.
    Journal journal = value_or_throw(open_journal(storage, 1000 + process, few_blocks));
    value_or_throw(journal.trim(JournalPosition(durable - std::min<std::uint64_t>(durable, 20))));
  }
  CHECK(durable > count);
}

TEST_CASE("processes that are killed while they append leave all that they reported durable") { kill_processes(60); }

TEST_CASE("the same of a thousand processes", "[.long]") { kill_processes(1000); }

}  // namespace
}  // namespace spindrift::store
