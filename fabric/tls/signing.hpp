// Signatures over what a node keeps, by the key of its bundle, and what a third party needs to judge them: the authority's
// certificate, and its list of revoked ones. Nobody's private key.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/fabric/tls/bundle.hpp>

namespace spindrift::fabric::tls {

using Sha256 = std::array<std::byte, 32>;
using Ed25519 = std::array<std::byte, 64>;  ///< a signature

/// Digests one text after the other. Move-only; not thread-safe.
class Sha256Digester {
 public:
  /// Throws resource.
  Sha256Digester();
  /// The digest of both, one behind the other. Throws resource.
  [[nodiscard]] Sha256 digest(std::span<const std::byte> first, std::span<const std::byte> second = {});

 private:
  Owned<EVP_MD_CTX> context_;
};

/// The key of a node, by which it signs. Move-only; not thread-safe.
class SigningKey {
 public:
  /// The one of that bundle, which peers would accept now. Errors: as of `read_bundle` and `check_bundle`; bad_config, if it
  /// is no Ed25519 key.
  [[nodiscard]] static Result<SigningKey> load(const std::string& directory, std::string_view group, NodeId node);
  /// Goes on with the key that the bundle has now, if it is another. True: it is. Errors: as `load`; the one before is kept.
  [[nodiscard]] Result<bool> reload();

  [[nodiscard]] const Identity& identity() const noexcept { return identity_; }
  /// The certificates that a third party needs besides its authority's, in DER, one behind the other; the node's own first.
  [[nodiscard]] std::span<const std::byte> certificates() const noexcept { return certificates_; }
  /// The bundle, by whose authorities and lists its own signatures can be judged.
  [[nodiscard]] const Bundle& bundle() const noexcept { return bundle_; }
  /// Errors: resource.
  [[nodiscard]] Result<Ed25519> sign(std::span<const std::byte> text) const;

 private:
  SigningKey(Bundle bundle, Identity identity) : bundle_(std::move(bundle)), identity_(std::move(identity)) {}

  BundleStamp stamp_;
  Bundle bundle_;
  Identity identity_;
  std::vector<std::byte> certificates_;
};

/// Whether the maker of a signature counts.
enum class SignerState : std::uint8_t {
  trusted,  ///< its certificate is the authority's
  revoked,  ///< the same, but the authority has taken it back
  unknown,  ///< its certificate is none of the authority's, or has no Ed25519 key
};

/// A signer, as its certificates tell.
struct Signer {
  SignerState state = SignerState::unknown;
  std::string why;                   ///< it is not trusted; empty: it is
  std::string serial;                ///< of its certificate; empty: that cannot be read
  std::string fingerprint;           ///< the same
  std::optional<Identity> identity;  ///< the same
  std::optional<Validity> validity;  ///< the same
  Owned<EVP_PKEY> key;               ///< null: the same

  /// Whether its key has made this signature of that text.
  [[nodiscard]] bool has_signed(std::span<const std::byte> text, const Ed25519& signature) const;
};

/// The authority that a third party trusts. Certificates are taken as they were when they signed: that one has expired since
/// is no matter.
class SignerTrust {
 public:
  /// Reads a file with the authority's certificates in PEM, and its lists of revoked ones behind them, if it has any; or a
  /// directory with authority.crt and revoked.crl. Errors: bad_argument, bad_input, resource.
  [[nodiscard]] static Result<SignerTrust> read(const std::string& path);
  /// That of a bundle. Errors: resource.
  [[nodiscard]] static Result<SignerTrust> of(const Bundle& bundle);

  /// Whether it knows of certificates that were revoked.
  [[nodiscard]] bool has_lists() const noexcept { return has_lists_; }
  /// The signer with these certificates, as SigningKey has them; whoever that is.
  [[nodiscard]] Signer signer(std::span<const std::byte> certificates) const;

 private:
  SignerTrust(Owned<X509_STORE> store, bool has_lists) : store_(std::move(store)), has_lists_(has_lists) {}

  Owned<X509_STORE> store_;
  bool has_lists_;
};

}  // namespace spindrift::fabric::tls
