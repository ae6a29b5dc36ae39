// A client and a server of calls, or of echoes, each a process.
#include <spindrift/bench/calls.hpp>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <spindrift/bench/processes.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/rpc/drawn_tokens.hpp>
#include <spindrift/rpc/rpc_endpoint.hpp>
#include <spindrift/rpc/shm/shm_transport.hpp>
#include <spindrift/rpc/udp/udp_transport.hpp>

namespace spindrift::bench {
namespace {

constexpr Duration patience = std::chrono::minutes(1);
constexpr Duration answer_patience = std::chrono::seconds(10);
constexpr std::size_t latencies_max = 1 << 20;
constexpr std::uint8_t echo_type = 1;

/// The words of a run, in memory of both processes.
enum RunWord : std::size_t { ready, stop, batches, elapsed_ns, packets, retransmissions, words };

struct SharedRun {
  SharedMemory memory = SharedMemory::make(words * sizeof(SharedWord) + latencies_max * sizeof(std::uint64_t));
  std::span<SharedWord> word = memory.make_objects<SharedWord>(0, words);
  std::span<std::uint64_t> latencies = memory.make_objects<std::uint64_t>(words * sizeof(SharedWord), latencies_max);

  [[nodiscard]] std::uint64_t get(RunWord at) const { return word[at].value.load(std::memory_order_acquire); }
  void set(RunWord at, std::uint64_t value) const { word[at].value.store(value, std::memory_order_release); }
  [[nodiscard]] std::uint64_t await_ready() const {
    while (get(ready) == 0) std::this_thread::yield();
    return get(ready);
  }
  /// Runs batches until the time is over, and writes down what they took.
  template <class Batch>
  void run_batches(Duration duration, Batch&& batch) const {
    for (int i = 0; i < 100; ++i) batch();  // until everything is warm
    const std::uint64_t begin = nanoseconds_now();
    std::uint64_t count = 0, before = begin;
    while (before - begin < static_cast<std::uint64_t>(duration.count()) && count < latencies_max) {
      batch();
      const std::uint64_t now = nanoseconds_now();
      latencies[count++] = now - before;
      before = now;
    }
    set(elapsed_ns, before - begin);
    set(batches, count);
  }
  [[nodiscard]] CallsMeasured measured(std::uint32_t batch) const {
    const std::uint64_t count = get(batches);
    CallsMeasured result;
    result.latencies_ns.assign(latencies.begin(), latencies.begin() + static_cast<std::ptrdiff_t>(count));
    result.per_second = static_cast<double>(count * batch) * 1e9 / static_cast<double>(get(elapsed_ns));
    result.packets = get(packets);
    result.retransmissions = get(retransmissions);
    return result;
  }
};

class Echo final : public rpc::RequestHandler {
 public:
  void on_request(rpc::IncomingRequest& request) override {
    const auto room = request.make_response(request.bytes().size()).value();
    std::memcpy(room.data(), request.bytes().data(), room.size());
    request.answer();
  }
};

Time now() { return Time(Duration(static_cast<Duration::rep>(nanoseconds_now()))); }

/// A client whose calls go out by batches, in buffers that come back with the answers.
class BatchCaller final : public rpc::CallHandler, rpc::SessionHandler {
 public:
  BatchCaller(rpc::RpcEndpoint& endpoint, const rpc::PacketRoute& route, std::uint32_t batch) : endpoint_(endpoint) {
    session_ = value_or_throw(endpoint.connect(route, *this));
    for (std::uint32_t i = 0; i < batch; ++i) {
      calls_.push_back({.type = echo_type, .handler = this, .tag = i});
      calls_.back().request = endpoint.buffer(call_bytes);
      calls_.back().response = endpoint.buffer(call_bytes);
    }
  }
  void run_batch() {
    answered_ = 0;
    for (rpc::OutgoingCall& call : calls_) static_cast<void>(value_or_throw(endpoint_.call(session_, call)));
    while (answered_ < calls_.size()) endpoint_.step(now());
  }
  void on_answer(rpc::CallAnswer&& answer) override {
    if (answer.status != rpc::CallStatus::answered || answer.response.size() != call_bytes)
      throw Exception(Error(ErrorKind::member_lost, "a call is not answered: " + std::string(to_string(answer.status))));
    rpc::OutgoingCall& call = calls_[answer.tag];
    call.type = echo_type;
    call.handler = this;
    call.request = std::move(answer.request);
    call.response = std::move(answer.response);
    ++answered_;
  }
  void on_session(rpc::SessionId, rpc::SessionChange) override {}

