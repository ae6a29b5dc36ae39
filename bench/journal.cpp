// Each process has a journal of its own in a directory of its own, as each node has.
#include <spindrift/bench/journal.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include <spindrift/bench/processes.hpp>
#include <spindrift/core/check.hpp>
#include <spindrift/core/digest.hpp>
#include <spindrift/core/event_count.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/store/examine.hpp>
#include <spindrift/store/file_storage.hpp>
#include <spindrift/store/journal_thread.hpp>

namespace spindrift::bench {
namespace {

using store::block_bytes;
using store::Blocks;

constexpr Duration patience = std::chrono::minutes(2);

/// A directory that goes with this object, and everything in it.
class BenchDirectory {
 public:
  explicit BenchDirectory(const JournalRun& run)
      : path_(std::filesystem::absolute(run.directory) / ("spindrift-bench-" + std::to_string(::getpid()))) {
    std::error_code failure;
    if (!std::filesystem::create_directory(path_, failure))
      throw Exception(system_error("mkdir", failure.value()).at(path_));
  }
  ~BenchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  BenchDirectory(const BenchDirectory&) = delete;
  BenchDirectory& operator=(const BenchDirectory&) = delete;
  [[nodiscard]] std::string of(std::uint32_t process) const { return path_ + "/" + std::to_string(process); }

 private:
  std::string path_;
};

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
      if (thread_->durable() > position) progress_.cancel();
      else wait(ticket);
    }
  }
  [[nodiscard]] std::uint64_t durable() const { return thread_->durable().value(); }
  [[nodiscard]] std::uint64_t commits() const { return commits_.load(std::memory_order_relaxed); }

 private:
  void wait(EventCount::Ticket ticket) {
    if (thread_->state() == store::JournalThread::State::running) return progress_.wait(ticket);
    progress_.cancel();
    throw Exception(thread_->error().value_or(Error(ErrorKind::resource, "the journal has stopped")));
  }

  store::FileStorage storage_;
  EventCount progress_;
  std::atomic<std::uint64_t> commits_{0};
  store::EntryHead head_;
  std::optional<store::JournalThread> thread_;
};

/// A file of a size that is set aside when it is made, written from its beginning again when it is full.
class PlainFile {
 public:
  static constexpr std::uint64_t bytes = std::uint64_t{64} << 20U;

  enum class Content { set_aside, written };
  PlainFile(const std::string& path, Content content) {
    // Some file systems cannot do without the cache.
    file_ = FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_DIRECT, 0600));
    if (!file_ && errno == EINVAL) file_ = FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!file_) throw Exception(system_error("open", errno).at(path));
    if (::fallocate(file_.get(), 0, 0, bytes) != 0) throw Exception(system_error("fallocate", errno).at(path));
    if (content == Content::set_aside) return;
    const Blocks zeros(std::size_t{1} << 20U);
    for (std::uint64_t at = 0; at < bytes; at += zeros.size()) write(zeros, at);
    if (::fsync(file_.get()) != 0) throw Exception(system_error("fsync", errno).at(path));
  }
  /// Writes these blocks behind the ones before, or at the beginning if there is no space left, and syncs.
  void append_and_sync(const Blocks& blocks) {
    if (!has_space(blocks.size())) at_ = 0;
    write(blocks, at_);
    at_ += blocks.size();
    if (::fdatasync(file_.get()) != 0) throw Exception(system_error("fdatasync", errno));
  }
  [[nodiscard]] bool has_space(std::uint64_t more) const noexcept { return at_ + more <= bytes; }

 private:
  void write(const Blocks& blocks, std::uint64_t at) const {
    const ssize_t written = ::pwrite(file_.get(), blocks.data(), blocks.size(), static_cast<off_t>(at));
    if (written != static_cast<ssize_t>(blocks.size())) throw Exception(system_error("pwrite", errno));
  }
  FileDescriptor file_;
  std::uint64_t at_ = 0;
};

/// Runs `measured(process, i)` so often in each process, all at once, and takes the nanoseconds of each call.
template <class Prepare>
std::vector<std::uint64_t> latencies_ns(const JournalRun& run, Prepare prepare) {
  const BenchDirectory directory(run);
  auto memory = SharedMemory::make(sizeof(Gate) + run.processes * run.commits * sizeof(SharedWord));
  Gate& gate = memory.make_objects<Gate>(0, 1)[0];
  const auto times = memory.make_objects<SharedWord>(sizeof(Gate), run.processes * run.commits);
  run_processes(run.processes, patience, [&](std::uint32_t self) {
    auto commit = prepare(directory.of(self));
    for (int warm = 0; warm < 10; ++warm) commit();
    static_cast<void>(gate.pass(run.processes));
    for (std::uint64_t i = 0; i < run.commits; ++i) {
      const std::uint64_t begin_ns = nanoseconds_now();
      commit();
      times[self * run.commits + i].value = nanoseconds_now() - begin_ns;
    }
  });
  std::vector<std::uint64_t> all;
  for (const SharedWord& each : times) all.push_back(each.value);
  return all;
}

}  // namespace

std::vector<std::uint64_t> journal_latencies_ns(const JournalRun& run) {
  return latencies_ns(run, [&](const std::string& path) {
    const auto writer = std::make_shared<DurableWriter>(path);
    return [writer, payload = std::vector<std::byte>(run.message_bytes)] { writer->await(writer->append(payload)); };
  });
}

std::vector<std::uint64_t> file_latencies_ns(const JournalRun& run) {
  return latencies_ns(run, [&](const std::string& path) {
    const auto file = std::make_shared<PlainFile>(path, PlainFile::Content::written);
    return [file, blocks = Blocks(store::whole_blocks(run.message_bytes))] { file->append_and_sync(blocks); };
  });
}

JournalRate journal_rate(const JournalRun& run, Duration duration) {
  const BenchDirectory directory(run);
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

double file_rate(const JournalRun& run, std::uint64_t batch_bytes, Duration duration) {
  const BenchDirectory directory(run);
  auto memory = SharedMemory::make(sizeof(Gate) + run.processes * sizeof(SharedWord));
  Gate& gate = memory.make_objects<Gate>(0, 1)[0];
  const auto counts = memory.make_objects<SharedWord>(sizeof(Gate), run.processes);
  run_processes(run.processes, patience, [&](std::uint32_t self) {
    const Blocks batch(store::whole_blocks(batch_bytes));
    const auto make_file = [&](std::uint64_t number) {
      return std::make_unique<PlainFile>(directory.of(self) + "." + std::to_string(number), PlainFile::Content::set_aside);
    };
    auto file = make_file(0);
    const std::uint64_t begin_ns = gate.pass(run.processes);
    const std::uint64_t end_ns = begin_ns + static_cast<std::uint64_t>(duration.count());
    std::uint64_t files = 0;
    do {
      // Space that was written once is written faster, and a log that grows has new space each time.
      if (!file->has_space(batch.size()))
        file = make_file(++files);
      file->append_and_sync(batch);
      counts[self].value += batch_bytes;
    } while (nanoseconds_now() < end_ns);
  });
  std::uint64_t bytes = 0;
  for (const SharedWord& each : counts) bytes += each.value;
  return static_cast<double>(bytes) / static_cast<double>(run.message_bytes) /
         std::chrono::duration<double>(duration).count();
}

}  // namespace spindrift::bench
