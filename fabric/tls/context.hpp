// The demands on TLS between members, in one place: version, ciphers, verification of both ends; never a resumed session.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <spindrift/core/audit.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/tls/bundle.hpp>
#include <spindrift/fabric/tls/openssl.hpp>

namespace spindrift::fabric::tls {

/// The name of the protocol inside TLS (ALPN); a peer that does not offer it is refused.
inline constexpr std::string_view protocol_name = "spindrift/1";

/// For both directions of connections: TLS 1.3 alone, both parties prove themselves, no session is ever resumed, the cipher
/// that this CPU is fast with comes first. Errors: resource, bad_config.
[[nodiscard]] Result<Owned<SSL_CTX>> make_context(const Bundle& bundle);

/// Checks what TLS itself cannot know before the end of a handshake: that it was one of these, not a resumed session, and
/// that it was about our protocol. Errors: refused.
[[nodiscard]] Result<void> check_session(const SSL& session);

/// AES-GCM keeps its promise for 2^24.5 full records under one key (RFC 8446, 5.5): so many are sealed before the next one.
inline constexpr std::uint64_t records_per_key = std::uint64_t{1} << 22U;

/// Why what came after the handshake cannot be opened, once SSL_read_ex has failed: it was changed on its way, or the other
/// end finds fault with this one's key, which it may do after this one has done its part. Clears this thread's queue of
/// errors. Kind: refused.
[[nodiscard]] Error reading_error();
/// Whether such an error says that the other end holds this node's certificate for revoked.
[[nodiscard]] bool tells_revocation(const Error& reading);

/// The certificate that the peer has shown so far, verified or refused; nothing: it has shown none.
[[nodiscard]] std::optional<ShownCertificate> shown_by_peer(const SSL& session);

/// Why a handshake failed, once SSL_do_handshake has said so: what was wrong with the peer's certificate and whose that
/// claims to be (a stranger's word, printable), or OpenSSL's complaint. Clears this thread's queue of errors. Kind: refused.
[[nodiscard]] Error handshake_error(const SSL& session);

}  // namespace spindrift::fabric::tls
