// TLS over a socket. OpenSSL touches no socket: it reads sealed bytes from memory, and writes them to memory.
#include <spindrift/fabric/tcp/tls_stream.hpp>

#include <openssl/err.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <openssl/err.h>

#include <spindrift/core/check.hpp>
#include <spindrift/fabric/tcp/socket.hpp>
#include <spindrift/fabric/tls/context.hpp>
#include <spindrift/fabric/tls/credentials.hpp>

namespace spindrift::fabric::tcp {
namespace {

constexpr std::size_t record_bytes_max = 16U << 10U;
/// Sealed bytes that wait for the socket; a sender that seals more than the socket takes waits.
constexpr std::size_t sealed_bytes_max = 256U << 10U;
/// The most that a peer may have this process say beside what it wants to say: answers of TLS itself.
constexpr std::size_t unasked_bytes_max = 1U << 20U;
constexpr std::size_t arrived_bytes_max = 128U << 10U;
/// Messages of TLS's own, as changes of keys are, that a peer may send beside its data: some, and one more with so much
/// data.
constexpr std::uint64_t unasked_messages_max = 64;
constexpr std::uint64_t bytes_per_unasked_message = 64U << 10U;

/// Sealed bytes on both ways, as OpenSSL sees them.
struct SealedBytes {
  std::vector<std::byte> arrived = std::vector<std::byte>(arrived_bytes_max);
  std::size_t arrived_begin = 0;
  std::size_t arrived_end = 0;
  std::vector<std::byte> sealed;
  std::size_t sealed_begin = 0;

  [[nodiscard]] std::size_t waiting() const noexcept { return sealed.size() - sealed_begin; }
};

SealedBytes& wire_of(BIO* bio) noexcept { return *static_cast<SealedBytes*>(BIO_get_data(bio)); }

int read_wire(BIO* bio, char* to, std::size_t bytes, std::size_t* count) {
  BIO_clear_retry_flags(bio);
  SealedBytes& wire = wire_of(bio);
  *count = std::min(bytes, wire.arrived_end - wire.arrived_begin);
  if (*count == 0) {
    BIO_set_retry_read(bio);
    return 0;
  }
  std::memcpy(to, wire.arrived.data() + wire.arrived_begin, *count);
  wire.arrived_begin += *count;
  return 1;
}

int write_wire(BIO* bio, const char* from, std::size_t bytes, std::size_t* count) {
  BIO_clear_retry_flags(bio);
  SealedBytes& wire = wire_of(bio);
  if (wire.waiting() + bytes > sealed_bytes_max + unasked_bytes_max) return 0;
  const auto* const begin = reinterpret_cast<const std::byte*>(from);
  wire.sealed.insert(wire.sealed.end(), begin, begin + bytes);
  *count = bytes;
  return 1;
}

long control_wire(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

int create_wire(BIO* bio) {
  BIO_set_init(bio, 1);
  return 1;
}

/// Made once and kept, as OpenSSL keeps its own.
const BIO_METHOD* wire_method() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "spindrift wire");
    CHECK(made != nullptr);
    BIO_meth_set_read_ex(made, read_wire);
    BIO_meth_set_write_ex(made, write_wire);
    BIO_meth_set_ctrl(made, control_wire);
    BIO_meth_set_create(made, create_wire);
    return made;
  }();
  return method;
}

void count_message(int sent, int, int type, const void*, std::size_t, SSL*, void* count) {
  if (sent == 0 && type == SSL3_RT_HANDSHAKE) ++*static_cast<std::uint64_t*>(count);
}

class TlsStream final : public ByteStream {
 public:
  TlsStream(FileDescriptor socket, std::shared_ptr<tls::Credentials> credentials, tls::Owned<SSL> session)
      : socket_(std::move(socket)), credentials_(std::move(credentials)), session_(std::move(session)) {}

  // A last word that says that nothing was cut off, if there is space for it.
  ~TlsStream() override {
    if (peer_) static_cast<void>(SSL_shutdown(session_.get()));
    static_cast<void>(send_sealed());
  }

  [[nodiscard]] Result<void> begin(End end) {
    BIO* const bio = BIO_new(wire_method());
    if (bio == nullptr) return tls::openssl_error(ErrorKind::resource, "no memory for a connection");
    BIO_set_data(bio, &wire_);
    SSL_set_bio(session_.get(), bio, bio);
    SSL_set_msg_callback(session_.get(), count_message);
    SSL_set_msg_callback_arg(session_.get(), &unasked_messages_);
    if (end == End::caller)
      SSL_set_connect_state(session_.get());
    else
      SSL_set_accept_state(session_.get());
    return {};
  }