 private:
  rpc::RpcEndpoint& endpoint_;
  rpc::SessionId session_;
  std::vector<rpc::OutgoingCall> calls_;
  std::size_t answered_ = 0;
};

void serve_calls(const SharedRun& run, rpc::PacketTransport& transport, std::uint64_t is_ready) {
  value_or_throw(rpc::RpcOptions{}.check(transport));
  rpc::DrawnTokens tokens;
  Echo echo;
  rpc::RpcEndpoint endpoint(transport, tokens, {});
  value_or_throw(endpoint.handle(echo_type, echo));
  run.set(ready, is_ready);
  while (run.get(stop) == 0) endpoint.step(now());
}

void make_calls(const SharedRun& run, rpc::PacketTransport& transport, const rpc::PacketRoute& route, std::uint32_t batch,
                Duration duration) {
  value_or_throw(rpc::RpcOptions{}.check(transport));
  rpc::DrawnTokens tokens;
  rpc::RpcEndpoint endpoint(transport, tokens, {});
  BatchCaller caller(endpoint, route, batch);
  run.run_batches(duration, [&] { caller.run_batch(); });
  run.set(packets, endpoint.packets_sent());
  run.set(retransmissions, endpoint.counts().retransmissions);
  run.set(stop, 1);
}

void calls_over_udp(const SharedRun& run, std::uint32_t process, std::uint32_t batch, Duration duration) {
  const auto transport = value_or_throw(rpc::UdpTransport::open({}));
  const std::string address = transport->address();
  if (process == 0) return serve_calls(run, *transport, std::stoull(address.substr(address.rfind(':') + 1)));
  const auto server = "127.0.0.1:" + std::to_string(run.await_ready());
  make_calls(run, *transport, value_or_throw(transport->route_to(server)), batch, duration);
}

/// `of_server` was made before there were two processes.
void calls_over_shm(const SharedRun& run, std::uint32_t process, rpc::ShmTransport& of_server, std::uint32_t batch,
                    Duration duration) {
  if (process == 0) return serve_calls(run, of_server, 1);
  static_cast<void>(run.await_ready());
  const auto transport = value_or_throw(rpc::ShmTransport::open(value_or_throw(of_server.share()), {}));
  make_calls(run, *transport, rpc::ShmTransport::peer(), batch, duration);
}

/// A datagram socket on loopback, and datagrams to and from it.
class EchoSocket {
 public:
  explicit EchoSocket(std::uint32_t batch)
      : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
        bytes_(batch),
        pieces_(batch),
        messages_(batch) {
    sockaddr_in address = at(0);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (::bind(socket_.get(), any, size) != 0 || ::getsockname(socket_.get(), any, &size) != 0)
      throw Exception(system_error("a UDP socket on loopback", errno));
    port_ = ntohs(address.sin_port);
    for (std::uint32_t i = 0; i < batch; ++i) {
      pieces_[i] = {bytes_[i].data(), bytes_[i].size()};
      messages_[i] = {};
      messages_[i].msg_hdr.msg_iov = &pieces_[i];
      messages_[i].msg_hdr.msg_iovlen = 1;
    }
  }
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  void connect(std::uint16_t port) {
    const sockaddr_in address = at(port);
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      throw Exception(system_error("connect", errno));
  }

  /// The first `count` datagrams.
  void send(std::size_t count) {
    if (messages_.size() == 1) return check(::send(socket_.get(), bytes_[0].data(), bytes_[0].size(), 0) > 0);
    for (std::size_t done = 0; done < count;) {
      const int sent = ::sendmmsg(socket_.get(), messages_.data() + done, static_cast<unsigned>(count - done), 0);
      check(sent > 0);
      done += static_cast<std::size_t>(sent);
    }
  }
  /// Takes what has come, up to a batch; how many that is.
  [[nodiscard]] std::size_t take() {
    if (messages_.size() == 1) return ::recv(socket_.get(), bytes_[0].data(), bytes_[0].size(), 0) > 0 ? 1 : 0;
    const int count =
        ::recvmmsg(socket_.get(), messages_.data(), static_cast<unsigned>(messages_.size()), MSG_DONTWAIT, nullptr);
    return count > 0 ? static_cast<std::size_t>(count) : 0;
  }

 private:
  static void check(bool sent) {
    if (!sent) throw Exception(system_error("send on loopback", errno));
  }
  static sockaddr_in at(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
  }

  FileDescriptor socket_;
  std::uint16_t port_ = 0;
  std::vector<std::array<std::byte, rpc::header_bytes + call_bytes>> bytes_;
  std::vector<iovec> pieces_;
  std::vector<mmsghdr> messages_;
};

void echo_datagrams(const SharedRun& run, std::uint32_t process, std::uint32_t batch, Duration duration) {
  EchoSocket socket(batch);
  if (process == 0) {
    run.set(ready, socket.port());
    while (run.get(packets) == 0) std::this_thread::yield();
    socket.connect(static_cast<std::uint16_t>(run.get(packets)));
    run.set(retransmissions, 1);
    while (run.get(stop) == 0) {
      if (const std::size_t count = socket.take(); count > 0) socket.send(count);
    }
    return;
  }
  socket.connect(static_cast<std::uint16_t>(run.await_ready()));
  run.set(packets, socket.port());
  while (run.get(retransmissions) == 0) std::this_thread::yield();
  run.run_batches(duration, [&] {
    socket.send(batch);
    const std::uint64_t until = nanoseconds_now() + static_cast<std::uint64_t>(answer_patience.count());
    for (std::size_t came = 0, looks = 0; came < batch; ++looks) {
      came += socket.take();
      if (looks % 4096 == 4095 && nanoseconds_now() > until)
        throw Exception(Error(ErrorKind::timed_out, "a datagram on loopback was lost"));
    }
  });
  run.set(stop, 1);
}

}  // namespace

CallsMeasured measure_calls(CallCarrier carrier, std::uint32_t batch, Duration duration) {
  const SharedRun run;
  const auto shm = value_or_throw(rpc::ShmTransport::create({}));
  run_processes(2, patience + duration, [&](std::uint32_t process) {
    static_cast<void>(pin_to_cpu(process));
    if (carrier == CallCarrier::udp) return calls_over_udp(run, process, batch, duration);
    calls_over_shm(run, process, *shm, batch, duration);
  });
  return run.measured(batch);
}

CallsMeasured measure_echo(std::uint32_t batch, Duration duration) {
  const SharedRun run;
  run_processes(2, patience + duration, [&](std::uint32_t process) {
    static_cast<void>(pin_to_cpu(process));
    echo_datagrams(run, process, batch, duration);
  });
  CallsMeasured result = run.measured(batch);
  result.packets = result.retransmissions = 0;
  return result;
}

}  // namespace spindrift::bench
