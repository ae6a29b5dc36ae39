// Two members of a group over TCP with keys, whose traffic goes on whatever else happens; and strangers, who speak as much
// of TLS and of the fabric's protocol as a test wants them to.
#pragma once

#include "harness.hpp"
#include "tls_fixture.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <signal.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/fabric/connected/wire.hpp>
#include <spindrift/fabric/tcp/frame.hpp>
#include <spindrift/fabric/tcp/tcp.hpp>
#include <spindrift/fabric/tls/issuing.hpp>

namespace spindrift::fabric::test {

using Bytes = std::vector<std::byte>;
inline constexpr const char* group_of_keys = "group";

template <class Range>
Bytes bytes_of(const Range& range) {
  return {std::begin(range), std::end(range)};
}

/// An authority, and whom it has given keys.
class Keys {
  tls::test::TemporaryDirectory directory_;

 public:
  tls::Authority authority;

  explicit Keys(std::string_view group = group_of_keys)
      : authority(value_or_throw(tls::Authority::create(directory_.path() + "/keys", group, tls::test::this_year()))) {
    for (std::uint32_t node = 1; node <= 3; ++node) value_or_throw(authority.add(member(node), tls::test::this_year()));
  }
  [[nodiscard]] tls::Identity member(std::uint32_t node) const { return tls::test::member(node, authority.group()); }
  [[nodiscard]] std::shared_ptr<tls::Credentials> of(NodeId node) const {
    return value_or_throw(tls::Credentials::load(authority.bundle_directory(member(node.value())), authority.group(), node));
  }
  [[nodiscard]] tls::KeyPair pair_of(const tls::Identity& identity) const {
    const std::string bundle = authority.bundle_directory(identity);
    auto key = value_or_throw(tls::private_key_in(tls::test::text_of(bundle + "/" + tls::key_file)));
    auto chain = value_or_throw(tls::certificates_in(tls::test::text_of(bundle + "/" + tls::certificate_file)));
    return {std::move(key), std::move(chain.front())};
  }
  [[nodiscard]] std::unique_ptr<Fabric> fabric(NodeId node, const std::string& runtime_directory) const {
    return value_or_throw(make_tcp(
        {.self = node, .runtime_directory = runtime_directory, .group_name = group_of_keys, .credentials = of(node)}));
  }
};

inline sockaddr_in socket_address_of(const std::string& endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoul(endpoint.substr(colon + 1))));
  REQUIRE(::inet_pton(AF_INET, endpoint.substr(0, colon).c_str(), &address.sin_addr) == 1);
  return address;
}

/// A connection that does not block, from any port of a loopback address.
inline FileDescriptor connection_to(const std::string& endpoint, const std::string& source = "127.0.0.1") {
  const sockaddr_in to = socket_address_of(endpoint), from = socket_address_of(source + ":0");
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from) == 0);
  REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
  REQUIRE(::fcntl(socket.get(), F_SETFL, O_NONBLOCK) == 0);
  return socket;
}

/// Nodes 1 and 2, linked; each writes to the other's memory.
class Members {
 public:
  explicit Members(const Keys& keys)
      : a(1, keys.fabric(NodeId(1), directory.path())), b(2, keys.fabric(NodeId(2), directory.path())) {
    a.connect(b);
    b_at_a = await(a, Event::Kind::connected, {&b}).peer;
    a_at_b = await(b, Event::Kind::connected, {&a}).peer;
    of_a = value_or_throw(a.fabric->allocate(4096, "of node 1"));
    of_b = value_or_throw(b.fabric->allocate(4096, "of node 2"));
    value_or_throw(a.fabric->expose(b_at_a, of_a.key, Access::write));
    value_or_throw(b.fabric->expose(a_at_b, of_b.key, Access::write));
    await(a, Event::Kind::exposed, {&b});
    await(b, Event::Kind::exposed, {&a});
    exchange();
  }
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;
  ~Members() { ::signal(SIGPIPE, on_pipe_); }

