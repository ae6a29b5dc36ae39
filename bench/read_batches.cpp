// Two processes: one has the targets, the other reads.
#include <spindrift/bench/read_batches.hpp>

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

using kernel::PhysicalEvent;
using kernel::PhysicalOperation;
using kernel::PhysicalQueuePair;
using kernel::Status;

constexpr Duration patience = std::chrono::minutes(2);
constexpr std::uint64_t batch_patience_ns = 10'000'000'000;
constexpr std::uint32_t targets_max = 64;
constexpr std::uint32_t reads_max = 1024;
constexpr kernel::DeviceSizes sizes{.send_depth = 256, .receive_buffers = 16};

/// What both processes see.
struct Meeting {
  std::array<kernel::Metadata, targets_max> metadata;
  std::array<kernel::MemoryKeys, targets_max> memories;
  Gate ready;
  SharedWord over;
};

Result<void> be_read(const ReadBatchRun& run, Meeting& meeting) {
  std::vector<std::unique_ptr<Peer>> targets;
  for (std::uint32_t i = 0; i < run.targets; ++i) {
    targets.push_back(std::make_unique<Peer>());
    if (auto started = targets[i]->start(run.provider, sizes); !started) return started;
    targets[i]->readable.fill(static_cast<std::byte>(i + 1));
    meeting.metadata[i] = targets[i]->metadata;
    meeting.memories[i] = targets[i]->read_keys;
  }
  static_cast<void>(meeting.ready.pass(2));
  while (meeting.over.value.load(std::memory_order_acquire) == 0) {
    for (const auto& target : targets) target->poll();
    ::sched_yield();
  }
  return {};
}

/// Posts a batch and sees to its end, in one of two ways.
class Reader {
 public:
  Reader(const ReadBatchRun& run, const Meeting& meeting) : run_(run), meeting_(meeting), bytes_(run.reads) {
    std::mt19937_64 random(run.seed);
    for (std::uint32_t i = 0; i < run.reads; ++i) targets_.push_back(static_cast<std::uint32_t>(random() % run.targets));
  }
  virtual ~Reader() = default;

  [[nodiscard]] virtual Result<void> open() = 0;

  Result<std::uint64_t> read_all() {
    for (auto& each : bytes_) each.fill({});
    const std::uint64_t start_ns = nanoseconds_now();
    if (auto posted = post_all(); !posted) return std::move(posted).error();
    for (std::uint32_t over = 0; over < run_.reads;) {
      auto came = take();
      if (!came) return std::move(came).error();
      over += *came;
      if (nanoseconds_now() - start_ns > batch_patience_ns) return Error(ErrorKind::timed_out, "a read does not end");
    }
    const std::uint64_t took_ns = nanoseconds_now() - start_ns;
    for (std::uint32_t i = 0; i < run_.reads; ++i) {
      if (bytes_[i].back() != static_cast<std::byte>(targets_[i] + 1))
        return Error(ErrorKind::member_lost, "a read brought what is not there");
    }
    return took_ns;
  }

 protected:
  using Bytes = std::array<std::byte, 8>;
  [[nodiscard]] Result<void> open_device() {
    auto device = open_loopback_device(run_.provider, sizes);
    if (!device) return std::move(device).error();
    device_ = std::move(device).value();
    return {};
  }
  [[nodiscard]] virtual Result<void> post_all() = 0;
  /// How many more are over.
  [[nodiscard]] virtual Result<std::uint32_t> take() = 0;
  [[nodiscard]] const kernel::Metadata& metadata(std::uint32_t read) const { return meeting_.metadata[targets_[read]]; }
  [[nodiscard]] const kernel::MemoryKeys& memory(std::uint32_t read) const { return meeting_.memories[targets_[read]]; }
  [[nodiscard]] std::span<std::byte> all_bytes() { return std::as_writable_bytes(std::span(bytes_)); }

  const ReadBatchRun& run_;
  const Meeting& meeting_;
  std::vector<std::uint32_t> targets_;  // by read
  std::vector<Bytes> bytes_;            // by read
  std::unique_ptr<kernel::Device> device_;
};

class PoolReader final : public Reader {
 public:
  using Reader::Reader;
  Result<void> open() override {
    if (auto opened = open_device(); !opened) return opened;
    kernel::PoolOptions options;
    options.queue_pairs = run_.queue_pairs;
    options.pairs_max = run_.reads;
    auto pool = kernel::Pool::open(*device_, options);
    if (!pool) return std::move(pool).error();
    pool_ = std::move(pool).value();
    auto keys = pool_->register_local(all_bytes());
    if (!keys) return std::move(keys).error();
    keys_ = *keys;
    for (std::uint32_t i = 0; i < run_.reads; ++i) {
      const auto pair = pool_->create(completions_, {.once = false, .messages = false});
      if (!pair) return pair.error();
      if (auto bound = pool_->connect(*pair, metadata(i), kernel::Port{}); !bound) return bound;
      pairs_.push_back(*pair);
    }
    return {};
  }

