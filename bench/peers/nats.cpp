// NATS JetStream: one stream replicated in the memory of three servers, whose leader orders it; every member publishes
// through its own server, 100 messages unacknowledged, and gets the stream pushed. Speaks the servers' text protocol itself.
// --place: the port of the first server; those of the others follow. Behind a colon the certificate of the authority that
// the servers' certificates are of: then all is inside of TLS.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/ssl.h>

#include <memory>

#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/result.hpp>

#include "peer.hpp"

using namespace spindrift;

namespace {

constexpr std::uint64_t window = 100;
constexpr int poll_ms = 100;
constexpr std::size_t read_bytes = 1 << 18;

[[noreturn]] void fail(std::string what) { throw Exception(Error(ErrorKind::resource, "NATS: " + std::move(what))); }

struct NatsMessage {
  std::string_view subject;
  std::string_view reply;
  std::string_view header;
  std::string_view payload;
};

struct FreeSession {
  void operator()(SSL* session) const noexcept { SSL_free(session); }
  void operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
};

/// The bytes of one connection, in the clear or inside of TLS.
class NatsStream {
 public:
  /// `authority`: a file; empty: in the clear.
  NatsStream(std::uint16_t port, const std::string& authority) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      throw Exception(system_error("connect to NATS", errno));
    const int on = 1;
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (!authority.empty()) begin_tls(authority);
  }

  /// Bytes that were taken; nothing: none now.
  std::size_t send(std::string_view bytes) {
    std::size_t count = 0;
    if (session_ == nullptr) {
      const auto sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno != EAGAIN) throw Exception(system_error("send to NATS", errno));
      return sent > 0 ? static_cast<std::size_t>(sent) : 0;
    }
    const int done = SSL_write_ex(session_.get(), bytes.data(), bytes.size(), &count);
    if (done != 1) only_later(done);
    return count;
  }

  std::size_t receive(char* to, std::size_t bytes) {
    std::size_t count = 0;
    if (session_ == nullptr) {
      const auto got = ::recv(socket_.get(), to, bytes, MSG_DONTWAIT);
      if (got == 0) fail("the server closed the connection");
      if (got < 0 && errno != EAGAIN) throw Exception(system_error("receive from NATS", errno));
      return got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    const int done = SSL_read_ex(session_.get(), to, bytes, &count);
    if (done != 1) only_later(done);
    return count;
  }

  /// Whether there may be something to receive.
  bool wait(int timeout_ms, short events) {
    if (session_ != nullptr && SSL_has_pending(session_.get()) == 1) return true;
    pollfd waiting{socket_.get(), events, 0};
    return ::poll(&waiting, 1, timeout_ms) > 0 && (waiting.revents & ~POLLOUT) != 0;
  }

 private:
  // The server speaks first, in the clear.
  void begin_tls(const std::string& authority) {
    for (char byte = 0; byte != '\n';) {
      if (::recv(socket_.get(), &byte, 1, 0) != 1) fail("no word of the server before TLS");
    }
    context_.reset(SSL_CTX_new(TLS_client_method()));
    if (context_ == nullptr || SSL_CTX_load_verify_file(context_.get(), authority.c_str()) != 1)
      fail("no authority in " + authority);
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_mode(context_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    session_.reset(SSL_new(context_.get()));
    if (session_ == nullptr || SSL_set_fd(session_.get(), socket_.get()) != 1 || SSL_connect(session_.get()) != 1)
      fail("no TLS with the server");
    if (::fcntl(socket_.get(), F_SETFL, O_NONBLOCK) != 0) throw Exception(system_error("O_NONBLOCK", errno));
  }

  void only_later(int done) {
    const int why = SSL_get_error(session_.get(), done);
    if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) fail("the connection broke inside of TLS");
  }

  FileDescriptor socket_;
  std::unique_ptr<SSL_CTX, FreeSession> context_;
  std::unique_ptr<SSL, FreeSession> session_;
};

/// One connection; output is kept until `flush`.
class Client {
 public:
  Client(std::uint16_t port, const std::string& authority) : wire_(port, authority) {
    output_ = "CONNECT {\"verbose\":false,\"headers\":true,\"no_responders\":true}\r\n";
  }

  void subscribe(std::string_view subject) { output_ += fmt::format("SUB {} {}\r\n", subject, ++subscriptions_); }
  void publish(std::string_view subject, std::string_view reply, std::string_view payload) {
    output_ += fmt::format("PUB {} {} {}\r\n", subject, reply, payload.size());
    output_.append(payload).append("\r\n");
  }

  void flush() {
    for (std::size_t at = 0; at < output_.size();) {
      const std::size_t sent = wire_.send(std::string_view(output_).substr(at));
      at += sent;
      if (sent == 0) fill(poll_ms, POLLIN | POLLOUT);  // a server that cannot write to us does not read from us
    }
    output_.clear();
  }

  /// Hands over what has come, after waiting for something at most so long.
  template <class Handler>
  void take(int timeout_ms, Handler&& handle) {
    fill(timeout_ms, POLLIN);
    std::size_t at = 0;
    while (take_one(at, handle)) {
    }
    input_.erase(0, at);
  }

 private:
  void fill(int timeout_ms, short events) {
    if (!wire_.wait(timeout_ms, events)) return;
    const std::size_t before = input_.size();
    input_.resize(before + read_bytes);
    input_.resize(before + wire_.receive(input_.data() + before, read_bytes));
  }

