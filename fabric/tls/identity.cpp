// The URI form of identities. It is strict, so that two texts never mean one identity and no text means two.
#include <spindrift/fabric/tls/identity.hpp>

#include <algorithm>
#include <array>
#include <charconv>

namespace spindrift::fabric::tls {
namespace {

constexpr std::string_view scheme = "spindrift:";
constexpr std::string_view before_group = "spindrift://";
constexpr std::size_t group_length_max = 32;  // as [SPINDRIFT] group_name
constexpr std::size_t name_length_max = 64;
constexpr std::uint32_t node_max = 0xffff'fffe;  // as [DERECHO] local_id
constexpr std::array<std::string_view, 4> role_names{"member", "observer", "client", "admin"};

// The locale has no say in what an identity is, so these are not those of <cctype>.
constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_group(std::string_view text) {
  return !text.empty() && text.size() <= group_length_max &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_lower(c) || is_digit(c) || c == '_' || c == '-'; });
}

bool is_name(std::string_view text) {
  const auto alphanumeric = [](char c) { return is_lower(c) || is_upper(c) || is_digit(c); };
  return !text.empty() && text.size() <= name_length_max && alphanumeric(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

std::optional<NodeId> node_of(std::string_view text) {
  std::uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc() || stopped != end || number > node_max) return std::nullopt;
  if (text.size() > 1 && text.front() == '0') return std::nullopt;  // one node has one text
  return NodeId(number);
}

Error no_identity(std::string reason) {
  return Error(ErrorKind::bad_input, "no identity: " + std::move(reason))
      .fix("write spindrift://GROUP/NODE, or spindrift://GROUP/ROLE/NAME with the role observer, client or admin");
}

Error no_group() {
  return Error(ErrorKind::bad_argument, "no name of a group").fix("give 1 to 32 characters of a-z, 0-9, _ and -");
}

}  // namespace

std::string_view to_string(Role role) noexcept { return role_names[static_cast<std::size_t>(role)]; }

std::optional<Role> role_called(std::string_view text) noexcept {
  for (std::size_t i = 0; i < role_names.size(); ++i) {
    if (role_names[i] == text) return static_cast<Role>(i);
  }
  return std::nullopt;
}

Result<Identity> Identity::parse(std::string_view uri) {
  if (!uri.starts_with(before_group)) return no_identity("it does not begin with spindrift://");
  const std::string_view path = uri.substr(before_group.size());
  const std::size_t end_of_group = path.find('/');
  const std::string_view group = path.substr(0, end_of_group);
  if (end_of_group == std::string_view::npos || !is_group(group)) return no_identity("there is no name of a group");
  const std::string_view rest = path.substr(end_of_group + 1);
  const std::size_t end_of_role = rest.find('/');
  if (end_of_role == std::string_view::npos) {
    if (!node_of(rest)) return no_identity("what follows the group is no node id");
    return Identity{std::string(group), Role::member, std::string(rest)};
  }
  const auto role = role_called(rest.substr(0, end_of_role));
  const std::string_view name = rest.substr(end_of_role + 1);
  if (!role || *role == Role::member) return no_identity("what follows the group is no role");
  if (!is_name(name)) return no_identity("what follows the role is no name");
  return Identity{std::string(group), *role, std::string(name)};
}

Result<Identity> Identity::of_member(std::string_view group, NodeId node) {
  if (!is_group(group)) return no_group();
  if (node.value() > node_max)
    return Error(ErrorKind::bad_argument, "no node id: " + std::to_string(node.value())).fix("give one of 0 to 4294967294");
  return Identity{std::string(group), Role::member, std::to_string(node.value())};
}

Result<Identity> Identity::of_role(std::string_view group, Role role, std::string_view name) {
  if (!is_group(group)) return no_group();
  if (role == Role::member)
    return Error(ErrorKind::bad_argument, "a member is named by its node id").fix("give the node id");
  if (!is_name(name)) {
    return Error(ErrorKind::bad_argument, "no name of an identity")
        .fix("give 1 to 64 characters of A-Z, a-z, 0-9, dots, _ and -, of which the first is alphanumeric");
  }
  return Identity{std::string(group), role, std::string(name)};
}

std::optional<NodeId> Identity::node() const noexcept {
  return role == Role::member ? node_of(name) : std::nullopt;
}

std::string Identity::uri() const {
  std::string text = std::string(before_group) + group + "/";
  if (role != Role::member) text += std::string(to_string(role)) + "/";
  return text + name;
}

bool has_identity_scheme(std::string_view uri) noexcept {
  return uri.size() >= scheme.size() && std::equal(scheme.begin(), scheme.end(), uri.begin(), [](char wanted, char c) {
    return wanted == (is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c);
  });
}

}  // namespace spindrift::fabric::tls
