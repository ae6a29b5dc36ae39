// Each process keeps a key of its own and one record, so that nothing but the cipher is measured.
#include <spindrift/bench/sealing.hpp>

#include <openssl/evp.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include <spindrift/bench/processes.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::bench {

namespace {

constexpr Duration patience = std::chrono::minutes(1);
constexpr std::size_t header_bytes = 5;  // of a record of TLS, authenticated
constexpr std::size_t tag_bytes = 16;
constexpr std::size_t nonce_bytes = 12;

void demand(bool done) {
  if (!done) throw Exception(Error(ErrorKind::resource, "OpenSSL does not seal or open a record"));
}

struct FreeCipher {
  void operator()(EVP_CIPHER_CTX* context) const noexcept { EVP_CIPHER_CTX_free(context); }
};

/// One direction of one connection: a key, and a nonce that counts records.
class RecordCipher {
 public:
  enum class Task : int { open = 0, seal = 1 };
  explicit RecordCipher(Task task) : task_(static_cast<int>(task)), context_(EVP_CIPHER_CTX_new()) {
    const std::array<unsigned char, 32> key{1};
    demand(context_ != nullptr &&
           EVP_CipherInit_ex(context_.get(), EVP_aes_256_gcm(), nullptr, key.data(), nullptr, task_) == 1);
  }

  void run(std::span<const unsigned char> from, unsigned char* to, std::array<unsigned char, tag_bytes>& tag) {
    std::array<unsigned char, nonce_bytes> nonce{};
    std::memcpy(nonce.data(), &++records_, sizeof records_);
    const std::array<unsigned char, header_bytes> header{23, 3, 3};
    int bytes = 0;
    EVP_CIPHER_CTX* const context = context_.get();
    demand(EVP_CipherInit_ex(context, nullptr, nullptr, nullptr, nonce.data(), task_) == 1 &&
           EVP_CipherUpdate(context, nullptr, &bytes, header.data(), header.size()) == 1 &&
           EVP_CipherUpdate(context, to, &bytes, from.data(), static_cast<int>(from.size())) == 1);
    if (task_ == 0) demand(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, tag_bytes, tag.data()) == 1);
    demand(EVP_CipherFinal_ex(context, to + bytes, &bytes) == 1);
    if (task_ == 1) demand(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, tag_bytes, tag.data()) == 1);
  }

 private:
  const int task_;
  const std::unique_ptr<EVP_CIPHER_CTX, FreeCipher> context_;
  std::uint64_t records_ = 0;
};

/// Bytes that were sealed and opened until then: of one record at least, for a busy machine may give the process no turn.
std::uint64_t seal_and_open(std::uint64_t end_ns) {
  RecordCipher seal(RecordCipher::Task::seal);
  RecordCipher open(RecordCipher::Task::open);
  std::vector<unsigned char> plain(sealed_record_bytes, 1);
  std::vector<unsigned char> sealed(sealed_record_bytes);
  std::array<unsigned char, tag_bytes> tag{};
  std::uint64_t bytes = 0;
  do {
    seal.run(plain, sealed.data(), tag);
    open.run(sealed, plain.data(), tag);
    bytes += sealed_record_bytes;
  } while (nanoseconds_now() < end_ns);
  return bytes;
}

}  // namespace

double sealing_bytes_per_second(std::uint32_t processes, Duration duration) {
  auto memory = SharedMemory::make(sizeof(Gate) + processes * sizeof(SharedWord));
  Gate& gate = memory.make_objects<Gate>(0, 1)[0];
  const auto counts = memory.make_objects<SharedWord>(sizeof(Gate), processes);
  run_processes(processes, patience, [&](std::uint32_t self) {
    const std::uint64_t begin_ns = gate.pass(processes);
    counts[self].value = seal_and_open(begin_ns + static_cast<std::uint64_t>(duration.count()));
  });
  std::uint64_t sum = 0;
  for (const SharedWord& count : counts) sum += count.value;
  return static_cast<double>(sum) / std::chrono::duration<double>(duration).count();
}

}  // namespace spindrift::bench
