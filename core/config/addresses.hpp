// The addresses at which nodes listen, as the configuration writes them: `0@10.0.0.1:7400, 1@[fd00::1]:7400`, or one pattern
// for all nodes that the list does not name: `node-<id>.cluster:7400`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift {
class Config;
}

namespace spindrift::config {

struct HostPort {
  std::string host;  ///< a name or an address, v6 without brackets
  std::string port;  ///< decimal, 0 … 65535
};
/// "host:port" or "[v6]:port". Errors: bad_argument.
[[nodiscard]] Result<HostPort> parse_host_port(std::string_view text);

/// Whether both "host:port" have the same host, as they are written: a name in either case, an IPv6 address in
/// any of its forms. No name is looked up, so that all who have the same addresses say the same. Nothing if one is none.
[[nodiscard]] std::optional<bool> same_host(std::string_view one, std::string_view other);

/// Whether the host of "host:port" is the loopback interface, as it is written: 127.0.0.0/8, ::1 or localhost. What is no
/// address is not.
[[nodiscard]] bool on_loopback(std::string_view address);

/// Whether others can call at that: it names a host, and not whatever this one has, and a port.
[[nodiscard]] bool is_callable(HostPort at);

/// One blank after each comma, every entry checked, no node twice. Errors: bad_config with cause and fix, without place.
[[nodiscard]] Result<std::string> canonical_addresses(std::string_view text);
/// The same of a list of addresses that belong to no node in particular. Errors: bad_config, as before.
[[nodiscard]] Result<std::string> canonical_contacts(std::string_view text);

/// The entry of `node` in a canonical list; nothing if neither an entry nor a pattern covers it.
[[nodiscard]] std::optional<std::string> address_in(std::string_view addresses, NodeId node);

/// The address at which a node of a canonical list listens for others than members: that of its own, with `port`, or as many
/// ports behind it as `members` before it have the same host. Nothing: it has no address, or there is no such port.
[[nodiscard]] std::optional<std::string> address_at_port(std::string_view addresses, std::span<const NodeId> members,
                                                         NodeId node, std::int64_t port);
/// The same of a configuration, as its [SPINDRIFT] observer_port says; empty: nowhere, for that is 0, or there is no layout
/// to say which nodes are members.
[[nodiscard]] std::string observer_address_of(const Config& config, NodeId node);
/// The same for clients, as its [SPINDRIFT] client_port says.
[[nodiscard]] std::string client_address_of(const Config& config, NodeId node);

}  // namespace spindrift::config
