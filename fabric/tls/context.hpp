// What TLS must be between members, in one place: version, ciphers, who is verified and how; never a resumed session.
#pragma once

#include <string>

#include <spindrift/core/result.hpp>
#include <spindrift/fabric/tls/bundle.hpp>
#include <spindrift/fabric/tls/openssl.hpp>

namespace spindrift::fabric::tls {

/// The name of what is spoken inside TLS (ALPN); whoever does not offer it is refused.
inline constexpr std::string_view protocol_name = "spindrift/1";

/// For both directions of connections: TLS 1.3 alone, both parties prove themselves, no session is ever resumed, the cipher
/// that this CPU is fast with comes first. Errors: resource, bad_config.
[[nodiscard]] Result<Owned<SSL_CTX>> make_context(const Bundle& bundle);

/// What TLS itself cannot know before the end of a handshake: that it was one of these, not a resumed session, and that it
/// was about our protocol. Errors: refused.
[[nodiscard]] Result<void> check_session(const SSL& session);

/// Why a handshake failed, once SSL_do_handshake has said so: what was wrong with the peer's certificate and whose that
/// claims to be (a stranger's word, printable), or OpenSSL's complaint. Clears this thread's queue of errors. Kind: refused.
[[nodiscard]] Error handshake_error(const SSL& session);

}  // namespace spindrift::fabric::tls