  /// A write each way, of a value that was not there before; all other bytes of both regions stay as they are.
  void exchange() {
    ++said_;
    write(a, b_at_a, of_b.key);
    write(b, a_at_b, of_a.key);
    drive({&a, &b}, [&] { return first_word(of_a) >= said_ && first_word(of_b) >= said_; });
    check_memory(of_a);
    check_memory(of_b);
  }
  /// Writes go on until the condition holds. `seen` says what there is if it never does.
  void exchange_until(const std::function<bool()>& condition, const std::function<std::string()>& seen = {}) {
    const Time limit = now() + hang;
    while (!condition()) {
      exchange();
      if (now() > limit) throw std::runtime_error("the condition never held" + (seen ? ": " + seen() : std::string()));
    }
  }
  /// Nobody else was let in, and nobody was lost.
  void check_undisturbed() {
    for (int i = 0; i < 10; ++i) exchange();
    CHECK(a.inbox.empty());
    CHECK(b.inbox.empty());
  }

  TemporaryDirectory directory;
  Endpoint a;
  Endpoint b;
  PeerId b_at_a;
  PeerId a_at_b;
  Region of_a;
  Region of_b;

 private:
  void write(Endpoint& from, PeerId to, RegionKey region) {
    Operation operation;
    operation.copied = true;
    operation.peer = to;
    operation.local = reinterpret_cast<std::byte*>(&said_);
    operation.bytes = sizeof said_;
    operation.region = region;
    value_or_throw(from.fabric->post({&operation, 1}));
  }
  [[nodiscard]] static std::uint64_t first_word(const Region& region) {
    std::uint64_t word = 0;
    std::memcpy(&word, region.memory.data(), sizeof word);
    return word;
  }
  void check_memory(const Region& region) const {
    REQUIRE(first_word(region) == said_);
    const auto rest = region.memory.subspan(sizeof said_);
    REQUIRE(std::all_of(rest.begin(), rest.end(), [](std::byte each) { return each == std::byte{}; }));
  }

  std::uint64_t said_ = 0;
  /// OpenSSL writes to strangers' sockets, which the members close: that is an error, and no signal.
  void (*const on_pipe_)(int) = ::signal(SIGPIPE, SIG_IGN);
};

/// Somebody's session as a caller: with a certificate or without, checking nothing.
inline tls::Owned<SSL> caller_with(const tls::KeyPair* pair) {
  const tls::Owned<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
  if (pair != nullptr) {
    REQUIRE(SSL_CTX_use_certificate(context.get(), pair->certificate.get()) == 1);
    REQUIRE(SSL_CTX_use_PrivateKey(context.get(), pair->key.get()) == 1);
  }
  const std::string offered = std::string(1, static_cast<char>(tls::protocol_name.size())) + std::string(tls::protocol_name);
  SSL_CTX_set_alpn_protos(context.get(), reinterpret_cast<const unsigned char*>(offered.data()),
                          static_cast<unsigned int>(offered.size()));
  tls::Owned<SSL> session(SSL_new(context.get()));
  SSL_set_connect_state(session.get());
  return session;
}

/// A caller that says what it is told to, in TLS or in the clear, and keeps what it hears.
class Stranger {
 public:
  /// Without a session it speaks in the clear.
  Stranger(FileDescriptor socket, tls::Owned<SSL> session) : socket_(std::move(socket)), session_(std::move(session)) {
    if (session_ != nullptr) REQUIRE(SSL_set_fd(session_.get(), socket_.get()) == 1);
  }

  void say(std::span<const std::byte> bytes) { to_say_.insert(to_say_.end(), bytes.begin(), bytes.end()); }

  /// Beside TLS, as somebody on the path would; what the socket does not take is not said.
  void say_raw(std::span<const std::byte> bytes) {
    static_cast<void>(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  }
  /// Changes its key, and asks the other end to do so. Whether that could be said.
  [[nodiscard]] bool change_keys() {
    ERR_clear_error();
    static_cast<void>(SSL_key_update(session_.get(), SSL_KEY_UPDATE_REQUESTED));
    return SSL_do_handshake(session_.get()) == 1;
  }

  /// As far as it goes now.
  void step() {
    if (over_) return;
    std::array<std::byte, 4096> came;
    while (said_ < to_say_.size() && advance(speak())) {
    }
    if (over_) return;
    for (int count = hear(came); advance(count); count = hear(came))
      heard_.insert(heard_.end(), came.begin(), came.begin() + count);
  }
  /// Whether the other end has ended it.
  [[nodiscard]] bool over() {
    step();
    return over_;
  }
  [[nodiscard]] const Bytes& heard() {
    step();
    return heard_;
  }

 private:
  [[nodiscard]] int speak() {
    ERR_clear_error();
    const auto rest = std::span(std::as_const(to_say_)).subspan(said_);
    const int count = session_ != nullptr ? SSL_write(session_.get(), rest.data(),
                                                      static_cast<int>(std::min<std::size_t>(rest.size(), 16384)))
                                          : static_cast<int>(::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL));
    if (count > 0) said_ += static_cast<std::size_t>(count);
    return count;
  }
  [[nodiscard]] int hear(std::span<std::byte> to) {
    ERR_clear_error();
    return session_ != nullptr ? SSL_read(session_.get(), to.data(), static_cast<int>(to.size()))
                               : static_cast<int>(::recv(socket_.get(), to.data(), to.size(), 0));
  }
  /// Whether something was done; if not, whether that is for ever is noted.
  [[nodiscard]] bool advance(int count) {
    if (count > 0) return true;
    const int why = session_ != nullptr ? SSL_get_error(session_.get(), count) : SSL_ERROR_NONE;
    over_ = session_ != nullptr ? why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE : count == 0 || errno != EAGAIN;
    return false;
  }

