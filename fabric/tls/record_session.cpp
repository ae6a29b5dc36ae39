// OpenSSL between two pieces of memory.
#include <spindrift/fabric/tls/record_session.hpp>

#include <openssl/err.h>

#include <algorithm>
#include <array>
#include <limits>

#include <spindrift/core/check.hpp>
#include <spindrift/fabric/tls/context.hpp>
#include <spindrift/fabric/tls/credentials.hpp>

namespace spindrift::fabric::tls {
namespace {

constexpr std::size_t record_bytes_max = SSL3_RT_MAX_PLAIN_LENGTH;

}  // namespace

Result<RecordSession> RecordSession::make(std::shared_ptr<Credentials> credentials) {
  SPINDRIFT_TRY_ASSIGN(auto session, credentials->new_session());
  Owned<BIO> arriving(BIO_new(BIO_s_mem()));
  Owned<BIO> leaving(BIO_new(BIO_s_mem()));
  if (arriving == nullptr || leaving == nullptr) return openssl_error(ErrorKind::resource, "no memory for a session");
  BIO_set_mem_eof_return(arriving.get(), -1);  // that nothing is there now is no end
  SSL_set_bio(session.get(), arriving.release(), leaving.release());
  return RecordSession(std::move(credentials), std::move(session));
}

Result<RecordSession> RecordSession::calling(std::shared_ptr<Credentials> credentials) {
  SPINDRIFT_TRY_ASSIGN(RecordSession made, make(std::move(credentials)));
  SSL_set_connect_state(made.session_.get());
  return made;
}

Result<RecordSession> RecordSession::answering(std::shared_ptr<Credentials> credentials) {
  SPINDRIFT_TRY_ASSIGN(RecordSession made, make(std::move(credentials)));
  SSL_set_accept_state(made.session_.get());
  return made;
}

Result<void> RecordSession::prove() {
  ERR_clear_error();
  const int done = SSL_do_handshake(session_.get());
  if (done == 1) {
    SPINDRIFT_TRY_ASSIGN(peer_, credentials_->peer_identity(*session_));
    return {};
  }
  if (SSL_get_error(session_.get(), done) == SSL_ERROR_WANT_READ) return {};
  return handshake_error(*session_);
}

Result<void> RecordSession::take(std::span<const std::byte> records) {
  CHECK(records.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()));
  const auto size = static_cast<int>(records.size());
  if (size > 0 && BIO_write(SSL_get_rbio(session_.get()), records.data(), size) != size)
    return openssl_error(ErrorKind::resource, "no memory for what came");
  if (!peer_) SPINDRIFT_TRY(prove());
  return peer_ ? open() : Result<void>();
}

Result<void> RecordSession::open() {
  std::array<std::byte, record_bytes_max> record;
  while (true) {
    // Complaints that others have left in this thread would be taken for this session's.
    ERR_clear_error();
    std::size_t count = 0;
    if (SSL_read_ex(session_.get(), record.data(), record.size(), &count) == 1) {
      opened_.insert(opened_.end(), record.begin(), record.begin() + static_cast<std::ptrdiff_t>(count));
      continue;
    }
    const int why = SSL_get_error(session_.get(), 0);
    if (why == SSL_ERROR_WANT_READ) return {};
    if (why == SSL_ERROR_ZERO_RETURN) return Error(ErrorKind::member_lost, "it has ended the session");
    return reading_error();
  }
}

Result<void> RecordSession::vouches_for(NodeId node) const { return credentials_->admit_member(*peer_, node); }

std::optional<ShownCertificate> RecordSession::certificate() const { return shown_by_peer(*session_); }

Result<void> RecordSession::recheck() const { return credentials_->recheck(*session_); }

Result<void> RecordSession::seal(std::span<const std::byte> bytes) {
  CHECK(established());
  while (!bytes.empty()) {
    ERR_clear_error();
    if (++records_ % records_per_key == 0 && SSL_key_update(session_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) != 1)
      return openssl_error(ErrorKind::resource, "no new key for a session");
    const auto next = bytes.first(std::min(bytes.size(), record_bytes_max));
    std::size_t count = 0;
    if (SSL_write_ex(session_.get(), next.data(), next.size(), &count) != 1)
      return openssl_error(ErrorKind::resource, "nothing more can be sealed");
    bytes = bytes.subspan(count);
  }
  return {};
}

std::vector<std::byte> RecordSession::take_sealed() {
  BIO* const leaving = SSL_get_wbio(session_.get());
  std::vector<std::byte> sealed(BIO_ctrl_pending(leaving));
  if (sealed.empty()) return sealed;
  const int size = BIO_read(leaving, sealed.data(), static_cast<int>(sealed.size()));
  CHECK(size == static_cast<int>(sealed.size()));
  return sealed;
}

}  // namespace spindrift::fabric::tls
