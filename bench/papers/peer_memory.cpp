// Two processes: one is reached, the other is measured before it reaches anybody and after.
#include <spindrift/bench/papers/peer_memory.hpp>

#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include <spindrift/bench/processes.hpp>
#include <spindrift/bench/reached.hpp>
#include <spindrift/bench/seeker.hpp>
#include <spindrift/core/check.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/kernel/metadata_cache.hpp>
#include <spindrift/kernel/ofi/ofi_device.hpp>

namespace spindrift::bench {

namespace {

using kernel::DeviceSizes;
using kernel::PhysicalEvent;

constexpr Duration patience = std::chrono::minutes(5);
/// As a group over virtual queue pairs opens its device.
constexpr DeviceSizes sizes{.send_depth = 256, .receive_buffers = 64};
/// Connected queue pairs of one device with these sizes.
constexpr std::uint32_t connections_per_device = 200;
constexpr std::uint32_t devices_max = memory_peers_max / connections_per_device;
/// Calls that are not answered yet.
constexpr std::uint32_t calls_max = 32;

/// Both processes see this.
struct MemoryMeeting {
  kernel::MetaServer server;
  std::array<kernel::Metadata, devices_max> accepting;  ///< each for `connections_per_device`
  std::array<kernel::MemoryKeys, memory_written_max> memories;
  Gate ready;
  SharedWord over;
  MemoryUse used;
};

/// A field of /proc/self/status in kB, read without allocating anything.
std::uint64_t status_kilobytes(std::string_view status, std::string_view field) {
  const std::size_t at = status.find(field);
  CHECK(at != std::string_view::npos);
  const std::size_t digits = status.find_first_of("0123456789", at);
  CHECK(digits != std::string_view::npos);
  std::uint64_t kilobytes = 0;
  std::from_chars(status.data() + digits, status.data() + status.size(), kilobytes);
  return kilobytes;
}

void allow_all_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) throw Exception(system_error("getrlimit", errno));
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) throw Exception(system_error("setrlimit", errno));
}

/// A device for connected queue pairs alone.
std::unique_ptr<kernel::PhysicalDevice> open_connected_device() {
  kernel::OfiDeviceOptions options;
  options.connectionless = "";
  options.listen = "127.0.0.1:0";
  options.sizes = sizes;
  options.sizes.peers_max = connections_per_device;
  return value_or_throw(kernel::make_ofi_device(options));
}

/// Takes every connection, and has it until the end.
struct Acceptor {
  std::unique_ptr<kernel::PhysicalDevice> device;
  std::vector<std::unique_ptr<kernel::PhysicalQueuePair>> accepted;
};

void accept_connections(std::uint32_t peers, MemoryMeeting& meeting) {
  std::vector<Acceptor> acceptors((peers + connections_per_device - 1) / connections_per_device);
  for (std::size_t i = 0; i < acceptors.size(); ++i) {
    auto made = open_connected_device();
    acceptors[i].device = std::move(made);
    meeting.accepting[i] = acceptors[i].device->metadata();
  }
  static_cast<void>(meeting.ready.pass(2));
  while (meeting.over.value.load(std::memory_order_acquire) == 0) {
    for (Acceptor& each : acceptors) {
      if (auto call = each.device->accepted(); call.queue_pair != nullptr)
        each.accepted.push_back(std::move(call.queue_pair));
    }
    ::sched_yield();
  }
}

void keep_table(const PeerMemoryRun& run, MemoryMeeting& meeting) {
  TableKeeper keeper;
  std::vector<std::unique_ptr<ReachedPeer>> there(run.holding == Holding::written ? run.peers : 0);
  const auto told_max = static_cast<std::uint32_t>(there.size());
  keeper.start(run.provider, run.peers, told_max);
  for (std::uint32_t i = 0; i < told_max; ++i) {
    there[i] = std::make_unique<ReachedPeer>();
    there[i]->start(run.provider, {.send_depth = 16, .receive_buffers = 16});
    keeper.tell(NodeId(i + 1), *there[i]);
    meeting.memories[i] = there[i]->write_keys;
  }
  meeting.server = keeper.server();
  static_cast<void>(meeting.ready.pass(2));
  while (meeting.over.value.load(std::memory_order_acquire) == 0) {
    keeper.poll();
    for (const auto& peer : there) peer->poll();
    ::sched_yield();
  }
}

MemoryUse since(const MemoryUse& before) {
  const MemoryUse now = memory_in_use();
  return {now.allocated - before.allocated, now.resident - before.resident};
}

MemoryUse cache_metadata(const kernel::Metadata& real, std::uint32_t peers) {
  const MemoryUse before = memory_in_use();
  kernel::MetadataCache cache(peers);
  for (std::uint32_t number = 1; number <= peers; ++number) cache.put(NodeId(number), {number, elsewhere(real, number)});
  CHECK(cache.size() == peers);
  return since(before);
}

MemoryUse make_room(const PeerMemoryRun& run) {
  const MemoryUse before = memory_in_use();
  DeviceSizes own = sizes;
  own.peers_max = run.peers;
  auto device = open_loopback_device(run.provider, own);
  return since(before);
}

