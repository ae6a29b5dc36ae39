// The ends of calls and of echoes, each a process.
#include <spindrift/bench/plain_calls.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <spindrift/bench/processes.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/rpc/drawn_tokens.hpp>
#include <spindrift/rpc/rpc_endpoint.hpp>
#include <spindrift/rpc/tcp/tcp_transport.hpp>

namespace spindrift::bench {
namespace {

constexpr Duration patience = std::chrono::minutes(2);
constexpr std::uint64_t warm_calls = 50;
constexpr std::uint8_t call_type = 1;

/// Two processes, of which the second times what it does with the first.
struct TimedPair {
  explicit TimedPair(std::uint64_t count)
      : memory(SharedMemory::make(2 * sizeof(SharedWord) + count * sizeof(std::uint64_t))),
        words(memory.make_objects<SharedWord>(0, 2)),
        times_ns(memory.make_objects<std::uint64_t>(2 * sizeof(SharedWord), count)) {}

  /// The first has a port to be called at.
  void tell(std::uint64_t port) const {
    words[0].value.store(port);
    futex_wake(words[0], 1);
  }
  [[nodiscard]] std::uint64_t await_port() const {
    while (words[0].value.load() == 0) futex_wait(words[0], 0);
    return words[0].value.load();
  }
  template <class Exchange>
  void measure(Exchange&& exchange) const {
    for (std::uint64_t i = 0; i < warm_calls; ++i) exchange();
    for (std::uint64_t& time : times_ns) {
      const std::uint64_t begin_ns = nanoseconds_now();
      exchange();
      time = nanoseconds_now() - begin_ns;
    }
  }

  SharedMemory memory;
  std::span<SharedWord> words;  ///< a port; whether it is over
  std::span<std::uint64_t> times_ns;
};

Time now() { return Time(Duration(static_cast<Duration::rep>(nanoseconds_now()))); }

/// Sleeps until something has come or is due, and takes it.
void step(rpc::StreamTransport& transport, rpc::RpcEndpoint& endpoint) {
  const Time due = endpoint.next_due();
  const Duration most = due == never ? std::chrono::seconds(1) : std::max(due - now(), Duration(0));
  static_cast<void>(transport.wait(most));
  static_cast<void>(endpoint.step(now()));
}

class CallCounter final : public rpc::RequestHandler {
 public:
  void on_request(rpc::IncomingRequest& request) override {
    const auto room = request.make_response(sizeof calls_).value();
    ++calls_;
    std::memcpy(room.data(), &calls_, sizeof calls_);
    request.answer();
  }

 private:
  std::uint64_t calls_ = 0;
};

class PlainCaller final : public rpc::CallHandler, rpc::SessionHandler {
 public:
  PlainCaller(rpc::RpcEndpoint& endpoint, const rpc::PacketRoute& route, std::uint64_t bytes) : endpoint_(endpoint) {
    session_ = value_or_throw(endpoint.connect(route, *this));
    call_.request = endpoint.buffer(bytes);
    call_.response = endpoint.buffer(sizeof(std::uint64_t));
  }
  void begin() {
    answered_ = false;
    call_.type = call_type;
    call_.handler = this;
    static_cast<void>(value_or_throw(endpoint_.call(session_, call_)));
  }
  void call(rpc::StreamTransport& transport) {
    begin();
    while (!answered_) step(transport, endpoint_);
  }
  void on_answer(rpc::CallAnswer&& answer) override {
    if (answer.status != rpc::CallStatus::answered)
      throw Exception(Error(ErrorKind::member_lost, "a call is not answered: " + std::string(to_string(answer.status))));
    call_.request = std::move(answer.request);
    call_.response = std::move(answer.response);
    answered_ = true;
  }
  void on_session(rpc::SessionId, rpc::SessionChange) override {}

