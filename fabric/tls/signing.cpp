// A signature proves nothing without the certificate of its key, whose dates are those of its time, not of today.
#include <spindrift/fabric/tls/signing.hpp>

#include <openssl/err.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include <spindrift/core/text_file.hpp>

namespace spindrift::fabric::tls {
namespace {

const unsigned char* data_of(std::span<const std::byte> bytes) noexcept {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

Result<std::vector<std::byte>> der_of(const std::vector<Owned<X509>>& certificates) {
  std::vector<std::byte> all;
  for (const Owned<X509>& certificate : certificates) {
    unsigned char* bytes = nullptr;
    const int count = i2d_X509(certificate.get(), &bytes);
    if (count <= 0) return openssl_error(ErrorKind::resource, "a certificate cannot be written");
    const auto* const begin = reinterpret_cast<const std::byte*>(bytes);
    all.insert(all.end(), begin, begin + count);
    OPENSSL_free(bytes);
  }
  return all;
}

/// As many as can be read.
std::vector<Owned<X509>> certificates_of(std::span<const std::byte> der) {
  std::vector<Owned<X509>> all;
  const unsigned char* at = data_of(der);
  const unsigned char* const end = at + der.size();
  while (at != end) {
    X509* const certificate = d2i_X509(nullptr, &at, end - at);
    if (certificate == nullptr) break;
    all.emplace_back(certificate);
  }
  ERR_clear_error();
  return all;
}

bool is_ed25519(const EVP_PKEY* key) noexcept { return key != nullptr && EVP_PKEY_get_id(key) == EVP_PKEY_ED25519; }

constexpr std::size_t trust_bytes_max = std::size_t{1} << 24;

Result<std::string> text_of(const std::string& path) {
  auto text = read_text_file(path, trust_bytes_max, ErrorKind::bad_argument);
  if (text) return text;
  return std::move(text).error().fix(
      "name the authority's certificate, or a directory with authority.crt, and revoked.crl if there is one");
}

/// Whatever a leaf has signed, it vouches for nobody.
bool is_authority(const Owned<X509>& certificate) { return X509_check_ca(certificate.get()) != 0; }

Error unusable_trust(const Error& why, const std::string& path) {
  return Error(ErrorKind::bad_argument, why.message())
      .at(path)
      .fix("name the authority's certificate in the form PEM: spindrift keys has it as authority.crt");
}

}  // namespace

// ---- digests and signatures

Sha256Digester::Sha256Digester() : context_(EVP_MD_CTX_new()) {
  if (context_ == nullptr || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1)
    throw Exception(openssl_error(ErrorKind::resource, "SHA-256 cannot be had"));
}

Sha256 Sha256Digester::digest(std::span<const std::byte> first, std::span<const std::byte> second) {
  Sha256 digest{};
  EVP_MD_CTX* const context = context_.get();
  const bool good = EVP_DigestInit_ex(context, nullptr, nullptr) == 1 &&
                    EVP_DigestUpdate(context, first.data(), first.size()) == 1 &&
                    EVP_DigestUpdate(context, second.data(), second.size()) == 1 &&
                    EVP_DigestFinal_ex(context, reinterpret_cast<unsigned char*>(digest.data()), nullptr) == 1;
  if (!good) throw Exception(openssl_error(ErrorKind::resource, "a digest cannot be made"));
  return digest;
}

Result<SigningKey> SigningKey::load(const std::string& directory, std::string_view group, NodeId node) {
  protect_private_keys();
  SPINDRIFT_TRY_ASSIGN(Identity identity, Identity::of_member(group, node));
  // Before the files are read: one that changes meanwhile is read again by the next reload.
  SPINDRIFT_TRY_ASSIGN(const BundleStamp stamp, stamp_of(directory));
  SPINDRIFT_TRY_ASSIGN(Bundle bundle, read_bundle(directory));
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  SPINDRIFT_TRY(check_bundle(bundle, identity, now));
  if (!is_ed25519(bundle.key.get())) {
    return Error(ErrorKind::bad_config, "the private key is no Ed25519 key, and logs are signed by no other")
        .at(directory + "/" + key_file)
        .fix("give the node a key as spindrift keys makes them, or leave [PERS] sign_logs out");
  }
  SigningKey key(std::move(bundle), std::move(identity));
  key.stamp_ = stamp;
  SPINDRIFT_TRY_ASSIGN(key.certificates_, der_of(key.bundle_.chain));
  return key;
}

Result<bool> SigningKey::reload() {
  SPINDRIFT_TRY_ASSIGN(const BundleStamp stamp, stamp_of(bundle_.directory));
  if (stamp == stamp_) return false;
  stamp_ = stamp;
  SPINDRIFT_TRY_ASSIGN(SigningKey now, load(bundle_.directory, identity_.group, *identity_.node()));
  const bool other = now.certificates_ != certificates_;
  *this = std::move(now);
  return other;
}

Result<Ed25519> SigningKey::sign(std::span<const std::byte> text) const {
  const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  Ed25519 signature{};
  std::size_t count = signature.size();
  const bool good = context != nullptr &&
                    EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, bundle_.key.get()) == 1 &&
                    EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &count, data_of(text),
                                   text.size()) == 1;
  if (!good || count != signature.size()) return openssl_error(ErrorKind::resource, "a log cannot be signed");
  return signature;
}

