// Reading certificates. All of it may be a stranger's bytes, so every length is OpenSSL's and no text ends at a zero.
#include <spindrift/fabric/tls/certificate.hpp>

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <span>

#include <fmt/chrono.h>
#include <fmt/ranges.h>

#include <spindrift/core/bytes.hpp>

namespace spindrift::fabric::tls {
namespace {

constexpr std::size_t claim_length_max = 100;

std::string_view text_of(const ASN1_STRING& string) {
  const int length = ASN1_STRING_length(&string);
  if (length <= 0) return {};
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(&string)), static_cast<std::size_t>(length)};
}

Error not_ours(std::string reason) {
  return Error(ErrorKind::bad_input, std::move(reason))
      .fix("use a certificate with exactly one URI spindrift://GROUP/NODE among its subject alternative names");
}

Owned<BIO> reader_of(std::string_view text) {
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

/// Takes objects off the text until there are no more; any other end is an error.
template <class Object, class Read>
Result<std::vector<Owned<Object>>> objects_in(std::string_view pem, Read read, const char* what) {
  ERR_clear_error();
  const Owned<BIO> text = reader_of(pem);
  std::vector<Owned<Object>> objects;
  while (Object* object = read(text.get(), nullptr, nullptr, nullptr)) objects.emplace_back(object);
  const unsigned long end = ERR_peek_last_error();
  if (ERR_GET_LIB(end) != ERR_LIB_PEM || ERR_GET_REASON(end) != PEM_R_NO_START_LINE)
    return openssl_error(ErrorKind::bad_input, std::string("a ") + what + " in it cannot be read");
  ERR_clear_error();
  if (objects.empty()) return Error(ErrorKind::bad_input, std::string("there is no ") + what + " in it, in the form PEM");
  return objects;
}

}  // namespace

std::string time_text(std::chrono::sys_seconds time) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

Result<std::chrono::sys_seconds> time_of(const ASN1_TIME& time) {
  std::tm broken_down{};
  if (ASN1_TIME_to_tm(&time, &broken_down) != 1) return openssl_error(ErrorKind::bad_input, "a time in it is none");
  return std::chrono::sys_seconds(std::chrono::seconds(::timegm(&broken_down)));
}

Result<Identity> identity_of(const X509& certificate) {
  int critical = 0;  // -1: there are none; -2: more than one list of them
  const Owned<GENERAL_NAMES> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(&certificate, NID_subject_alt_name, &critical, nullptr)));
  ERR_clear_error();
  if (names == nullptr) {
    return not_ours(critical == -1 ? "the certificate has no subject alternative names"
                                   : "the certificate's subject alternative names cannot be read");
  }
  std::optional<Identity> found;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME& name = *sk_GENERAL_NAME_value(names.get(), i);
    if (name.type != GEN_URI) continue;
    const std::string_view uri = text_of(*name.d.uniformResourceIdentifier);
    if (!has_identity_scheme(uri)) continue;
    if (found) return not_ours("the certificate has more than one identity");
    SPINDRIFT_TRY_ASSIGN(found, Identity::parse(uri));
  }
  if (!found) return not_ours("the certificate has no identity");
  return *std::move(found);
}

Result<Validity> validity_of(const X509& certificate) {
  SPINDRIFT_TRY_ASSIGN(const auto from, time_of(*X509_get0_notBefore(&certificate)));
  SPINDRIFT_TRY_ASSIGN(const auto until, time_of(*X509_get0_notAfter(&certificate)));
  return Validity{from, until};
}

namespace {

std::string digits_of(const ASN1_INTEGER* serial) {
  const Owned<BIGNUM> number(ASN1_INTEGER_to_BN(serial, nullptr));
  char* const digits = number == nullptr ? nullptr : BN_bn2hex(number.get());
  if (digits == nullptr) return "?";
  std::string text(digits);
  OPENSSL_free(digits);
  return text;
}

}  // namespace

std::string serial_of(const X509& certificate) { return digits_of(X509_get0_serialNumber(&certificate)); }

std::set<std::string> serials_in(const X509_CRL& list) {
  std::set<std::string> serials;
  STACK_OF(X509_REVOKED)* const revoked = X509_CRL_get_REVOKED(const_cast<X509_CRL*>(&list));  // which it only reads
  for (int i = 0; i < sk_X509_REVOKED_num(revoked); ++i)
    serials.insert(digits_of(X509_REVOKED_get0_serialNumber(sk_X509_REVOKED_value(revoked, i))));
  return serials;
}

std::string claim_of(const X509& certificate) {
  if (const auto identity = identity_of(certificate)) return identity->uri();
  std::array<char, claim_length_max + 1> line{};
  X509_NAME_oneline(X509_get_subject_name(&certificate), line.data(), static_cast<int>(line.size()));
  const std::string text = printable(std::as_bytes(std::span(std::string_view(line.data()))));
  return text.empty() ? "a certificate without a name" : "a certificate of " + text;
}

std::string fingerprint_of(const X509& certificate) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (X509_digest(&certificate, EVP_sha256(), digest.data(), &size) != 1) {
    ERR_clear_error();
    return "?";
  }
  return fmt::format("{:02x}", fmt::join(std::span(digest).first(size), ""));
}

ShownCertificate shown_by(const X509& certificate) {
  return {claim_of(certificate), serial_of(certificate), fingerprint_of(certificate)};
}

Result<std::vector<Owned<X509>>> certificates_in(std::string_view pem) {
  return objects_in<X509>(pem, PEM_read_bio_X509, "certificate");
}

Result<std::vector<Owned<X509_CRL>>> revocations_in(std::string_view pem) {
  return objects_in<X509_CRL>(pem, PEM_read_bio_X509_CRL, "list of revoked certificates");
}

Result<Owned<EVP_PKEY>> private_key_in(std::string_view pem) {
  ERR_clear_error();
  const Owned<BIO> text = reader_of(pem);
  bool encrypted = false;
  const auto no_passphrase = [](char*, int, int, void* asked) {
    *static_cast<bool*>(asked) = true;
    return -1;
  };
  Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(text.get(), nullptr, no_passphrase, &encrypted));
  if (key != nullptr) return key;
  if (!encrypted) return openssl_error(ErrorKind::bad_input, "there is no private key in it that can be read");
  ERR_clear_error();
  return Error(ErrorKind::bad_input, "the private key is encrypted, and nobody is there to be asked for the passphrase")
      .fix("decrypt it: openssl pkey -in KEY -out NEW, with the mode 0400");
}

}  // namespace spindrift::fabric::tls
