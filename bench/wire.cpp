// Two meshes, of sockets and of endpoints of a fabric, and a single stream.
#include <spindrift/bench/wire.hpp>

#include <array>
#include <cerrno>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <spindrift/bench/processes.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/group/group_fabric.hpp>

namespace spindrift::bench {

namespace {

constexpr Duration patience = std::chrono::minutes(1);

/// The processes of a run share the beginning, the end, and what each one counted.
struct Shared {
  SharedMemory memory;
  std::span<Gate> gates;
  std::span<SharedWord> counts;

  [[nodiscard]] double bytes_per_second(const WireRun& run) const {
    std::uint64_t sum = 0;
    for (const SharedWord& count : counts) sum += count.value.load(std::memory_order_relaxed);
    return static_cast<double>(sum) / std::chrono::duration<double>(run.duration).count();
  }
};

Shared make_shared(std::uint32_t processes) {
  auto memory = SharedMemory::make(2 * sizeof(Gate) + processes * sizeof(SharedWord));
  const auto gates = memory.make_objects<Gate>(0, 2);
  const auto counts = memory.make_objects<SharedWord>(2 * sizeof(Gate), processes);
  return Shared{std::move(memory), gates, counts};
}

std::uint64_t end_of(const WireRun& run, std::uint64_t begin_ns) {
  return begin_ns + static_cast<std::uint64_t>(std::chrono::nanoseconds(run.duration).count());
}

/// Both ends of a connection over loopback.
std::array<FileDescriptor, 2> connected_sockets() {
  FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  FileDescriptor caller(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener.get(), generic, length) != 0 || ::listen(listener.get(), 1) != 0 ||
      ::getsockname(listener.get(), generic, &length) != 0 || ::connect(caller.get(), generic, length) != 0) {
    throw Exception(system_error("a TCP connection over loopback", errno));
  }
  FileDescriptor answerer(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (answerer.get() < 0) throw Exception(system_error("accept", errno));
  return std::array{std::move(caller), std::move(answerer)};
}

/// Sends to all and takes from all until `end_ns`; returns the bytes that came.
std::uint64_t exchange(std::span<const int> sockets, std::uint64_t bytes, std::uint64_t end_ns) {
  const std::vector<std::byte> out(bytes, std::byte{1});
  std::vector<std::byte> in(bytes);
  std::vector<pollfd> ready;
  for (const int socket : sockets) ready.push_back({socket, POLLIN | POLLOUT, 0});
  std::uint64_t taken = 0;
  while (nanoseconds_now() < end_ns) {
    bool progress = false;
    for (const int socket : sockets) {
      const auto sent = ::send(socket, out.data(), out.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      const auto got = ::recv(socket, in.data(), in.size(), MSG_DONTWAIT);
      if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK) throw Exception(system_error("send", errno));
      progress |= sent > 0 || got > 0;
      if (got > 0) taken += static_cast<std::uint64_t>(got);
    }
    if (!progress) static_cast<void>(::poll(ready.data(), ready.size(), 1));
  }
  return taken;
}

/// Sends until the end, and says so by closing; or takes until the other end closes. Returns the bytes that came.
std::uint64_t stream(int socket, bool sends, std::uint64_t bytes, std::uint64_t end_ns) {
  std::vector<std::byte> memory(bytes, std::byte{1});
  std::uint64_t taken = 0;
  while (!sends || nanoseconds_now() < end_ns) {
    const auto moved =
        sends ? ::send(socket, memory.data(), memory.size(), MSG_NOSIGNAL) : ::recv(socket, memory.data(), memory.size(), 0);
    if (moved < 0 && errno != EINTR) throw Exception(system_error(sends ? "send" : "recv", errno));
    if (moved == 0) break;
    if (!sends && moved > 0) taken += static_cast<std::uint64_t>(moved);
  }
  if (sends && ::shutdown(socket, SHUT_WR) != 0) throw Exception(system_error("shutdown", errno));
  return taken;
}

/// Small messages over a connection, whole ones.
class Messenger {
 public:
  Messenger(int socket, std::uint64_t bytes, bool spins)
      : socket_(socket), receiving_(spins ? MSG_DONTWAIT : 0), out_(bytes, std::byte{1}), in_(bytes) {
    const int on = 1;
    if (::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
      throw Exception(system_error("TCP_NODELAY", errno));
  }

  std::uint64_t round_trip_ns(Duration rest) const {
    if (rest > Duration{}) std::this_thread::sleep_for(rest);
    const std::uint64_t begin_ns = nanoseconds_now();
    send();
    receive();
    return nanoseconds_now() - begin_ns;
  }
  void answer() const {
    receive();
    send();
  }

 private:
  void send() const {
    for (std::size_t done = 0; done < out_.size();) {
      const auto count = ::send(socket_, out_.data() + done, out_.size() - done, MSG_NOSIGNAL);
      if (count < 0 && errno != EINTR) throw Exception(system_error("send", errno));
      done += count > 0 ? static_cast<std::size_t>(count) : 0;
    }
  }
  void receive() const {
    for (std::size_t done = 0; done < in_.size();) {
      const auto count = ::recv(socket_, in_.data() + done, in_.size() - done, receiving_);
      if (count == 0) throw Exception(Error(ErrorKind::member_lost, "the other end of the connection is gone"));
      if (count < 0 && errno != EINTR && errno != EAGAIN) throw Exception(system_error("recv", errno));
      done += count > 0 ? static_cast<std::size_t>(count) : 0;
    }
  }

  int socket_;
  int receiving_;
  std::vector<std::byte> out_;
  mutable std::vector<std::byte> in_;
};

/// One process's endpoint, connected to all others, each of whom lets it write to a piece of memory.
class FabricPeer {
 public:
  FabricPeer(const WireRun& run, const Config& config)
      : run_(run),
        fabric_(value_or_throw(group::open_group_fabric(config, std::make_shared<AuditTrail>(), nullptr)).fabric) {
    if (fabric_->traits().mappable) {
      throw Exception(Error(ErrorKind::unsupported,
                            fmt::format("members on fabric {} read each other's memory, and write nothing", config.fabric()))
                          .fix("choose one between hosts: --set SPINDRIFT/fabric=ofi:tcp"));
    }
    target_ = value_or_throw(fabric_->allocate(run.bytes, "target"));
    source_ = value_or_throw(fabric_->allocate(run.bytes, "source"));
    for (std::uint32_t node = 0; node < run.shape.members; ++node) {
      if (NodeId(node) == config.local_id()) continue;
      value_or_throw(fabric_->connect({NodeId(node), config.address_of(NodeId(node))}));
    }
    while (ready_ + 1 < run.shape.members) progress();
  }

