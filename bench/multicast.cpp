// The members of a measured group. Each is a process with a Group and one application thread, as a user would write it; what
// it saw goes to memory that it shares with the process that asked.
#include <spindrift/bench/multicast.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include <spindrift/bench/payload.hpp>
#include <spindrift/bench/processes.hpp>
#include <spindrift/group/group.hpp>

namespace spindrift::bench {

namespace {

constexpr Duration patience = std::chrono::minutes(1);

/// A member's results, on lines of its own: it updates them while it runs.
struct alignas(cache_line_bytes) SharedResult {
  MemberResult result;
  std::uint64_t started_at_ns = 0;
  std::uint64_t finished_at_ns = 0;
};

/// All processes of a run share this.
struct MulticastArena {
  const MulticastRun& run;
  std::uint64_t per_sender;
  const std::string& directory;
  Gate& gate;
  Gate& end;
  std::span<SharedResult> results;
  std::span<std::uint64_t> latencies_ns;  ///< empty, or one per message of the only sender

  [[nodiscard]] std::uint64_t messages() const noexcept { return per_sender * run.shape.senders; }
};

/// Counts deliveries on the poller thread, and lets the application thread sleep until a number of them was reached.
class DeliveryCounter {
 public:
  DeliveryCounter(const MulticastArena& arena, std::uint32_t self) : arena_(arena), shared_(arena.results[self]) {}

  void on_delivery(std::span<const Delivery> batch) noexcept {
    std::uint64_t bytes = 0;
    std::uint64_t sum = 0;
    for (const Delivery& delivery : batch) {
      bytes += delivery.payload.size();
      if (arena_.run.touch) sum += read_lines(delivery.payload);
    }
    MemberResult& result = shared_.result;
    result.payload_sum += sum;
    result.delivered_bytes += bytes;
    result.delivered += batch.size();
    if (result.delivered == arena_.messages()) {
      shared_.finished_at_ns = nanoseconds_now();
      wake();
    }
  }

  /// The sender's own deliveries, one at a time.
  void on_own_delivery(std::span<const Delivery> batch) noexcept {
    const std::uint64_t now_ns = nanoseconds_now();
    const std::uint64_t index = shared_.result.delivered;
    if (index < arena_.latencies_ns.size()) arena_.latencies_ns[index] = now_ns - sent_at_ns_;
    on_delivery(batch);
    wake();
  }

  void sending_now() noexcept { sent_at_ns_ = nanoseconds_now(); }
  void wake() noexcept {
    news_.fetch_add(1, std::memory_order_release);
    news_.notify_one();
  }
  void sleep_until_news(std::uint32_t seen) const noexcept { news_.wait(seen, std::memory_order_acquire); }
  [[nodiscard]] std::uint32_t news() const noexcept { return news_.load(std::memory_order_acquire); }