/// Takes in a node that was looked up.
void have(Holding holding, Seeker& seeker, kernel::PhysicalDevice& device, NodeId node, const MemoryMeeting& meeting) {
  if (holding == Holding::written) return seeker.connect_and_write(node, meeting.memories[node.value() - 1]);
  if (holding != Holding::known) return seeker.connect(node, holding == Holding::pair_with_messages);
  const kernel::Metadata* const metadata = seeker.find(node);
  CHECK(metadata != nullptr);
  static_cast<void>(value_or_throw(device.resolve(*metadata)));
}

MemoryUse know_or_pair(const PeerMemoryRun& run, const MemoryMeeting& meeting) {
  const MemoryUse before = memory_in_use();
  DeviceSizes own = sizes;
  own.peers_max = run.room + 1;  // and the meta server
  auto device = open_loopback_device(run.provider, own);
  const bool pairs = run.holding != Holding::known;
  auto seeker = Seeker::start(*device, meeting.server, {.nodes_max = run.peers, .pairs_max = pairs ? run.peers : 0});
  seeker->look_up(NodeId(1), run.peers);
  for (std::uint32_t number = 1; number <= run.peers; ++number) have(run.holding, *seeker, *device, NodeId(number), meeting);
  return since(before);
}

struct MemoryCaller {
  std::unique_ptr<kernel::PhysicalDevice> device;
  std::vector<std::unique_ptr<kernel::PhysicalQueuePair>> connections;
};

/// `count` more, all at a time.
void call(MemoryCaller& caller, const kernel::Metadata& peer, std::uint32_t count) {
  const SystemClock clock;
  const Time start = clock.now();
  const std::size_t first = caller.connections.size();
  for (std::uint32_t i = 0; i < count; ++i) {
    auto made = value_or_throw(caller.device->connect(peer, i));
    caller.connections.push_back(std::move(made));
  }
  std::array<PhysicalEvent, 1> event;
  for (std::size_t i = first; i < caller.connections.size();) {
    if (clock.now() - start > patience) throw Exception(Error(ErrorKind::timed_out, "a peer does not accept"));
    if (caller.connections[i]->poll(event) == 0) continue;
    if (event[0].kind != PhysicalEvent::Kind::connected)
      throw Exception(Error(ErrorKind::member_lost, "a connection broke: " + event[0].reason));
    ++i;
  }
}

MemoryUse make_connections(std::uint32_t peers, const MemoryMeeting& meeting) {
  const MemoryUse before = memory_in_use();
  std::vector<MemoryCaller> callers;
  for (std::uint32_t made = 0; made < peers;) {
    if (made % connections_per_device == 0) callers.push_back({open_connected_device(), {}});
    MemoryCaller& caller = callers.back();
    const auto room = connections_per_device - static_cast<std::uint32_t>(caller.connections.size());
    const std::uint32_t count = std::min({peers - made, room, calls_max});
    call(caller, meeting.accepting[callers.size() - 1], count);
    made += count;
  }
  return since(before);
}

MemoryUse reach_all(const PeerMemoryRun& run, const MemoryMeeting& meeting) {
  switch (run.holding) {
    case Holding::room: return make_room(run);
    case Holding::metadata: return cache_metadata(meeting.server.metadata, run.peers);
    case Holding::connection: return make_connections(run.peers, meeting);
    case Holding::known:
    case Holding::pair:
    case Holding::pair_with_messages:
    case Holding::written: break;
  }
  return know_or_pair(run, meeting);
}

}  // namespace

const char* to_string(Holding holding) noexcept {
  switch (holding) {
    case Holding::room: return "room in the device";
    case Holding::metadata: return "cached metadata";
    case Holding::known: return "known peer";
    case Holding::pair: return "known peer, virtual queue pair";
    case Holding::pair_with_messages: return "known peer, virtual queue pair with messages";
    case Holding::written: return "known peer, virtual queue pair, written to";
    case Holding::connection: break;
  }
  return "connected queue pair";
}

MemoryUse memory_in_use() {
  const struct mallinfo2 blocks = ::mallinfo2();
  std::array<char, 4096> text{};
  const int file = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  const auto bytes = file < 0 ? -1 : ::read(file, text.data(), text.size());
  CHECK(bytes > 0);
  ::close(file);
  const std::string_view status(text.data(), static_cast<std::size_t>(bytes));
  return {blocks.uordblks + blocks.hblkhd,
          1024 * (status_kilobytes(status, "RssAnon:") + status_kilobytes(status, "RssShmem:"))};
}

MemoryUse memory_of_peers(const PeerMemoryRun& run) {
  CHECK(run.peers >= 1 && run.peers <= run.room && run.room <= memory_peers_max);
  CHECK(run.holding != Holding::written || run.peers <= memory_written_max);
  auto memory = SharedMemory::make(sizeof(MemoryMeeting));
  MemoryMeeting& meeting = memory.make_objects<MemoryMeeting>(0, 1)[0];
  run_processes(2, patience, [&](std::uint32_t position) {
    allow_all_descriptors();
    if (position == 0)
      return run.holding == Holding::connection ? accept_connections(run.peers, meeting) : keep_table(run, meeting);
    static_cast<void>(meeting.ready.pass(2));
    meeting.used = reach_all(run, meeting);
    meeting.over.value.store(1, std::memory_order_release);
  });
  return meeting.used;
}

double bytes_per_further_peer(std::uint64_t one, std::uint64_t all, std::uint32_t peers) {
  CHECK(peers >= 2);
  return (static_cast<double>(all) - static_cast<double>(one)) / (peers - 1);
}

}  // namespace spindrift::bench