  FileDescriptor socket_;
  tls::Owned<SSL> session_;
  Bytes to_say_;
  std::size_t said_ = 0;
  Bytes heard_;
  bool over_ = false;
};

inline Bytes greeting_as(NodeId node, std::uint64_t start = 77) {
  return bytes_of(connected::encode(connected::Greeting{node, start, 1, start, 0}));
}
inline Bytes frame(tcp::FrameHeader header, std::span<const std::byte> payload) {
  header.bytes = static_cast<std::uint32_t>(payload.size());
  Bytes all = bytes_of(tcp::encode(header));
  all.insert(all.end(), payload.begin(), payload.end());
  return all;
}
inline Bytes message_frame(std::span<const std::byte> message) {
  return frame({tcp::FramePurpose::message, 0, 0, 0}, message);
}
inline Bytes alive_frame() { return message_frame(connected::encode(connected::Kind::alive, 0)); }

/// A caller of node 2.
inline Stranger caller_of_b(tls::Owned<SSL> session, const std::string& source = "127.0.0.1") {
  return {connection_to(address_of(NodeId(2)).endpoint, source), std::move(session)};
}

/// Node 3, linked to node 2 by a session of its own.
struct Insider {
  Stranger caller;
  PeerId at_b;

  Insider(Members& members, const tls::KeyPair& pair, std::uint64_t start) : caller(caller_of_b(caller_with(&pair))) {
    caller.say(greeting_as(NodeId(3), start));
    members.exchange_until([&] { return caller.heard().size() >= sizeof(connected::GreetingBytes); });
    caller.say(alive_frame());
    members.exchange_until([&] {
      caller.step();
      return members.b.count(Event::Kind::connected) == 1;
    });
    const Event there = await(members.b, Event::Kind::connected, {&members.a});
    REQUIRE(there.node == NodeId(3));
    at_b = there.peer;
  }

  /// The key to a region that node 2 exposes to it, as it hears it.
  std::uint64_t key_to(Members& members, const Region& region, Access access) {
    value_or_throw(members.b.fabric->expose(at_b, region.key, access));
    std::optional<std::uint64_t> key;
    members.exchange_until([&] { return (key = last_key()).has_value(); });
    return *key;
  }

 private:
  std::optional<std::uint64_t> last_key() {
    std::optional<std::uint64_t> key;
    auto rest = std::span(caller.heard()).subspan(sizeof(connected::GreetingBytes));
    for (auto header = tcp::decode_frame_header(rest); header && rest.size() >= tcp::frame_header_bytes + header->bytes;
         header = tcp::decode_frame_header(rest)) {
      const auto control = connected::decode_control(rest.subspan(tcp::frame_header_bytes, header->bytes));
      if (control && control->kind == connected::Kind::exposed) key = control->exposure.remote_key;
      rest = rest.subspan(tcp::frame_header_bytes + header->bytes);
    }
    return key;
  }
};

/// Checks node 2's reason for the end of a connection on which `said` was said.
inline void check_ends(Members& members, Insider insider, const Bytes& said, const std::string& reason) {
  CAPTURE(reason);
  insider.caller.say(said);
  members.exchange_until([&] { return insider.caller.over(); });
  const Event lost = await(members.b, Event::Kind::lost, {&members.a});
  CHECK(lost.peer == insider.at_b);
  REQUIRE(lost.reason.has_value());
  CHECK_THAT(lost.reason->to_string(), Catch::Contains(reason));
  members.check_undisturbed();
}

}  // namespace spindrift::fabric::test