  /// One line of the protocol, with its payload. False if it is not all here.
  template <class Handler>
  bool take_one(std::size_t& at, Handler& handle) {
    const std::size_t end = input_.find("\r\n", at);
    if (end == std::string::npos) return false;
    const std::string_view line = std::string_view(input_).substr(at, end - at);
    const bool with_header = line.starts_with("HMSG ");
    if (!with_header && !line.starts_with("MSG ")) {
      if (line == "PING") output_ += "PONG\r\n";
      if (line.starts_with("-ERR")) fail(std::string(line));
      at = end + 2;
      return true;
    }
    // [H]MSG subject sid [reply] [header bytes] bytes
    std::vector<std::string_view> words;
    for (std::size_t from = 0; from < line.size();) {
      const std::size_t space = std::min(line.find(' ', from), line.size());
      words.push_back(line.substr(from, space - from));
      from = space + 1;
    }
    const std::size_t numbers = with_header ? 2 : 1;
    const std::size_t bytes = number(words.back());
    const std::size_t header = with_header ? number(words[words.size() - 2]) : 0;
    if (input_.size() < end + 2 + bytes + 2) return false;
    const std::string_view body = std::string_view(input_).substr(end + 2, bytes);
    const std::string_view reply = words.size() == 3 + numbers + 1 ? words[3] : std::string_view();
    handle(NatsMessage{words[1], reply, body.substr(0, header), body.substr(header)});
    at = end + 2 + bytes + 2;
    return true;
  }

  static std::size_t number(std::string_view text) {
    std::size_t value = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc())
      fail("not a number: " + std::string(text));
    return value;
  }

  NatsStream wire_;
  std::uint64_t subscriptions_ = 0;
  std::string output_;
  std::string input_;
};

class NatsMember {
 public:
  explicit NatsMember(peers::Scene& scene)
      : scene_(scene),
        client_(static_cast<std::uint16_t>(std::stoi(scene.options().place) + static_cast<int>(scene.self())),
                authority_of(scene.options().place)) {
    for (const std::string_view subject : {answers(), acks(), pushed()}) client_.subscribe(subject);
  }

  void run() {
    // The same stream asked for by everybody is made once.
    request("$JS.API.STREAM.CREATE.bench",
            R"({"name":"bench","subjects":["bench"],"storage":"memory","retention":"limits","num_replicas":3})");
    request("$JS.API.CONSUMER.CREATE.bench",
            fmt::format(
                R"({{"stream_name":"bench","config":{{"deliver_subject":"{}","deliver_policy":"all","ack_policy":"none",)"
                R"("flow_control":true,"idle_heartbeat":1000000000,"num_replicas":1}}}})",
                pushed()));
    scene_.ready();
    if (scene_.sends()) {
      while (!scene_.stopped()) {
        while (published_ - acknowledged_ < window) publish();
        exchange(poll_ms);
      }
      while (acknowledged_ < published_) exchange(poll_ms);
      scene_.sent_all();
    }
    while (!scene_.over()) exchange(poll_ms);
  }

 private:
  [[nodiscard]] static std::string authority_of(const std::string& place) {
    const auto colon = place.find(':');
    return colon == std::string::npos ? std::string() : place.substr(colon + 1);
  }
  [[nodiscard]] std::string_view answers() const { return names_[0]; }
  [[nodiscard]] std::string_view acks() const { return names_[1]; }
  [[nodiscard]] std::string_view pushed() const { return names_[2]; }

  /// Asks until there is a leader to answer.
  void request(std::string_view subject, std::string_view what) {
    for (answer_.clear(); answer_.empty() || answer_.find("\"error\"") != std::string::npos;) {
      if (answer_.find("\"code\":400") != std::string::npos) fail(answer_);
      answer_.clear();
      client_.publish(subject, answers(), what);
      for (int waited_ms = 0; answer_.empty() && waited_ms < 2000; waited_ms += poll_ms) exchange(poll_ms);
    }
  }

  void publish() {
    const auto message = scene_.next_message();
    client_.publish("bench", acks(), {reinterpret_cast<const char*>(message.data()), message.size()});
    ++published_;
  }

  void exchange(int timeout_ms) {
    client_.flush();
    client_.take(timeout_ms, [&](const NatsMessage& message) { on_message(message); });
  }

  void on_message(const NatsMessage& message) {
    if (message.subject == acks()) {
      if (!message.header.empty() || message.payload.find("\"error\"") != std::string_view::npos)
        fail("not stored: " + std::string(message.payload));
      ++acknowledged_;
    } else if (message.subject == answers()) {
      answer_ = message.header.empty() ? message.payload : "\"error\"";
    } else if (!message.header.empty()) {
      if (!message.reply.empty()) client_.publish(message.reply, "", "");  // flow control
    } else {
      scene_.on_delivery(std::as_bytes(std::span(message.payload)));
    }
  }

  peers::Scene& scene_;
  const std::array<std::string, 3> names_{fmt::format("answers.{}", scene_.self()), fmt::format("acks.{}", scene_.self()),
                                          fmt::format("pushed.{}", scene_.self())};
  Client client_;
  std::string answer_;
  std::uint64_t published_ = 0;
  std::uint64_t acknowledged_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return peers::run_peer(argc, argv, true, [](peers::Scene& scene) { NatsMember(scene).run(); });
}
