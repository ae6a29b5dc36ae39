// The proof, by OpenSSL.
#include <spindrift/views/hello_proof.hpp>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <new>
#include <vector>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/check.hpp>

namespace spindrift::views {
namespace {

constexpr std::uint64_t purpose = 0x6f'6c'6c'65'68'64'70'73;  // "spdhello": no other proof with this key is one of a hello

}  // namespace

HelloProof prove(const GroupIdentity& identity, const Hello& hello, NodeId to, std::uint64_t speakers_word,
                 std::uint64_t hearers_word) {
  ByteWriter said;
  said.put(purpose, hello.versions.oldest, hello.versions.newest, hello.node, std::uint32_t{hello.fresh ? 1U : 0U}, to);
  said.put(hello.incarnation, hello.view, speakers_word, hearers_word);
  said.put_text(identity.group_name, identity.group_name.size());
  const std::vector<std::byte> bytes_said = said.take();
  HelloProof proof{};
  unsigned bytes = 0;
  const auto* const done = HMAC(EVP_sha256(), identity.config_digest.data(), sizeof identity.config_digest,
                                reinterpret_cast<const unsigned char*>(bytes_said.data()), bytes_said.size(),
                                reinterpret_cast<unsigned char*>(proof.data()), &bytes);
  if (done == nullptr) throw std::bad_alloc();  // nothing else can be wrong with it
  CHECK(bytes == proof.size());
  return proof;
}

bool equal(const HelloProof& one, const HelloProof& other) noexcept {
  return CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

}  // namespace spindrift::views