bool Signer::has_signed(std::span<const std::byte> text, const Ed25519& signature) const {
  const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  const bool good = key != nullptr && context != nullptr &&
                    EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
                    EVP_DigestVerify(context.get(), data_of(signature), signature.size(), data_of(text), text.size()) == 1;
  ERR_clear_error();
  return good;
}

// ---- whom to trust

Result<SignerTrust> SignerTrust::of(const Bundle& bundle) {
  SPINDRIFT_TRY_ASSIGN(auto store, trust_of(bundle));
  return SignerTrust(std::move(store), !bundle.revoked.empty());
}

Result<SignerTrust> SignerTrust::read(const std::string& path) {
  const bool is_directory = std::filesystem::is_directory(path);
  const std::string authorities = is_directory ? path + "/" + authority_file : path;
  const std::string lists = is_directory ? path + "/" + revoked_file : path;
  SPINDRIFT_TRY_ASSIGN(const std::string text, text_of(authorities));
  Bundle bundle;
  bundle.directory = path;
  auto certificates = certificates_in(text);
  if (!certificates) return unusable_trust(certificates.error(), authorities);
  bundle.authorities = std::move(certificates).value();
  if (!std::ranges::all_of(bundle.authorities, is_authority)) {
    const Error leaf(ErrorKind::bad_argument, "a certificate in it is a node's, and none of an authority");
    return unusable_trust(leaf, authorities);
  }
  if (is_directory && !std::filesystem::exists(lists)) return of(bundle);
  SPINDRIFT_TRY_ASSIGN(const std::string listed, text_of(lists));
  if (!is_directory && listed.find("BEGIN X509 CRL") == std::string::npos) return of(bundle);
  auto revoked = revocations_in(listed);
  if (!revoked) return unusable_trust(revoked.error(), lists);
  bundle.revoked = std::move(revoked).value();
  return of(bundle);
}

Signer SignerTrust::signer(std::span<const std::byte> certificates) const {
  Signer signer;
  const auto chain = certificates_of(certificates);
  if (chain.empty()) {
    signer.why = "its certificate cannot be read";
    return signer;
  }
  const X509& own = *chain.front();
  signer.serial = serial_of(own);
  signer.fingerprint = fingerprint_of(own);
  if (auto identity = identity_of(own)) signer.identity = std::move(identity).value();
  if (auto validity = validity_of(own)) signer.validity = *validity;
  signer.key.reset(X509_get_pubkey(const_cast<X509*>(&own)));  // which it only reads
  const int verdict = verdict_on(chain, *store_, X509_PURPOSE_SSL_CLIENT, std::nullopt);
  if (verdict == X509_V_ERR_CERT_REVOKED) {
    signer.state = SignerState::revoked;
    signer.why = "its certificate is revoked";
  } else if (verdict != X509_V_OK) {
    signer.why = std::string("its certificate is not the authority's: ") + X509_verify_cert_error_string(verdict);
  } else if (!is_ed25519(signer.key.get())) {
    signer.why = "its key is no Ed25519 key";
  } else {
    signer.state = SignerState::trusted;
  }
  return signer;
}

}  // namespace spindrift::fabric::tls