  /// Bytes written to all others until `end_ns`.
  std::uint64_t write_until(std::uint64_t end_ns) {
    for (WireTarget& peer : peers_)
      while (peer.under_way < under_way_max) post(peer);
    while (nanoseconds_now() < end_ns) progress();
    return written_;
  }

 private:
  static constexpr std::uint32_t under_way_max = 8;
  struct WireTarget {
    fabric::PeerId id;
    fabric::RegionKey target;
    std::uint32_t under_way = 0;
  };

  void post(WireTarget& peer) {
    const fabric::Operation write{.kind = fabric::Operation::Kind::write,
                                  .signaled = true,
                                  .peer = peer.id,
                                  .local = source_.memory.data(),
                                  .bytes = run_.bytes,
                                  .region = peer.target};
    value_or_throw(fabric_->post({&write, 1}));
    ++peer.under_way;
  }

  void progress() {
    std::array<fabric::Event, 64> events;
    const std::size_t count = fabric_->poll(events);
    for (fabric::Event& event : std::span(events).first(count)) take(event);
  }

  void take(fabric::Event& event) {
    switch (event.kind) {
      case fabric::Event::Kind::connected:
        peers_.push_back({event.peer, {}, 0});
        value_or_throw(fabric_->expose(event.peer, target_.key, fabric::Access::write));
        break;
      case fabric::Event::Kind::died: break;
      case fabric::Event::Kind::exposed:
        find(event.peer).target = event.region;
        ++ready_;
        break;
      case fabric::Event::Kind::completed: {
        WireTarget& peer = find(event.peer);
        --peer.under_way;
        written_ += run_.bytes;
        post(peer);
        break;
      }
      case fabric::Event::Kind::lost:
      case fabric::Event::Kind::ended:
        throw Exception(std::move(event.reason).value_or(Error(ErrorKind::member_lost, "a peer is gone")));
      case fabric::Event::Kind::message: break;
    }
  }

