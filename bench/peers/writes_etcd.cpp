// etcd: three members, each client at one of its own. A write is a Put, which is answered when it is in the synced log of a
// majority and was applied. All writes of a client go over one connection by gRPC: HTTP/2 in the clear, of which this speaks
// as much as calls with one message each way need, with headers that no table compresses.
// --place: the port of the first member; those of the others follow.
#include <poll.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <unordered_map>

#include <fmt/format.h>

#include <spindrift/core/result.hpp>

#include "local_socket.hpp"
#include "writes.hpp"

using namespace spindrift;

namespace {

constexpr int poll_ms = 100;
constexpr std::uint64_t keys = 1024;  ///< of each client, written over and over

[[noreturn]] void fail_etcd(std::string_view what) {
  throw Exception(Error(ErrorKind::resource, fmt::format("etcd: {}", what)));
}

std::string big_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int byte = bytes - 1; byte >= 0; --byte) text += static_cast<char>(value >> (8 * byte));
  return text;
}

std::uint64_t from_big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8U | static_cast<unsigned char>(byte);
  return value;
}

// HTTP/2 (RFC 9113) and its headers (RFC 7541).
enum class FrameType : std::uint8_t { data, headers, priority, reset, settings, push, ping, goaway, window_update };
constexpr std::uint8_t end_stream = 1;
constexpr std::uint8_t acknowledged = 1;
constexpr std::uint8_t end_headers = 4;
constexpr std::size_t frame_head_bytes = 9;

std::string frame(FrameType type, std::uint8_t flags, std::uint32_t stream, std::string_view payload) {
  std::string text = big_endian(payload.size(), 3);
  text += static_cast<char>(type);
  text += static_cast<char>(flags);
  text += big_endian(stream, 4);
  return text.append(payload);
}

std::string literal(std::string_view text) {
  constexpr std::size_t length_max = 126;
  if (text.size() > length_max) fail_etcd("a header is too long");
  return static_cast<char>(text.size()) + std::string(text);
}

/// The headers of every Put.
std::string put_headers() {
  const char method_post = '\x83';
  const char scheme_http = '\x86';
  const char path_follows = '\x04';
  const char authority_follows = '\x01';
  const char name_follows = '\x00';
  return std::string{method_post, scheme_http} + path_follows + literal("/etcdserverpb.KV/Put") + authority_follows +
         literal("127.0.0.1") + name_follows + literal("content-type") + literal("application/grpc") + name_follows +
         literal("te") + literal("trailers");
}

std::string field(int number, std::string_view bytes) {
  std::string text(1, static_cast<char>(number << 3 | 2));
  std::size_t size = bytes.size();
  for (; size >= 128; size >>= 7U) text += static_cast<char>((size & 127U) | 128U);
  text += static_cast<char>(size);
  return text.append(bytes);
}

/// A message of gRPC with a PutRequest.
std::string put_message(std::string_view key, std::string_view value) {
  const std::string request = field(1, key) + field(2, value);
  return '\0' + big_endian(request.size(), 4) + request;
}