  [[nodiscard]] Result<Need> establish() override {
    while (!peer_) {
      ERR_clear_error();
      const int done = SSL_do_handshake(session_.get());
      const int why = SSL_get_error(session_.get(), done);
      if (done == 1) {
        SPINDRIFT_TRY_ASSIGN(peer_, credentials_->peer_identity(*session_));
        break;
      }
      if (why != SSL_ERROR_WANT_READ) {
        Error failed = tls::handshake_error(*session_);
        static_cast<void>(send_sealed());  // the other end is told why
        return failed;
      }
      SPINDRIFT_TRY_ASSIGN(const bool sent, send_sealed());
      if (!sent) return Need::writable;
      SPINDRIFT_TRY_ASSIGN(const bool came, receive_sealed());
      if (!came) return Need::readable;
    }
    SPINDRIFT_TRY_ASSIGN(const bool sent, send_sealed());
    return sent ? Need::nothing : Need::writable;
  }

  [[nodiscard]] Result<void> vouches_for(NodeId node) const override { return credentials_->admit_member(*peer_, node); }
  [[nodiscard]] Result<void> is_member() const override { return credentials_->admit_some_member(*peer_); }
  [[nodiscard]] Result<void> may_observe() const override { return credentials_->admit_observer(*peer_); }
  [[nodiscard]] Result<void> may_call() const override { return credentials_->admit_client(*peer_); }
  [[nodiscard]] std::optional<ShownCertificate> certificate() const override { return tls::shown_by_peer(*session_); }
  [[nodiscard]] Result<void> recheck() const override { return credentials_->recheck(*session_); }

  [[nodiscard]] Result<std::size_t> read(std::span<const iovec> to) override {
    SPINDRIFT_TRY(check_messages());
    std::size_t total = 0;
    holds_bytes_ = false;
    for (const iovec& range : to) {
      for (std::size_t done = 0; done < range.iov_len;) {
        SPINDRIFT_TRY_ASSIGN(const std::size_t opened,
                             open(static_cast<std::byte*>(range.iov_base) + done, range.iov_len - done, total > 0));
        if (opened == 0) return total;
        done += opened;
        total += opened;
      }
    }
    holds_bytes_ = true;
    return total;
  }

  [[nodiscard]] std::size_t known() const noexcept override { return static_cast<std::size_t>(SSL_pending(session_.get())); }
  [[nodiscard]] bool holds_bytes() const noexcept override { return holds_bytes_; }

  // Small ranges are put together to one record; a large one is sealed from where it is.
  [[nodiscard]] Result<std::size_t> write(std::span<const iovec> from) override {
    SPINDRIFT_TRY_ASSIGN(const bool room, has_room());
    std::size_t total = 0;
    std::size_t gathered = 0;
    for (const iovec& range : from) {
      std::span<const std::byte> rest(static_cast<const std::byte*>(range.iov_base), range.iov_len);
      while (room && !rest.empty() && wire_.waiting() < sealed_bytes_max) {
        const auto next = rest.first(std::min(rest.size(), record_bytes_max - gathered));
        rest = rest.subspan(next.size());
        total += next.size();
        if (next.size() == record_bytes_max) {
          SPINDRIFT_TRY(seal(next));
          continue;
        }
        std::memcpy(record_.data() + gathered, next.data(), next.size());
        gathered += next.size();
        if (gathered == record_bytes_max) SPINDRIFT_TRY(seal(std::span(record_).first(std::exchange(gathered, 0))));
      }
      if (!rest.empty()) break;
    }
    if (gathered > 0) SPINDRIFT_TRY(seal(std::span(record_).first(gathered)));
    return total;
  }

  [[nodiscard]] Result<bool> flush() override { return send_sealed(); }
  [[nodiscard]] int descriptor() const noexcept override { return socket_.get(); }

 private:
  [[nodiscard]] Result<bool> has_room() {
    if (wire_.waiting() < sealed_bytes_max) return true;
    SPINDRIFT_TRY(send_sealed());
    return wire_.waiting() < sealed_bytes_max;
  }

