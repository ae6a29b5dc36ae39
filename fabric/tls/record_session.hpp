// One end of a TLS session whose records something else carries, whole and in order: for fabrics that carry messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <spindrift/core/ids.hpp>
#include <spindrift/core/audit.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/tls/identity.hpp>
#include <spindrift/fabric/tls/openssl.hpp>

namespace spindrift::fabric::tls {

class Credentials;

/// Belongs to one thread. After an error only what is to be carried is worth anything: it tells the other end why.
class RecordSession {
 public:
  /// The session of the side that called: its first records are there after an empty `take`. Errors: resource.
  [[nodiscard]] static Result<RecordSession> calling(std::shared_ptr<Credentials> credentials);
  /// The session of the side that answers. Errors: resource.
  [[nodiscard]] static Result<RecordSession> answering(std::shared_ptr<Credentials> credentials);

  /// Takes what the other end's records say. Errors: refused (the other end is not who may be there, what came is not what
  /// was sent, or the other end refuses this one), member_lost (it has ended the session).
  [[nodiscard]] Result<void> take(std::span<const std::byte> records);
  /// Whether both ends are proved to each other, as far as this one knows: the other may still refuse.
  [[nodiscard]] bool established() const noexcept { return peer_.has_value(); }
  /// As of Credentials::admit_member, once established.
  [[nodiscard]] Result<void> vouches_for(NodeId node) const;
  /// As of Credentials::recheck, once established.
  [[nodiscard]] Result<void> recheck() const;

  /// As of shown_by_peer.
  [[nodiscard]] std::optional<ShownCertificate> certificate() const;

  /// Seals bytes, once established. Errors: resource.
  [[nodiscard]] Result<void> seal(std::span<const std::byte> bytes);
  /// Records that are to be carried to the other end.
  [[nodiscard]] std::vector<std::byte> take_sealed();
  /// Bytes that the other end has sealed.
  [[nodiscard]] std::vector<std::byte> take_opened() noexcept { return std::exchange(opened_, {}); }

 private:
  RecordSession(std::shared_ptr<Credentials> credentials, Owned<SSL> session)
      : credentials_(std::move(credentials)), session_(std::move(session)) {}

  [[nodiscard]] static Result<RecordSession> make(std::shared_ptr<Credentials> credentials);
  [[nodiscard]] Result<void> prove();
  [[nodiscard]] Result<void> open();

  std::shared_ptr<Credentials> credentials_;
  Owned<SSL> session_;
  std::optional<Identity> peer_;
  std::vector<std::byte> opened_;
  std::uint64_t records_ = 0;  ///< sealed so far
};

}  // namespace spindrift::fabric::tls
