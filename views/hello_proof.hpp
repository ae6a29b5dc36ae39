// A hello shows this instead of the configuration's digest: that its sender knows the digest, on this connection alone.
//
// A caller is greeted before it has shown anything, so the digest must not be in a hello: it would echo it. And a hello
// that was recorded must be worth nothing on another connection, so both ends' random words are in what is proved.
//
// Pure; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <spindrift/views/messages.hpp>

namespace spindrift::views {

inline constexpr std::size_t hello_proof_bytes = 32;
using HelloProof = std::array<std::byte, hello_proof_bytes>;

/// HMAC-SHA256, with the digest as the key, of the hello, whom it is for, and the words of the connection's ends. It is as
/// hard to guess as the configuration is, no harder.
[[nodiscard]] HelloProof prove(const GroupIdentity& identity, const Hello& hello, NodeId to, std::uint64_t speakers_word,
                               std::uint64_t hearers_word);
/// In a time that does not depend on where they differ.
[[nodiscard]] bool equal(const HelloProof& one, const HelloProof& other) noexcept;

}  // namespace spindrift::views
