// Two processes: one has the targets, the other reads.
#include <spindrift/bench/papers/read_batches.hpp>

#include <sched.h>

#include <array>
#include <atomic>
#include <memory>
#include <random>
#include <span>
#include <utility>

#include <spindrift/bench/processes.hpp>
#include <spindrift/bench/reached.hpp>
#include <spindrift/core/check.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/kernel/pool.hpp>

namespace spindrift::bench {

namespace {

using kernel::OperationStatus;
using kernel::PhysicalEvent;
using kernel::PhysicalOperation;
using kernel::PhysicalQueuePair;

constexpr Duration patience = std::chrono::minutes(2);
constexpr std::uint64_t batch_patience_ns = 10'000'000'000;
constexpr std::uint32_t targets_max = 64;
constexpr std::uint32_t reads_max = 1024;
constexpr kernel::DeviceSizes sizes{.send_depth = 256, .receive_buffers = 16};

/// Both processes see this.
struct BatchMeeting {
  std::array<kernel::Metadata, targets_max> metadata;
  std::array<kernel::MemoryKeys, targets_max> memories;
  Gate ready;
  SharedWord over;
};

void be_read(const ReadBatchRun& run, BatchMeeting& meeting) {
  std::vector<std::unique_ptr<ReachedPeer>> targets;
  for (std::uint32_t i = 0; i < run.targets; ++i) {
    targets.push_back(std::make_unique<ReachedPeer>());
    targets[i]->start(run.provider, sizes);
    targets[i]->readable.fill(static_cast<std::byte>(i + 1));
    meeting.metadata[i] = targets[i]->metadata;
    meeting.memories[i] = targets[i]->read_keys;
  }
  static_cast<void>(meeting.ready.pass(2));
  while (meeting.over.value.load(std::memory_order_acquire) == 0) {
    for (const auto& target : targets) target->poll();
    ::sched_yield();
  }
}

/// Posts a batch and sees to its end, in one of two ways.
class BatchReader {
 public:
  BatchReader(const ReadBatchRun& run, const BatchMeeting& meeting) : run_(run), meeting_(meeting), bytes_(run.reads) {
    std::mt19937_64 random(run.seed);
    for (std::uint32_t i = 0; i < run.reads; ++i) targets_.push_back(static_cast<std::uint32_t>(random() % run.targets));
  }
  virtual ~BatchReader() = default;

  virtual void open() = 0;

  std::uint64_t read_all() {
    for (auto& each : bytes_) each.fill({});
    const std::uint64_t start_ns = nanoseconds_now();
    post_all();
    for (std::uint32_t over = 0; over < run_.reads;) {
      over += take();
      if (nanoseconds_now() - start_ns > batch_patience_ns)
        throw Exception(Error(ErrorKind::timed_out, "a read does not end"));
    }
    const std::uint64_t took_ns = nanoseconds_now() - start_ns;
    for (std::uint32_t i = 0; i < run_.reads; ++i) {
      if (bytes_[i].back() != static_cast<std::byte>(targets_[i] + 1))
        throw Exception(Error(ErrorKind::member_lost, "a read brought what is not there"));
    }
    return took_ns;
  }

 protected:
  using Bytes = std::array<std::byte, 8>;
  void open_device() { device_ = open_loopback_device(run_.provider, sizes); }
  virtual void post_all() = 0;
  /// Returns how many more are over.
  [[nodiscard]] virtual std::uint32_t take() = 0;
  [[nodiscard]] const kernel::Metadata& metadata(std::uint32_t read) const { return meeting_.metadata[targets_[read]]; }
  [[nodiscard]] const kernel::MemoryKeys& memory(std::uint32_t read) const { return meeting_.memories[targets_[read]]; }
  [[nodiscard]] std::span<std::byte> all_bytes() { return std::as_writable_bytes(std::span(bytes_)); }

  const ReadBatchRun& run_;
  const BatchMeeting& meeting_;
  std::vector<std::uint32_t> targets_;  // by read
  std::vector<Bytes> bytes_;            // by read
  std::unique_ptr<kernel::PhysicalDevice> device_;
};

class PoolReader final : public BatchReader {
 public:
  using BatchReader::BatchReader;
  void open() override {
    open_device();
    kernel::PoolOptions options;
    options.queue_pairs = run_.queue_pairs;
    options.pairs_max = run_.reads;
    pool_ = value_or_throw(kernel::Pool::open(*device_, options));
    keys_ = value_or_throw(pool_->register_local(all_bytes()));
    for (std::uint32_t i = 0; i < run_.reads; ++i) {
      const auto pair = value_or_throw(pool_->create(completions_, {.once = false, .messages = false}));
      value_or_throw(pool_->connect(pair, metadata(i), kernel::Port{}));
      pairs_.push_back(pair);
    }
  }