class EtcdClient {
 public:
  explicit EtcdClient(std::uint16_t port) : socket_(port), headers_(put_headers()) {
    constexpr std::uint64_t window_more = 1U << 30U;  // more than all answers of a run take
    socket_.put("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    socket_.put(frame(FrameType::settings, 0, 0, ""));
    socket_.put(frame(FrameType::window_update, 0, 0, big_endian(window_more, 4)));
  }

  /// False: the server's window has no room for it now.
  bool put(std::uint64_t number, std::string_view key, std::string_view value) {
    const std::string message = put_message(key, value);
    if (message.size() > window_) return false;
    window_ -= message.size();
    socket_.put(frame(FrameType::headers, end_headers, next_stream_, headers_));
    socket_.put(frame(FrameType::data, end_stream, next_stream_, message));
    calls_.emplace(next_stream_, Call{number, false});
    next_stream_ += 2;
    return true;
  }

  /// Sends what was put, and hands over the numbers of the calls that have ended: `ended(number, whether it was done)`.
  template <class Ended>
  void exchange(Ended&& ended) {
    socket_.flush();
    pollfd waiting{socket_.descriptor(), POLLIN, 0};
    if (::poll(&waiting, 1, poll_ms) <= 0) return;
    socket_.fill();
    while (const auto size = whole_frame()) {
      take(socket_.input().substr(0, *size), ended);
      socket_.drop(*size);
    }
  }

 private:
  struct Call {
    std::uint64_t number;
    bool answered;  ///< a message came; a call that fails has none
  };

  [[nodiscard]] std::optional<std::size_t> whole_frame() const {
    const std::string_view input = socket_.input();
    if (input.size() < frame_head_bytes) return std::nullopt;
    const std::size_t size = frame_head_bytes + from_big_endian(input.substr(0, 3));
    return input.size() < size ? std::nullopt : std::optional(size);
  }

  template <class Ended>
  void take(std::string_view bytes, Ended& ended) {
    const auto type = static_cast<FrameType>(bytes[3]);
    const auto flags = static_cast<std::uint8_t>(bytes[4]);
    const auto stream = static_cast<std::uint32_t>(from_big_endian(bytes.substr(5, 4)));
    const std::string_view payload = bytes.substr(frame_head_bytes);
    switch (type) {
      case FrameType::settings:
        if ((flags & acknowledged) == 0) socket_.put(frame(type, acknowledged, 0, ""));
        return;
      case FrameType::ping:
        if ((flags & acknowledged) == 0) socket_.put(frame(type, acknowledged, 0, payload));
        return;
      case FrameType::window_update:
        if (stream == 0) window_ += from_big_endian(payload);
        return;
      case FrameType::data:
      case FrameType::headers: return take_answer(type, flags, stream, ended);
      case FrameType::reset: fail_etcd("a call was reset");
      case FrameType::goaway: fail_etcd("the server goes away");
      default: return;
    }
  }

  template <class Ended>
  void take_answer(FrameType type, std::uint8_t flags, std::uint32_t stream, Ended& ended) {
    const auto call = calls_.find(stream);
    if (call == calls_.end()) fail_etcd("an answer to nothing");
    if (type == FrameType::data) call->second.answered = true;
    if ((flags & end_stream) == 0) return;
    ended(call->second.number, call->second.answered);
    calls_.erase(call);
  }

  peers::LocalSocket socket_;
  const std::string headers_;
  std::uint64_t window_ = 65535;  // as a connection begins
  std::uint32_t next_stream_ = 1;
  std::unordered_map<std::uint32_t, Call> calls_;
};

/// Writes until it is done: before that there is no leader.
void await_leader(EtcdClient& client) {
  for (bool done = false; !done;) {
    if (!client.put(0, "leader", "?")) fail_etcd("no window at all");
    for (bool over = false; !over;) {
      client.exchange([&](std::uint64_t, bool answered) {
        over = true;
        done = answered;
      });
    }
  }
}

void run_client(peers::WriteScene& scene) {
  EtcdClient client(static_cast<std::uint16_t>(std::stoi(scene.options().place) + static_cast<int>(scene.self())));
  await_leader(client);
  scene.ready();
  std::optional<std::uint64_t> waiting;  // a write that has begun, and for which the window had no room
  while (!scene.stopped() || scene.on_their_way() > 0) {
    while (waiting || scene.wants_more()) {
      if (!waiting) waiting = scene.begin();
      if (!client.put(*waiting, fmt::format("{}/{}", scene.self(), *waiting % keys), scene.text())) break;
      waiting.reset();
    }
    client.exchange([&](std::uint64_t number, bool answered) {
      if (!answered) fail_etcd("a write was refused");
      scene.end(number);
    });
  }
}

}  // namespace

int main(int argc, char** argv) { return peers::run_writes(argc, argv, run_client); }
