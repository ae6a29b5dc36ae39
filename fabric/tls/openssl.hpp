// OpenSSL's objects as values that free themselves, and its queue of errors as an Error of ours.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

#include <spindrift/core/result.hpp>

namespace spindrift::fabric::tls {

struct FreeOpenssl {
  void operator()(ASN1_STRING* object) const noexcept { ASN1_STRING_free(object); }  // integers and times, too
  void operator()(AUTHORITY_KEYID* object) const noexcept { AUTHORITY_KEYID_free(object); }
  void operator()(BIO* object) const noexcept { BIO_free_all(object); }
  void operator()(BIGNUM* object) const noexcept { BN_free(object); }
  void operator()(EVP_MD_CTX* object) const noexcept { EVP_MD_CTX_free(object); }
  void operator()(EVP_PKEY* object) const noexcept { EVP_PKEY_free(object); }
  void operator()(GENERAL_NAMES* object) const noexcept { GENERAL_NAMES_free(object); }
  void operator()(SSL* object) const noexcept { SSL_free(object); }
  void operator()(SSL_CTX* object) const noexcept { SSL_CTX_free(object); }
  void operator()(X509* object) const noexcept { X509_free(object); }
  void operator()(X509_CRL* object) const noexcept { X509_CRL_free(object); }
  void operator()(X509_EXTENSION* object) const noexcept { X509_EXTENSION_free(object); }
  void operator()(X509_REVOKED* object) const noexcept { X509_REVOKED_free(object); }
  void operator()(X509_STORE* object) const noexcept { X509_STORE_free(object); }
  void operator()(X509_STORE_CTX* object) const noexcept { X509_STORE_CTX_free(object); }
};

/// Owns an object of OpenSSL; null is none.
template <class Object>
using Owned = std::unique_ptr<Object, FreeOpenssl>;

/// OpenSSL's last complaint, taken off this thread's queue, which is empty afterwards. Never holds key bytes.
[[nodiscard]] std::string openssl_complaint();
/// An error whose cause is that complaint.
[[nodiscard]] Error openssl_error(ErrorKind kind, std::string what);

/// Lets OpenSSL keep private keys in memory that is locked and left out of core dumps, once for the process; call it before
/// the first key is read or made. Covers the private keys themselves and the text that they are read from. Does not cover
/// what TLS derives for a connection: those keys lie in OpenSSL's ordinary heap. A program that has set such memory up
/// itself keeps its own. Where the limit on locked memory is too low, the memory may be swapped, but is not dumped.
void protect_private_keys() noexcept;

}  // namespace spindrift::fabric::tls
