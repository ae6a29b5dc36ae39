// Each process has a journal of its own in a directory of its own, as each node has.
#include <spindrift/bench/journal.hpp>

#include <algorithm>
#include <atomic>
#include <optional>

#include <spindrift/bench/plain_files.hpp>
#include <spindrift/bench/processes.hpp>
#include <spindrift/core/digest.hpp>
#include <spindrift/core/event_count.hpp>
#include <spindrift/store/examine.hpp>
#include <spindrift/store/file_storage.hpp>
#include <spindrift/store/journal_thread.hpp>

namespace spindrift::bench {
namespace {

constexpr Duration patience = std::chrono::minutes(2);

/// A journal on its thread, and somebody who waits for it.
class DurableWriter {
 public:
  explicit DurableWriter(const std::string& path) : storage_(value_or_throw(store::FileStorage::open_at(path))) {
    const store::JournalWriter writer{{digest_of("bench"), NodeId(0)}, 1};
    const auto findings = value_or_throw(store::examine(storage_, writer.owner));
    auto journal = value_or_throw(store::Journal::open(storage_, findings, writer, digest_of(path), {}));
    thread_.emplace(std::move(journal), store::JournalThreadOptions{}, [this] {
      commits_.fetch_add(1, std::memory_order_relaxed);
      progress_.notify_all();
    });
  }

  /// Waits while the journal takes no more.
  store::JournalPosition append(std::span<const std::byte> payload) {
    while (true) {
      if (const auto position = thread_->append(head_, payload)) return *position;
      thread_->flush();
      const EventCount::Ticket ticket = progress_.prepare();
      const auto position = thread_->append(head_, payload);
      if (!position) {
        wait(ticket);
        continue;
      }
      progress_.cancel();
      return *position;
    }
  }
  void await(store::JournalPosition position) {
    thread_->flush();
    while (thread_->durable() <= position) {
      const EventCount::Ticket ticket = progress_.prepare();
      if (thread_->durable() > position)
        progress_.cancel();
      else
        wait(ticket);
    }
  }
  [[nodiscard]] std::uint64_t durable() const { return thread_->durable().value(); }
  [[nodiscard]] std::uint64_t commits() const { return commits_.load(std::memory_order_relaxed); }

 private:
  void wait(EventCount::Ticket ticket) {
    if (thread_->state() == store::JournalThread::State::running) {
      static_cast<void>(progress_.wait_until(ticket, never));
      return;
    }
    progress_.cancel();
    throw Exception(thread_->error().value_or(Error(ErrorKind::resource, "the journal has stopped")));
  }

  store::FileStorage storage_;
  EventCount progress_;
  std::atomic<std::uint64_t> commits_{0};
  store::EntryHead head_;
  std::optional<store::JournalThread> thread_;
};

}  // namespace

std::vector<std::uint64_t> journal_latencies_ns(const JournalRun& run) {
  const DiskDirectory directory(run.directory);
  auto memory = SharedMemory::make(sizeof(Gate) + run.processes * run.commits * sizeof(SharedWord));
  Gate& gate = memory.make_objects<Gate>(0, 1)[0];
  const auto times = memory.make_objects<SharedWord>(sizeof(Gate), run.processes * run.commits);
  run_processes(run.processes, patience, [&](std::uint32_t self) {
    DurableWriter writer(directory.of(self));
    const std::vector<std::byte> payload(run.message_bytes);
    for (int warm = 0; warm < 10; ++warm) writer.await(writer.append(payload));
    static_cast<void>(gate.pass(run.processes));
    for (std::uint64_t i = 0; i < run.commits; ++i) {
      const std::uint64_t begin_ns = nanoseconds_now();
      writer.await(writer.append(payload));
      times[self * run.commits + i].value = nanoseconds_now() - begin_ns;
    }
  });
  std::vector<std::uint64_t> all;
  for (const SharedWord& each : times) all.push_back(each.value);
  return all;
}

JournalRate journal_rate(const JournalRun& run, Duration duration) {
  const DiskDirectory directory(run.directory);
  auto memory = SharedMemory::make(sizeof(Gate) + 2 * run.processes * sizeof(SharedWord));
  Gate& gate = memory.make_objects<Gate>(0, 1)[0];
  const auto counts = memory.make_objects<SharedWord>(sizeof(Gate), 2 * run.processes);
  run_processes(run.processes, patience, [&](std::uint32_t self) {
    DurableWriter writer(directory.of(self));
    const std::vector<std::byte> payload(run.message_bytes);
    const std::uint64_t begin_ns = gate.pass(run.processes);
    const std::uint64_t end_ns = begin_ns + static_cast<std::uint64_t>(duration.count());
    do {
      for (int some = 0; some < 16; ++some) writer.append(payload);
    } while (nanoseconds_now() < end_ns);
    counts[2 * self].value = writer.durable();
    counts[2 * self + 1].value = writer.commits();
  });
  std::uint64_t messages = 0;
  std::uint64_t commits = 0;
  for (std::uint32_t i = 0; i < run.processes; ++i) {
    messages += counts[2 * i].value;
    commits += counts[2 * i + 1].value;
  }
  return {static_cast<double>(messages) / std::chrono::duration<double>(duration).count(),
          messages * run.message_bytes / std::max<std::uint64_t>(commits, 1)};
}

}  // namespace spindrift::bench