  WireTarget& find(fabric::PeerId id) {
    for (WireTarget& peer : peers_) {
      if (peer.id == id) return peer;
    }
    throw Exception(Error(ErrorKind::bad_input, "the fabric told of a peer that is not connected"));
  }

  const WireRun& run_;
  std::unique_ptr<fabric::Fabric> fabric_;
  fabric::Region target_;
  fabric::Region source_;
  std::vector<WireTarget> peers_;
  std::uint32_t ready_ = 0;
  std::uint64_t written_ = 0;
};

}  // namespace

double tcp_bytes_per_second(const WireRun& run) {
  const std::uint32_t members = run.shape.members;
  auto shared = make_shared(members);
  std::vector<FileDescriptor> open;
  std::vector<std::vector<int>> sockets(members);
  for (std::uint32_t i = 0; i < members; ++i) {
    for (std::uint32_t j = i + 1; j < members; ++j) {
      auto pair = connected_sockets();
      sockets[i].push_back(pair[0].get());
      sockets[j].push_back(pair[1].get());
      for (FileDescriptor& end : pair) open.push_back(std::move(end));
    }
  }
  run_processes(members, patience, [&](std::uint32_t self) {
    const std::uint64_t begin_ns = shared.gates[0].pass(members);
    const std::uint64_t taken = exchange(sockets[self], run.bytes, end_of(run, begin_ns));
    shared.counts[self].value.store(taken, std::memory_order_relaxed);
  });
  return shared.bytes_per_second(run);
}

double stream_bytes_per_second(const WireRun& run) {
  constexpr std::uint32_t ends = 2;
  auto shared = make_shared(ends);
  auto sockets = connected_sockets();
  run_processes(ends, patience, [&](std::uint32_t self) {
    sockets[1 - self] = FileDescriptor();
    const std::uint64_t begin_ns = shared.gates[0].pass(ends);
    const std::uint64_t taken = stream(sockets[self].get(), self == 0, run.bytes, end_of(run, begin_ns));
    shared.counts[self].value.store(taken, std::memory_order_relaxed);
  });
  return shared.bytes_per_second(run);
}

std::vector<std::uint64_t> tcp_latencies_ns(std::uint64_t exchanges, std::uint64_t message_bytes, Duration rest) {
  constexpr std::uint32_t ends = 2;
  auto memory = SharedMemory::make(sizeof(Gate) + exchanges * sizeof(std::uint64_t));
  Gate& gate = memory.make_objects<Gate>(0, 1)[0];
  const auto latencies = memory.make_objects<std::uint64_t>(sizeof(Gate), exchanges);
  auto sockets = connected_sockets();
  run_processes(ends, patience, [&](std::uint32_t self) {
    const Messenger messenger(sockets[self].get(), message_bytes, rest == Duration{});
    static_cast<void>(gate.pass(ends));
    for (std::uint64_t index = 0; index < exchanges; ++index) {
      if (self == 1) messenger.answer();
      if (self == 0) latencies[index] = messenger.round_trip_ns(rest);
    }
  });
  return std::vector<std::uint64_t>(latencies.begin(), latencies.end());
}

double fabric_bytes_per_second(const WireRun& run) {
  const std::uint32_t members = run.shape.members;
  auto shared = make_shared(members);
  auto directory = PrivateDirectory::make();
  run_processes(members, patience, [&](std::uint32_t self) {
    log_errors_only();
    FabricPeer peer(run, member_config(run.shape, directory.path(), NodeId(self)));
    const std::uint64_t begin_ns = shared.gates[0].pass(members);
    const std::uint64_t written = peer.write_until(end_of(run, begin_ns));
    shared.counts[self].value.store(written, std::memory_order_relaxed);
    static_cast<void>(shared.gates[1].pass(members));  // nobody is lost before the others are done
  });
  return shared.bytes_per_second(run);
}

}  // namespace spindrift::bench
