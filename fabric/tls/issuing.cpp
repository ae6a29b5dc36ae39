// The certificates of a group's own authority. What is in them follows RFC 5280 and RFC 8410.
#include <spindrift/fabric/tls/issuing.hpp>

#include <openssl/bn.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include <array>
#include <cstring>
#include <utility>

namespace spindrift::fabric::tls {
namespace {

constexpr std::size_t serial_bytes = 16;
constexpr long version_3 = 2;        // of a certificate: they count from 0
constexpr long list_version_2 = 1;   // of a list
// "No well-defined end", RFC 5280, section 4.1.2.5.
constexpr const char* no_end = "99991231235959Z";

Error cannot(const char* what) { return openssl_error(ErrorKind::resource, std::string("OpenSSL cannot make ") + what); }

Result<Owned<EVP_PKEY>> make_key() {
  protect_private_keys();
  Owned<EVP_PKEY> key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  if (key == nullptr) return cannot("an Ed25519 key");
  return key;
}

Owned<ASN1_TIME> asn1_time(std::chrono::sys_seconds time) {
  return Owned<ASN1_TIME>(ASN1_TIME_set(nullptr, std::chrono::system_clock::to_time_t(time)));
}

bool set_random_serial(X509& certificate) {
  std::array<unsigned char, serial_bytes> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) return false;
  // Positive and of full length, so that it is written in one way only.
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x3fU) | 0x40U);
  const Owned<BIGNUM> number(BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr));
  return number != nullptr && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(&certificate)) != nullptr;
}

bool set_name(X509_NAME* name, std::string_view common_name) {
  return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(common_name.data()),
                                    static_cast<int>(common_name.size()), -1, 0) == 1;
}

/// `issuer` is the certificate itself, of one that signs itself.
bool add_extension(X509& certificate, X509& issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, &issuer, &certificate, nullptr, nullptr, 0);
  const Owned<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  return extension != nullptr && X509_add_ext(&certificate, extension.get(), -1) == 1;
}

/// Everything but extensions and signature.
Result<KeyPair> begin_certificate(std::string_view common_name, const Validity& validity) {
  SPINDRIFT_TRY_ASSIGN(Owned<EVP_PKEY> key, make_key());
  Owned<X509> certificate(X509_new());
  const Owned<ASN1_TIME> from = asn1_time(validity.from);
  const Owned<ASN1_TIME> until = asn1_time(validity.until);
  const bool good = certificate != nullptr && from != nullptr && until != nullptr &&
                    X509_set_version(certificate.get(), version_3) == 1 && set_random_serial(*certificate) &&
                    set_name(X509_get_subject_name(certificate.get()), common_name) &&
                    X509_set1_notBefore(certificate.get(), from.get()) == 1 &&
                    X509_set1_notAfter(certificate.get(), until.get()) == 1 &&
                    X509_set_pubkey(certificate.get(), key.get()) == 1;
  if (!good) return cannot("a certificate");
  return KeyPair{std::move(key), std::move(certificate)};
}

/// Signs with an Ed25519 key, whose signature has its own digest.
bool sign(X509& certificate, EVP_PKEY& key) { return X509_sign(&certificate, &key, nullptr) > 0; }

bool add_revocation(X509_CRL& list, const Revocation& entry) {
  BIGNUM* parsed = nullptr;
  const int digits = BN_hex2bn(&parsed, entry.serial.c_str());
  const Owned<BIGNUM> number(parsed);
  if (digits == 0 || static_cast<std::size_t>(digits) != entry.serial.size()) return false;
  const Owned<ASN1_INTEGER> serial(BN_to_ASN1_INTEGER(number.get(), nullptr));
  const Owned<ASN1_TIME> at = asn1_time(entry.at);
  Owned<X509_REVOKED> revoked(X509_REVOKED_new());
  if (serial == nullptr || at == nullptr || revoked == nullptr) return false;
  if (X509_REVOKED_set_serialNumber(revoked.get(), serial.get()) != 1) return false;
  if (X509_REVOKED_set_revocationDate(revoked.get(), at.get()) != 1) return false;
  if (X509_CRL_add0_revoked(&list, revoked.get()) != 1) return false;
  static_cast<void>(revoked.release());
  return true;
}

bool set_list_number(X509_CRL& list, std::uint64_t number) {
  const Owned<ASN1_INTEGER> value(ASN1_INTEGER_new());
  return value != nullptr && ASN1_INTEGER_set_uint64(value.get(), number) == 1 &&
         X509_CRL_add1_ext_i2d(&list, NID_crl_number, value.get(), 0, 0) == 1;
}

