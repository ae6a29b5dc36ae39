// OpenSSL's errors in words, and the memory for private keys.
#include <spindrift/fabric/tls/openssl.hpp>

#include <openssl/crypto.h>
#include <openssl/err.h>

namespace spindrift::fabric::tls {
namespace {

// A handful of RSA keys of 4096 bits with all their numbers; an Ed25519 key takes 32 bytes.
constexpr std::size_t private_key_memory_bytes = 128 * 1024;
constexpr std::size_t private_key_least_bytes = 32;

}  // namespace

std::string openssl_complaint() {
  std::string text;
  const char* detail = nullptr;
  int flags = 0;
  // The first entry is where it began; what is behind it are the callers' complaints about that.
  if (const unsigned long code = ERR_get_error_all(nullptr, nullptr, nullptr, &detail, &flags); code != 0) {
    const char* const reason = ERR_reason_error_string(code);
    text = reason != nullptr ? reason : "error " + std::to_string(code);
    if ((flags & ERR_TXT_STRING) != 0 && detail != nullptr && *detail != '\0') text += " (" + std::string(detail) + ")";
  }
  ERR_clear_error();
  return text.empty() ? "OpenSSL gives no reason" : text;
}

Error openssl_error(ErrorKind kind, std::string what) {
  return Error(kind, std::move(what)).because(Error(kind, openssl_complaint()));
}

void protect_private_keys() noexcept {
  static const bool done = [] {
    if (CRYPTO_secure_malloc_initialized() == 0)
      CRYPTO_secure_malloc_init(private_key_memory_bytes, private_key_least_bytes);
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace spindrift::fabric::tls