 private:
  const MulticastArena& arena_;
  SharedResult& shared_;
  std::uint64_t sent_at_ns_ = 0;  // ordered by the ring with the delivery that reads it
  std::atomic<std::uint32_t> news_{0};
};

void send_all(Subgroup& subgroup, const MulticastArena& arena) {
  const std::vector<std::byte> source(arena.run.message_bytes, std::byte{1});
  for (std::uint64_t index = 0; index < arena.per_sender; ++index) {
    subgroup.send(source.size(), [&](std::span<std::byte> payload) {
      if (arena.run.touch) std::memcpy(payload.data(), source.data(), source.size());
    });
  }
}

void send_one_by_one(Subgroup& subgroup, const MulticastArena& arena, DeliveryCounter& receiver) {
  const std::vector<std::byte> source(arena.run.message_bytes, std::byte{1});
  for (std::uint64_t index = 0; index < arena.per_sender; ++index) {
    const std::uint32_t seen = receiver.news();
    if (arena.run.rest > Duration{}) std::this_thread::sleep_for(arena.run.rest);
    receiver.sending_now();
    subgroup.send(source);
    receiver.sleep_until_news(seen);
  }
}

void run_member(const MulticastArena& arena, std::uint32_t self) {
  log_errors_only();
  name_thread("member-poller");  // which the group's thread inherits
  Group group(member_config(arena.run.shape, arena.directory, NodeId(self)));
  name_thread("member-app");
  Subgroup& subgroup = group.subgroup(subgroup_name);
  DeliveryCounter receiver(arena, self);
  const bool one_by_one = !arena.latencies_ns.empty() && self == 0;
  group.on_failure([&](const Error&) { receiver.wake(); });
  subgroup.on_delivery([&, one_by_one](std::span<const Delivery> batch) {
    one_by_one ? receiver.on_own_delivery(batch) : receiver.on_delivery(batch);
  });

  const std::uint32_t seen = receiver.news();
  arena.results[self].started_at_ns = arena.gate.pass(arena.run.shape.members);
  if (one_by_one) {
    send_one_by_one(subgroup, arena, receiver);
  } else {
    if (subgroup.is_sender()) send_all(subgroup, arena);
    receiver.sleep_until_news(seen);
  }
  // A leave changes the view, which must not fall into another member's time.
  arena.end.pass_asleep(arena.run.shape.members);
  group.leave();
}

std::string progress_of(const MulticastArena& arena) {
  std::string progress;
  for (const SharedResult& member : arena.results) progress += fmt::format(" {}", member.result.delivered);
  return fmt::format("a run of {} members, {} messages of {} bytes failed; delivered at each member:{}",
                     arena.results.size(), arena.messages(), arena.run.message_bytes, progress);
}

MulticastResult measure(const MulticastRun& run, std::vector<std::uint64_t>* latencies_ns) {
  const GroupShape& shape = run.shape;
  const std::uint64_t per_sender = (run.messages + shape.senders - 1) / shape.senders;
  const std::uint64_t latency_count = latencies_ns ? per_sender : 0;
  const std::uint64_t results_offset = 2 * sizeof(Gate);
  const std::uint64_t latencies_offset = results_offset + shape.members * sizeof(SharedResult);
  auto memory = SharedMemory::make(latencies_offset + latency_count * sizeof(std::uint64_t));
  auto directory = PrivateDirectory::make();
  static_cast<void>(
      member_config(shape, directory.path(), NodeId(0)));  // a wrong setting is an error before the first process

  const std::span<Gate> gates = memory.make_objects<Gate>(0, 2);
  const MulticastArena arena{run,
                             per_sender,
                             directory.path(),
                             gates[0],
                             gates[1],
                             memory.make_objects<SharedResult>(results_offset, shape.members),
                             memory.make_objects<std::uint64_t>(latencies_offset, latency_count)};
  explained([&] { return progress_of(arena); },
            [&] { run_processes(shape.members, patience, [&](std::uint32_t self) { run_member(arena, self); }); });

  MulticastResult result{arena.messages(), 0, {}};
  double slowest = 0;
  for (const SharedResult& member : arena.results) {
    result.members.push_back(member.result);
    result.members.back().seconds = seconds_between(member.started_at_ns, member.finished_at_ns);
    slowest = std::max(slowest, result.members.back().seconds);
  }
  result.messages_per_second = static_cast<double>(result.messages) / slowest;
  if (latencies_ns) latencies_ns->assign(arena.latencies_ns.begin(), arena.latencies_ns.end());
  return result;
}

}  // namespace

MulticastResult run_multicast(const MulticastRun& run) { return measure(run, nullptr); }

double multicast_seconds(const MulticastRun& run) {
  const MulticastResult result = run_multicast(run);
  return static_cast<double>(result.messages) / result.messages_per_second;
}

std::vector<std::uint64_t> run_multicast_latencies_ns(const MulticastRun& run) {
  CHECK(run.shape.senders == 1);
  std::vector<std::uint64_t> latencies_ns;
  auto result = measure(run, &latencies_ns);
  return latencies_ns;
}

}  // namespace spindrift::bench