bool set_list_issuer(X509_CRL& list, X509& issuer) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, &issuer, nullptr, nullptr, &list, 0);
  const Owned<X509_EXTENSION> key_id(X509V3_EXT_conf_nid(nullptr, &context, NID_authority_key_identifier, "keyid:always"));
  return key_id != nullptr && X509_CRL_add_ext(&list, key_id.get(), -1) == 1 &&
         X509_CRL_set_issuer_name(&list, X509_get_subject_name(&issuer)) == 1;
}

template <class Write>
Result<std::string> written(Write write, const char* what) {
  const Owned<BIO> text(BIO_new(BIO_s_mem()));
  if (text == nullptr || write(text.get()) != 1) return cannot(what);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(text.get(), &bytes);
  return std::string(bytes, static_cast<std::size_t>(size));
}

}  // namespace

Result<KeyPair> make_authority(std::string_view group, const Validity& validity) {
  SPINDRIFT_TRY_ASSIGN(KeyPair made, begin_certificate("spindrift authority of " + std::string(group), validity));
  X509& certificate = *made.certificate;
  const bool good = X509_set_issuer_name(&certificate, X509_get_subject_name(&certificate)) == 1 &&
                    add_extension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
                    add_extension(certificate, certificate, NID_key_usage, "critical,keyCertSign,cRLSign") &&
                    add_extension(certificate, certificate, NID_subject_key_identifier, "hash") &&
                    add_extension(certificate, certificate, NID_authority_key_identifier, "keyid:always") &&
                    sign(certificate, *made.key);
  if (!good) return cannot("an authority");
  return made;
}

Result<KeyPair> issue_certificate(const KeyPair& authority, const Identity& identity, const Validity& validity) {
  const std::string common_name = identity.role == Role::member ? "node " + identity.name : identity.name;
  SPINDRIFT_TRY_ASSIGN(KeyPair made, begin_certificate(common_name, validity));
  X509& certificate = *made.certificate;
  X509& issuer = *authority.certificate;
  const bool good = X509_set_issuer_name(&certificate, X509_get_subject_name(&issuer)) == 1 &&
                    add_extension(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
                    add_extension(certificate, issuer, NID_key_usage, "critical,digitalSignature") &&
                    add_extension(certificate, issuer, NID_ext_key_usage, "clientAuth,serverAuth") &&
                    add_extension(certificate, issuer, NID_subject_alt_name, "URI:" + identity.uri()) &&
                    add_extension(certificate, issuer, NID_subject_key_identifier, "hash") &&
                    add_extension(certificate, issuer, NID_authority_key_identifier, "keyid:always") &&
                    sign(certificate, *authority.key);
  if (!good) return cannot("a certificate");
  return made;
}

Result<Owned<X509_CRL>> make_revocations(const KeyPair& authority, const std::vector<Revocation>& entries,
                                         std::uint64_t number, std::chrono::sys_seconds from) {
  Owned<X509_CRL> list(X509_CRL_new());
  const Owned<ASN1_TIME> made = asn1_time(from);
  const Owned<ASN1_TIME> end(ASN1_TIME_new());
  bool good = list != nullptr && made != nullptr && end != nullptr && ASN1_TIME_set_string_X509(end.get(), no_end) == 1 &&
              X509_CRL_set_version(list.get(), list_version_2) == 1 && set_list_issuer(*list, *authority.certificate) &&
              set_list_number(*list, number) && X509_CRL_set1_lastUpdate(list.get(), made.get()) == 1 &&
              X509_CRL_set1_nextUpdate(list.get(), end.get()) == 1;
  if (!good) return cannot("a list of revoked certificates");
  for (const Revocation& entry : entries) {
    if (!add_revocation(*list, entry)) return openssl_error(ErrorKind::bad_input, "no serial number: " + entry.serial);
  }
  good = X509_CRL_sort(list.get()) == 1 && X509_CRL_sign(list.get(), authority.key.get(), nullptr) > 0;
  if (!good) return cannot("a list of revoked certificates");
  return list;
}

Result<std::string> pem_of(const X509& certificate) {
  return written([&](BIO* text) { return PEM_write_bio_X509(text, &certificate); }, "the text of a certificate");
}

Result<std::string> pem_of(const X509_CRL& list) {
  return written([&](BIO* text) { return PEM_write_bio_X509_CRL(text, &list); }, "the text of a list");
}

Result<SecretText> pem_of(const EVP_PKEY& key) {
  // Memory of OpenSSL's protected kind, which is wiped when it is freed.
  const Owned<BIO> text(BIO_new(BIO_s_secmem()));
  if (text == nullptr || PEM_write_bio_PKCS8PrivateKey(text.get(), &key, nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return cannot("the text of a private key");
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(text.get(), &bytes);
  SPINDRIFT_TRY_ASSIGN(SecretText secret, SecretText::of_size(static_cast<std::size_t>(size)));
  std::memcpy(secret.data(), bytes, static_cast<std::size_t>(size));
  return secret;
}

}  // namespace spindrift::fabric::tls
