// A connection to nats-server: the server's text protocol, spoken without a library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <openssl/ssl.h>

#include <spindrift/core/file_descriptor.hpp>

namespace spindrift::peers {

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
  /// `authority`: a file; empty: in the clear. Throws Exception: resource.
  NatsStream(std::uint16_t port, const std::string& authority);
  /// Bytes that were taken; nothing: none now. Throws Exception: resource.
  std::size_t send(std::string_view bytes);
  std::size_t receive(char* to, std::size_t bytes);
  /// Whether there may be something to receive.
  bool wait(int timeout_ms, short events);

 private:
  void begin_tls(const std::string& authority);
  void only_later(int done);

  FileDescriptor socket_;
  std::unique_ptr<SSL_CTX, FreeSession> context_;
  std::unique_ptr<SSL, FreeSession> session_;
};

/// One connection; output is kept until `flush`. Its calls throw Exception: resource.
class NatsClient {
 public:
  using Handler = std::function<void(const NatsMessage&)>;

  /// As of NatsStream.
  NatsClient(std::uint16_t port, const std::string& authority);
  void subscribe(std::string_view subject);
  void publish(std::string_view subject, std::string_view reply, std::string_view payload);
  void flush();
  /// Hands over what has come, after waiting for something at most so long.
  void take(int timeout_ms, const Handler& handle);

 private:
  void fill(int timeout_ms, short events);
  bool take_one(std::size_t& at, const Handler& handle);

  NatsStream wire_;
  std::uint64_t subscriptions_ = 0;
  std::string output_;
  std::string input_;
};

[[noreturn]] void fail_nats(std::string what);

}  // namespace spindrift::peers
