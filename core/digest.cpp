// XXH3-128 behind our own names; no other file includes xxhash.
#include <spindrift/core/digest.hpp>

#include <new>

#include <fmt/format.h>
#include <xxhash.h>

#include <spindrift/core/check.hpp>

namespace spindrift {
namespace {

Digest from(XXH128_hash_t hash) noexcept { return Digest{{hash.low64, hash.high64}}; }

}  // namespace

struct RunningDigest::State {
  XXH3_state_t* hash = XXH3_createState();

  State() {
    if (hash == nullptr) throw std::bad_alloc();
    CHECK(XXH3_128bits_reset(hash) == XXH_OK);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { XXH3_freeState(hash); }
};

std::string Digest::to_string() const { return fmt::format("{:016x}{:016x}", words[1], words[0]); }

Digest digest_of(std::span<const std::byte> bytes) noexcept { return from(XXH3_128bits(bytes.data(), bytes.size())); }
Digest digest_of(std::string_view text) noexcept { return digest_of(std::as_bytes(std::span(text))); }

RunningDigest::RunningDigest() : state_(std::make_unique<State>()) {}
RunningDigest::RunningDigest(RunningDigest&&) noexcept = default;
RunningDigest& RunningDigest::operator=(RunningDigest&&) noexcept = default;
RunningDigest::~RunningDigest() = default;

void RunningDigest::add(std::span<const std::byte> bytes) noexcept {
  if (!bytes.empty()) CHECK(XXH3_128bits_update(state_->hash, bytes.data(), bytes.size()) == XXH_OK);
}

Digest RunningDigest::value() const noexcept { return from(XXH3_128bits_digest(state_->hash)); }

}  // namespace spindrift