  /// Bytes that were opened; 0: nothing more is here. `some`: others were before, so that an end is told by the next call.
  [[nodiscard]] Result<std::size_t> open(std::byte* to, std::size_t bytes, bool some) {
    while (true) {
      // Most looks find nothing, and need no OpenSSL for that.
      if (nothing_here()) {
        if (drained_ && some) return 0;
        auto came = receive_sealed();
        if (!came) return some ? Result<std::size_t>(0) : std::move(came).error();
        if (!*came) return 0;
      }
      // Complaints that others have left in this thread would be taken for this session's.
      ERR_clear_error();
      std::size_t count = 0;
      if (SSL_read_ex(session_.get(), to, bytes, &count) == 1) {
        opened_bytes_ += count;
        return count;
      }
      const int why = SSL_get_error(session_.get(), 0);
      if (why == SSL_ERROR_ZERO_RETURN) return ended(some);
      if (why != SSL_ERROR_WANT_READ) return tls::reading_error();
      SPINDRIFT_TRY(check_messages());
    }
  }

  [[nodiscard]] bool nothing_here() const noexcept {
    return wire_.arrived_begin == wire_.arrived_end && SSL_pending(session_.get()) == 0;
  }

  // A peer that sends nothing but them would keep the poller at deriving keys for ever.
  [[nodiscard]] Result<void> check_messages() const {
    if (unasked_messages_ <= unasked_messages_max + opened_bytes_ / bytes_per_unasked_message) return {};
    return Error(ErrorKind::refused, "it changes its keys, or says other things of TLS, without end");
  }

  [[nodiscard]] Result<std::size_t> ended(bool some) {
    if (some) return 0;
    return Error(ErrorKind::member_lost, std::string(connection_ended));
  }

  [[nodiscard]] Result<void> seal(std::span<const std::byte> bytes) {
    if (++records_ % tls::records_per_key == 0 && SSL_key_update(session_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) != 1)
      return tls::openssl_error(ErrorKind::resource, "no new key for a connection");
    std::size_t count = 0;
    if (SSL_write_ex(session_.get(), bytes.data(), bytes.size(), &count) == 1 && count == bytes.size()) return {};
    return tls::openssl_error(ErrorKind::member_lost, "nothing more can be sealed for the peer");
  }

  /// Whether all that was sealed has left.
  [[nodiscard]] Result<bool> send_sealed() {
    while (wire_.waiting() > 0) {
      const ssize_t count =
          ::send(socket_.get(), wire_.sealed.data() + wire_.sealed_begin, wire_.waiting(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count < 0) return means_later(errno) ? Result<bool>(false) : broken_connection("send", errno);
      wire_.sealed_begin += static_cast<std::size_t>(count);
    }
    wire_.sealed.clear();
    wire_.sealed_begin = 0;
    return true;
  }

  /// Whether sealed bytes came. Errors: member_lost.
  [[nodiscard]] Result<bool> receive_sealed() {
    CHECK(wire_.arrived_begin == wire_.arrived_end);
    const ssize_t count = ::recv(socket_.get(), wire_.arrived.data(), wire_.arrived.size(), MSG_DONTWAIT);
    wire_.arrived_begin = 0;
    wire_.arrived_end = count > 0 ? static_cast<std::size_t>(count) : 0;
    drained_ = wire_.arrived_end < wire_.arrived.size();
    if (count > 0) return true;
    if (count == 0) return Error(ErrorKind::member_lost, std::string(connection_ended));
    return means_later(errno) ? Result<bool>(false) : broken_connection("recv", errno);
  }

  const FileDescriptor socket_;
  const std::shared_ptr<tls::Credentials> credentials_;
  SealedBytes wire_;
  const tls::Owned<SSL> session_;
  std::optional<tls::Identity> peer_;  ///< once both ends are proved to each other
  std::array<std::byte, record_bytes_max> record_;
  std::uint64_t records_ = 0;           ///< sealed so far
  std::uint64_t unasked_messages_ = 0;  ///< of TLS's own that came, those of the handshake among them
  std::uint64_t opened_bytes_ = 0;
  bool holds_bytes_ = false;  ///< the last read was ended by its ranges
  bool drained_ = false;      ///< the socket gave less than there was space for: more would be news
};

}  // namespace

Result<std::unique_ptr<ByteStream>> tls_stream(FileDescriptor socket, End end,
                                               std::shared_ptr<tls::Credentials> credentials) {
  SPINDRIFT_TRY_ASSIGN(auto session, credentials->new_session());
  auto stream = std::make_unique<TlsStream>(std::move(socket), std::move(credentials), std::move(session));
  SPINDRIFT_TRY(stream->begin(end));
  return std::unique_ptr<ByteStream>(std::move(stream));
}

}  // namespace spindrift::fabric::tcp
