// Reading lists of addresses.
#include <spindrift/core/config/addresses.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <utility>
#include <vector>

#include <spindrift/core/config/config.hpp>
#include <spindrift/core/config/text.hpp>

namespace spindrift::config {
namespace {

constexpr std::string_view id_mark = "<id>";
constexpr std::string_view form = "host:port, for instance 10.0.0.1:7400, [fd00::1]:7400 or node-1.cluster:7400";

std::optional<std::uint32_t> node_id(std::string_view text) {
  std::uint32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && id != 0xffff'ffff ? std::optional(id) : std::nullopt;
}

std::string filled(std::string_view pattern, NodeId node) {
  std::string address(pattern);
  for (auto at = address.find(id_mark); at != std::string::npos; at = address.find(id_mark))
    address.replace(at, id_mark.size(), std::to_string(node.value()));
  return address;
}

Error wrong(std::string what) {
  return Error(ErrorKind::bad_config, std::move(what))
      .fix("write id@host:port for each node, separated by commas, or one pattern with <id> in it: node-<id>.cluster:7400");
}

/// The same text for whatever is the same host as it is written.
std::string canonical_host(std::string host) {
  std::array<std::byte, sizeof(in6_addr)> bytes{};
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1)
    return ::inet_ntop(AF_INET6, bytes.data(), text.data(), text.size());
  std::transform(host.begin(), host.end(), host.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (host.size() > 1 && host.back() == '.') host.pop_back();
  return host;
}

}  // namespace

std::optional<bool> same_host(std::string_view one, std::string_view other) {
  auto first = parse_host_port(one);
  auto second = parse_host_port(other);
  if (!first || !second) return std::nullopt;
  return canonical_host(std::move(first->host)) == canonical_host(std::move(second->host));
}

// A host that a resolver alone would take for loopback ("127.1", a name of /etc/hosts) is not, for the caller wants to be
// sure.
bool on_loopback(std::string_view address) {
  auto parsed = parse_host_port(address);
  if (!parsed) return false;
  const std::string host = canonical_host(std::move(parsed->host));
  const std::string_view v4 = host.starts_with("::ffff:") ? std::string_view(host).substr(7) : host;
  in_addr bytes{};
  if (::inet_pton(AF_INET, std::string(v4).c_str(), &bytes) == 1) return ntohl(bytes.s_addr) >> 24 == 127;
  return host == "::1" || host == "localhost";
}

bool is_callable(HostPort at) {
  const std::string host = canonical_host(std::move(at.host));
  const bool anywhere = host == "0.0.0.0" || host == "::" || host == "::ffff:0.0.0.0";
  return !anywhere && at.port.find_first_not_of('0') != std::string::npos;
}

Result<HostPort> parse_host_port(std::string_view text) {
  const auto bad = [&] {
    return Error(ErrorKind::bad_argument, "\"" + std::string(text) + "\" is no address").fix("write " + std::string(form));
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return bad();
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc{} || end != port.data() + port.size()) return bad();
  const bool bracketed = host.front() == '[';
  if (bracketed) {
    if (host.size() < 4 || host.back() != ']') return bad();
    host = host.substr(1, host.size() - 2);
  }
  const auto allowed = [&](char c) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.';
    return plain || (bracketed ? c == ':' || c == '%' : c == '-' || c == '_');
  };
  if (!std::all_of(host.begin(), host.end(), allowed)) return bad();
  return HostPort{std::string(host), std::string(port)};
}

Result<std::string> canonical_addresses(std::string_view text) {
  std::string list;
  std::vector<std::uint32_t> named;
  bool pattern = false;
  if (trimmed(text).empty()) return list;
  for (const std::string_view entry : split(text, ',')) {
    const std::size_t at = entry.find('@');
    const std::string_view address = at == std::string_view::npos ? entry : entry.substr(at + 1);
    if (at == std::string_view::npos) {
      if (entry.find(id_mark) == std::string_view::npos) return wrong("\"" + std::string(entry) + "\" names no node");
      if (std::exchange(pattern, true)) return wrong("there are two patterns");
    } else {
      const auto id = node_id(entry.substr(0, at));
      if (!id) return wrong("\"" + std::string(entry.substr(0, at)) + "\" is no node id");
      if (std::find(named.begin(), named.end(), *id) != named.end())
        return wrong("node " + std::to_string(*id) + " has two addresses");
      named.push_back(*id);
    }
    if (auto parsed = parse_host_port(filled(address, NodeId(0))); !parsed) return wrong(parsed.error().message());
    list += (list.empty() ? "" : ", ") + std::string(entry);
  }
  return list;
}

Result<std::string> canonical_contacts(std::string_view text) {
  std::string list;
  if (trimmed(text).empty()) return list;
  for (const std::string_view entry : split(text, ',')) {
    const auto wrong_contact = [](std::string what) {
      return Error(ErrorKind::bad_config, std::move(what))
          .fix("write host:port for each contact, separated by commas: 10.0.0.1:7400, members.cluster:7400");
    };
    auto parsed = parse_host_port(entry);
    if (!parsed) return wrong_contact(parsed.error().message());
    if (!is_callable(std::move(*parsed))) return wrong_contact("nobody can be called at " + std::string(entry));
    list += (list.empty() ? "" : ", ") + std::string(entry);
  }
  return list;
}

std::optional<std::string> address_in(std::string_view addresses, NodeId node) {
  std::optional<std::string> by_pattern;
  if (addresses.empty()) return by_pattern;
  for (const std::string_view entry : split(addresses, ',')) {
    const std::size_t at = entry.find('@');
    if (at == std::string_view::npos) {
      by_pattern = filled(entry, node);
    } else if (node_id(entry.substr(0, at)) == node.value()) {
      return std::string(entry.substr(at + 1));
    }
  }
  return by_pattern;
}

std::optional<std::string> address_at_port(std::string_view addresses, std::span<const NodeId> members, NodeId node,
                                           std::int64_t port) {
  constexpr std::int64_t port_max = 65535;
  const auto own = address_in(addresses, node);
  if (!own) return std::nullopt;
  for (const NodeId other : members) {
    if (other == node) break;
    const auto address = address_in(addresses, other);
    if (address && same_host(*address, *own) == true) ++port;
  }
  if (port > port_max) return std::nullopt;
  return own->substr(0, own->rfind(':') + 1) + std::to_string(port);
}

namespace {

std::string address_for(const Config& config, NodeId node, std::string_view key) {
  const std::int64_t port = config.integer("SPINDRIFT", key);
  const auto view = config.view();
  if (port == 0 || !view) return {};
  return address_at_port(config.text("SPINDRIFT", "addresses"), view->members, node, port).value_or("");
}

}  // namespace

std::string observer_address_of(const Config& config, NodeId node) { return address_for(config, node, "observer_port"); }
std::string client_address_of(const Config& config, NodeId node) { return address_for(config, node, "client_port"); }

}  // namespace spindrift::config