 private:
  rpc::RpcEndpoint& endpoint_;
  rpc::SessionId session_;
  rpc::OutgoingCall call_;
  bool answered_ = false;
};

void serve_plain_calls(const TimedPair& pair) {
  rpc::StreamOptions options;
  options.listen = "127.0.0.1:0";
  const auto transport = value_or_throw(rpc::StreamTransport::open(std::move(options)));
  rpc::DrawnTokens tokens;
  CallCounter counter;
  rpc::RpcEndpoint endpoint(*transport, tokens, rpc::over_tcp());
  value_or_throw(endpoint.handle(call_type, counter));
  const std::string& address = transport->address();
  pair.tell(std::stoull(address.substr(address.rfind(':') + 1)));
  while (pair.words[1].value.load() == 0) step(*transport, endpoint);
}

void make_plain_calls(const TimedPair& pair, std::uint64_t bytes) {
  const auto transport = value_or_throw(rpc::StreamTransport::open({}));
  rpc::DrawnTokens tokens;
  rpc::RpcEndpoint endpoint(*transport, tokens, rpc::over_tcp());
  const auto route = value_or_throw(transport->call("127.0.0.1:" + std::to_string(pair.await_port())));
  PlainCaller caller(endpoint, route, bytes);
  pair.measure([&] { caller.call(*transport); });
  pair.words[1].value.store(1);
  caller.begin();  // so that the other end looks, which may not answer any more
  static_cast<void>(endpoint.step(now()));
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

/// A TCP connection that waits for each byte.
class EchoStream {
 public:
  explicit EchoStream(FileDescriptor socket) : socket_(std::move(socket)) {
    const int on = 1;
    if (::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
      throw Exception(system_error("setsockopt", errno));
  }
  void send(std::span<const std::byte> bytes) const {
    if (::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size()))
      throw Exception(system_error("send on loopback", errno));
  }
  /// False: the other end is gone.
  [[nodiscard]] bool take(std::span<std::byte> bytes) const {
    return ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_WAITALL) == static_cast<ssize_t>(bytes.size());
  }

 private:
  FileDescriptor socket_;
};

FileDescriptor made_socket() {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) throw Exception(system_error("socket", errno));
  return socket;
}

void serve_echoes(const TimedPair& pair, std::uint64_t bytes) {
  const FileDescriptor listener = made_socket();
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener.get(), any, size) != 0 || ::listen(listener.get(), 1) != 0 ||
      ::getsockname(listener.get(), any, &size) != 0)
    throw Exception(system_error("a TCP socket on loopback", errno));
  pair.tell(ntohs(address.sin_port));
  const EchoStream stream(FileDescriptor(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)));
  std::vector<std::byte> buffer(bytes);
  while (stream.take(buffer)) stream.send(buffer);
}

void exchange_echoes(const TimedPair& pair, std::uint64_t bytes) {
  FileDescriptor socket = made_socket();
  const sockaddr_in address = loopback(static_cast<std::uint16_t>(pair.await_port()));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw Exception(system_error("connect", errno));
  const EchoStream stream(std::move(socket));
  std::vector<std::byte> buffer(bytes);
  pair.measure([&] {
    stream.send(buffer);
    if (!stream.take(buffer)) throw Exception(Error(ErrorKind::member_lost, "an echo does not come back"));
  });
}

template <class First, class Second>
std::vector<std::uint64_t> timed(std::uint64_t count, const First& first, const Second& second) {
  const TimedPair pair(count);
  run_processes(2, patience, [&](std::uint32_t process) { process == 0 ? first(pair) : second(pair); });
  return {pair.times_ns.begin(), pair.times_ns.end()};
}

}  // namespace

std::vector<std::uint64_t> plain_call_latencies_ns(std::uint64_t bytes, std::uint64_t calls) {
  return timed(
      calls, [](const TimedPair& pair) { serve_plain_calls(pair); },
      [&](const TimedPair& pair) { make_plain_calls(pair, bytes); });
}

std::vector<std::uint64_t> echo_latencies_ns(std::uint64_t bytes, std::uint64_t exchanges) {
  return timed(
      exchanges, [&](const TimedPair& pair) { serve_echoes(pair, bytes); },
      [&](const TimedPair& pair) { exchange_echoes(pair, bytes); });
}

}  // namespace spindrift::bench
