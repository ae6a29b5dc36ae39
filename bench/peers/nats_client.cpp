// Bytes in and out, and lines taken apart.
#include "nats_client.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <spindrift/core/result.hpp>

namespace spindrift::peers {
namespace {

constexpr int poll_ms = 100;
constexpr std::size_t read_bytes = 1 << 18;

std::size_t number(std::string_view text) {
  std::size_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc())
    fail_nats("not a number: " + std::string(text));
  return value;
}

}  // namespace

void fail_nats(std::string what) { throw Exception(Error(ErrorKind::resource, "NATS: " + std::move(what))); }

NatsStream::NatsStream(std::uint16_t port, const std::string& authority)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
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

std::size_t NatsStream::send(std::string_view bytes) {
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

std::size_t NatsStream::receive(char* to, std::size_t bytes) {
  std::size_t count = 0;
  if (session_ == nullptr) {
    const auto got = ::recv(socket_.get(), to, bytes, MSG_DONTWAIT);
    if (got == 0) fail_nats("the server closed the connection");
    if (got < 0 && errno != EAGAIN) throw Exception(system_error("receive from NATS", errno));
    return got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  const int done = SSL_read_ex(session_.get(), to, bytes, &count);
  if (done != 1) only_later(done);
  return count;
}

bool NatsStream::wait(int timeout_ms, short events) {
  if (session_ != nullptr && SSL_has_pending(session_.get()) == 1) return true;
  pollfd waiting{socket_.get(), events, 0};
  return ::poll(&waiting, 1, timeout_ms) > 0 && (waiting.revents & ~POLLOUT) != 0;
}

// The server speaks first, in the clear.
void NatsStream::begin_tls(const std::string& authority) {
  for (char byte = 0; byte != '\n';) {
    if (::recv(socket_.get(), &byte, 1, 0) != 1) fail_nats("no word of the server before TLS");
  }
  context_.reset(SSL_CTX_new(TLS_client_method()));
  if (context_ == nullptr || SSL_CTX_load_verify_file(context_.get(), authority.c_str()) != 1)
    fail_nats("no authority in " + authority);
  SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(context_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  session_.reset(SSL_new(context_.get()));
  if (session_ == nullptr || SSL_set_fd(session_.get(), socket_.get()) != 1 || SSL_connect(session_.get()) != 1)
    fail_nats("no TLS with the server");
  if (::fcntl(socket_.get(), F_SETFL, O_NONBLOCK) != 0) throw Exception(system_error("O_NONBLOCK", errno));
}

void NatsStream::only_later(int done) {
  const int why = SSL_get_error(session_.get(), done);
  if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) fail_nats("the connection broke inside of TLS");
}

NatsClient::NatsClient(std::uint16_t port, const std::string& authority) : wire_(port, authority) {
  output_ = "CONNECT {\"verbose\":false,\"headers\":true,\"no_responders\":true}\r\n";
}

void NatsClient::subscribe(std::string_view subject) { output_ += fmt::format("SUB {} {}\r\n", subject, ++subscriptions_); }

void NatsClient::publish(std::string_view subject, std::string_view reply, std::string_view payload) {
  output_ += fmt::format("PUB {} {} {}\r\n", subject, reply, payload.size());
  output_.append(payload).append("\r\n");
}

void NatsClient::flush() {
  for (std::size_t at = 0; at < output_.size();) {
    const std::size_t sent = wire_.send(std::string_view(output_).substr(at));
    at += sent;
    if (sent == 0) fill(poll_ms, POLLIN | POLLOUT);  // a server that cannot write to us does not read from us
  }
  output_.clear();
}

void NatsClient::take(int timeout_ms, const Handler& handle) {
  fill(timeout_ms, POLLIN);
  std::size_t at = 0;
  while (take_one(at, handle)) {
  }
  input_.erase(0, at);
}

void NatsClient::fill(int timeout_ms, short events) {
  if (!wire_.wait(timeout_ms, events)) return;
  const std::size_t before = input_.size();
  input_.resize(before + read_bytes);
  input_.resize(before + wire_.receive(input_.data() + before, read_bytes));
}

// One line of the protocol, with its payload. False if it is not all here.
bool NatsClient::take_one(std::size_t& at, const Handler& handle) {
  const std::size_t end = input_.find("\r\n", at);
  if (end == std::string::npos) return false;
  const std::string_view line = std::string_view(input_).substr(at, end - at);
  const bool with_header = line.starts_with("HMSG ");
  if (!with_header && !line.starts_with("MSG ")) {
    if (line == "PING") output_ += "PONG\r\n";
    if (line.starts_with("-ERR")) fail_nats(std::string(line));
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

}  // namespace spindrift::peers
