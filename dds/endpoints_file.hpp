// The file in which a member of a domain's group shows the domain's endpoints to readers of its host that are no members.
// Testimony, not protocol: nothing in the group depends on it. A reader trusts no byte of it, and the file only if nobody
// but this user and root can have written it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spindrift/core/config/config.hpp>
#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/dds/endpoint.hpp>

namespace spindrift::topics {

/// The process that shows it.
struct ShownBy {
  NodeId node{0};
  std::uint64_t process = 0;
  std::uint64_t started = 0;  ///< the kernel's count at the process's start, for ids are used again
  bool operator==(const ShownBy&) const = default;
};

/// The domain as of that many messages of the subgroup of endpoints in that view. A later one includes an earlier one.
struct ShownDomain {
  ShownBy by;
  ViewId view{};
  std::uint64_t messages = 0;
  std::map<std::string, std::string> carriers;  ///< the layout's subgroup that carries a topic; others have one of their own
  std::map<EndpointId, EndpointFacts> endpoints;
  bool operator==(const ShownDomain&) const = default;
};

/// The most bytes of such a file: some twenty thousand endpoints.
inline constexpr std::size_t endpoints_file_bytes_max = 16U << 20U;

/// The directory of these files in the group's, which is made if it is missing. Errors: as GuardedDirectory.
[[nodiscard]] Result<GuardedDirectory> open_endpoints_directory(const Config& config);

[[nodiscard]] std::vector<std::byte> bytes_of(const ShownDomain& shown);
/// Errors: bad_input; unsupported: of another release.
[[nodiscard]] Result<ShownDomain> parse_endpoints(std::span<const std::byte> bytes);

/// Replaces that node's file whole. Errors: resource.
[[nodiscard]] Result<void> write_endpoints(const GuardedDirectory& directory, NodeId node, std::span<const std::byte> bytes);
void remove_endpoints(const GuardedDirectory& directory, NodeId node) noexcept;
/// Nothing: there is no such file. Errors, with its path: refused (others could have written it), bad_input, unsupported,
/// resource.
[[nodiscard]] Result<std::optional<ShownDomain>> read_endpoints(const GuardedDirectory& directory, const std::string& name);

/// The newest of what living members of this host show.
struct ShownHere {
  std::shared_ptr<const ShownDomain> newest;  ///< null: nobody shows anything
  std::optional<Error> fault;                 ///< why some file was left out
};
/// Errors: resource.
[[nodiscard]] Result<ShownHere> look_at_endpoints(const GuardedDirectory& directory);

}  // namespace spindrift::topics