 private:
  Result<void> post_all() override {
    for (std::uint32_t i = 0; i < run_.reads; ++i) {
      const kernel::Request read{.kind = kernel::Request::Kind::read,
                                 .signaled = true,
                                 .context = i,
                                 .local = bytes_[i],
                                 .local_memory = keys_,
                                 .remote_address = memory(i).remote_base,
                                 .remote_key = memory(i).remote_key};
      for (std::size_t taken = 0; taken == 0;) {
        const auto posted = pool_->post(pairs_[i], std::span(&read, 1));
        if (!posted) return posted.error();
        taken = *posted;
        if (taken > 0) continue;
        if (auto moved = pool_->progress(clock_.now()); !moved) return std::move(moved).error();
      }
    }
    return {};
  }
  Result<std::uint32_t> take() override {
    if (auto moved = pool_->progress(clock_.now()); !moved) return std::move(moved).error();
    std::array<kernel::Completion, 64> done;
    const std::size_t count = completions_.take(done);
    for (const kernel::Completion& each : std::span(done).first(count)) {
      if (each.status != Status::done)
        return Error(ErrorKind::member_lost, "a read failed: " + std::string(to_string(each.status)));
    }
    return static_cast<std::uint32_t>(count);
  }

  SystemClock clock_;
  kernel::CompletionQueue completions_{reads_max};
  std::unique_ptr<kernel::Pool> pool_;
  kernel::MemoryKeys keys_;
  std::vector<kernel::PairId> pairs_;
};

class ConnectedReader final : public Reader {
 public:
  using Reader::Reader;
  Result<void> open() override {
    if (auto opened = open_device(); !opened) return opened;
    auto keys = device_->register_local(all_bytes());
    if (!keys) return std::move(keys).error();
    keys_ = *keys;
    for (std::uint32_t i = 0; i < run_.reads; ++i) {
      auto made = device_->connect(metadata(i), i);
      if (!made) return std::move(made).error();
      queue_pairs_.push_back(std::move(made).value());
    }
    const std::uint64_t start_ns = nanoseconds_now();
    for (std::size_t standing = 0; standing < queue_pairs_.size();) {
      auto came = look(PhysicalEvent::Kind::connected);
      if (!came) return std::move(came).error();
      standing += *came;
      if (nanoseconds_now() - start_ns > batch_patience_ns) return Error(ErrorKind::timed_out, "a target does not accept");
    }
    return {};
  }

 private:
  Result<void> post_all() override {
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
        return Error(ErrorKind::resource, "a queue pair that has nothing to do takes nothing");
    }
    return {};
  }
  Result<std::uint32_t> take() override { return look(PhysicalEvent::Kind::completed); }

  /// Asks every queue pair once; how many of those events came, of which nothing else is expected.
  Result<std::uint32_t> look(PhysicalEvent::Kind expected) {
    std::uint32_t count = 0;
    for (const auto& each : queue_pairs_) {
      std::array<PhysicalEvent, 1> event;
      if (each->poll(event) == 0) continue;
      if (event[0].kind != expected || event[0].status != Status::done)
        return Error(ErrorKind::member_lost, "a connection broke: " + event[0].reason);
      ++count;
    }
    return count;
  }

  kernel::MemoryKeys keys_;
  std::vector<std::unique_ptr<PhysicalQueuePair>> queue_pairs_;
};

Result<void> read_batches(Reader& reader, const ReadBatchRun& run, std::span<std::uint64_t> took_ns) {
  if (auto opened = reader.open(); !opened) return opened;
  if (auto first = reader.read_all(); !first) return std::move(first).error();
  for (std::uint32_t batch = 0; batch < run.batches; ++batch) {
    auto took = reader.read_all();
    if (!took) return std::move(took).error();
    took_ns[batch] = *took;
  }
  return {};
}

}  // namespace

Result<std::vector<std::uint64_t>> measure_read_batches(const ReadBatchRun& run) {
  CHECK(run.targets >= 1 && run.targets <= targets_max && run.reads >= 1 && run.reads <= reads_max && run.batches >= 1);
  auto memory = SharedMemory::make(sizeof(Meeting) + run.batches * sizeof(std::uint64_t));
  if (!memory) return std::move(memory).error();
  Meeting& meeting = memory->make_objects<Meeting>(0, 1)[0];
  static_assert(sizeof(Meeting) % alignof(std::uint64_t) == 0);
  const auto took_ns = memory->make_objects<std::uint64_t>(sizeof(Meeting), run.batches);
  auto ran = run_processes(2, patience, [&](std::uint32_t position) {
    if (position == 0) return value_or_throw(be_read(run, meeting));
    static_cast<void>(meeting.ready.pass(2));
    PoolReader by_pool(run, meeting);
    ConnectedReader by_connections(run, meeting);
    Reader& reader = run.queue_pairs > 0 ? static_cast<Reader&>(by_pool) : by_connections;
    value_or_throw(read_batches(reader, run, took_ns));
    meeting.over.value.store(1, std::memory_order_release);
  });
  if (!ran) return std::move(ran).error();
  return std::vector<std::uint64_t>(took_ns.begin(), took_ns.end());
}

}  // namespace spindrift::bench
