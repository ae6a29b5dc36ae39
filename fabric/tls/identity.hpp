// The identity of a certificate's holder: a group, a role in it and a name, written as a URI in the certificate's subject
// alternative names: spindrift://GROUP/NODE for a member, spindrift://GROUP/ROLE/NAME for everybody else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::fabric::tls {

/// The roles that the holder may have in its group. Only a member reads and writes other members' memory.
enum class Role : std::uint8_t { member, observer, client, admin };

[[nodiscard]] std::string_view to_string(Role role) noexcept;
/// Nothing if no role is called that.
[[nodiscard]] std::optional<Role> role_called(std::string_view text) noexcept;

/// A value; one that came from `parse` or one of the makers is well-formed.
struct Identity {
  std::string group;         ///< 1 to 32 characters of a-z, 0-9, _ and -, as [SPINDRIFT] group_name
  Role role = Role::member;
  std::string name;          ///< a member's: its node id in decimal; else 1 to 64 characters, see `of_role`

  bool operator==(const Identity&) const = default;

  /// Reads the URI form, byte for byte as `uri` writes it: no percent-encoding, no leading zeros, no port, query or
  /// fragment, the scheme in lower case. Errors: bad_input; the text is not repeated, for it may be anybody's.
  [[nodiscard]] static Result<Identity> parse(std::string_view uri);
  /// Errors: bad_argument if the group's name or the node is none.
  [[nodiscard]] static Result<Identity> of_member(std::string_view group, NodeId node);
  /// An identity of any role but member. A name has 1 to 64 characters of A-Z, a-z, 0-9, dots, _ and -, the first
  /// alphanumeric. Errors: bad_argument.
  [[nodiscard]] static Result<Identity> of_role(std::string_view group, Role role, std::string_view name);

  /// The node, if this is a member.
  [[nodiscard]] std::optional<NodeId> node() const noexcept;
  /// "spindrift://orders/2", "spindrift://orders/observer/dashboard"
  [[nodiscard]] std::string uri() const;
};

/// Whether a URI claims to be of the scheme `spindrift`, in whatever case, well-formed or not.
[[nodiscard]] bool has_identity_scheme(std::string_view uri) noexcept;

}  // namespace spindrift::fabric::tls