 private:
  void post_all() override {
    for (std::uint32_t i = 0; i < run_.reads; ++i) {
      const kernel::Request read{.kind = kernel::Request::Kind::read,
                                 .signaled = true,
                                 .context = i,
                                 .local = bytes_[i],
                                 .local_memory = keys_,
                                 .remote_address = memory(i).remote_base,
                                 .remote_key = memory(i).remote_key};
      for (std::size_t taken = 0; taken == 0;) {
        taken = value_or_throw(pool_->post(pairs_[i], std::span(&read, 1)));
        if (taken > 0) continue;
        value_or_throw(pool_->progress(clock_.now()));
      }
    }
  }
  std::uint32_t take() override {
    value_or_throw(pool_->progress(clock_.now()));
    std::array<kernel::Completion, 64> done;
    const std::size_t count = completions_.take(done);
    for (const kernel::Completion& each : std::span(done).first(count)) {
      if (each.status != OperationStatus::done)
        throw Exception(Error(ErrorKind::member_lost, "a read failed: " + std::string(to_string(each.status))));
    }
    return static_cast<std::uint32_t>(count);
  }

  SystemClock clock_;
  kernel::CompletionQueue completions_{reads_max};
  std::unique_ptr<kernel::Pool> pool_;
  kernel::MemoryKeys keys_;
  std::vector<kernel::PairId> pairs_;
};

class ConnectedReader final : public BatchReader {
 public:
  using BatchReader::BatchReader;
  void open() override {
    open_device();
    keys_ = value_or_throw(device_->register_memory(all_bytes(), std::nullopt));
    for (std::uint32_t i = 0; i < run_.reads; ++i) {
      queue_pairs_.push_back(value_or_throw(device_->connect(metadata(i), i)));
    }
    const std::uint64_t start_ns = nanoseconds_now();
    for (std::size_t standing = 0; standing < queue_pairs_.size();) {
      standing += look(PhysicalEvent::Kind::connected);
      if (nanoseconds_now() - start_ns > batch_patience_ns)
        throw Exception(Error(ErrorKind::timed_out, "a target does not accept"));
    }
  }

 private:
  void post_all() override {
    for (std::uint32_t i = 0; i < run_.reads; ++i) {
      PhysicalOperation read;
      read.kind = PhysicalOperation::Kind::read;
      read.signaled = true;
      read.id = i;
      read.local = bytes_[i].data();
      read.bytes = sizeof bytes_[i];
      read.local_key = keys_.local_key;
      read.remote_address = memory(i).remote_base;
      read.remote_key = memory(i).remote_key;
      if (queue_pairs_[i]->post(std::span(&read, 1)) == 0)
        throw Exception(Error(ErrorKind::resource, "a queue pair that has nothing to do takes nothing"));
    }
  }
  std::uint32_t take() override { return look(PhysicalEvent::Kind::completed); }

  /// Asks every queue pair once; how many of those events came, of which nothing else is expected.
  std::uint32_t look(PhysicalEvent::Kind expected) {
    std::uint32_t count = 0;
    for (const auto& each : queue_pairs_) {
      std::array<PhysicalEvent, 1> event;
      if (each->poll(event) == 0) continue;
      if (event[0].kind != expected || event[0].status != OperationStatus::done)
        throw Exception(Error(ErrorKind::member_lost, "a connection broke: " + event[0].reason));
      ++count;
    }
    return count;
  }

  kernel::MemoryKeys keys_;
  std::vector<std::unique_ptr<PhysicalQueuePair>> queue_pairs_;
};

void read_batches(BatchReader& reader, std::span<std::uint64_t> took_ns) {
  reader.open();
  reader.read_all();
  for (std::uint64_t& took : took_ns) took = reader.read_all();
}

}  // namespace

std::vector<std::uint64_t> measure_read_batches(const ReadBatchRun& run) {
  CHECK(run.targets >= 1 && run.targets <= targets_max && run.reads >= 1 && run.reads <= reads_max && run.batches >= 1);
  auto memory = SharedMemory::make(sizeof(BatchMeeting) + run.batches * sizeof(std::uint64_t));
  BatchMeeting& meeting = memory.make_objects<BatchMeeting>(0, 1)[0];
  static_assert(sizeof(BatchMeeting) % alignof(std::uint64_t) == 0);
  const auto took_ns = memory.make_objects<std::uint64_t>(sizeof(BatchMeeting), run.batches);
  run_processes(2, patience, [&](std::uint32_t position) {
    if (position == 0) return be_read(run, meeting);
    static_cast<void>(meeting.ready.pass(2));
    PoolReader by_pool(run, meeting);
    ConnectedReader by_connections(run, meeting);
    BatchReader& reader = run.queue_pairs > 0 ? static_cast<BatchReader&>(by_pool) : by_connections;
    read_batches(reader, took_ns);
    meeting.over.value.store(1, std::memory_order_release);
  });
  return std::vector<std::uint64_t>(took_ns.begin(), took_ns.end());
}

}  // namespace spindrift::bench
