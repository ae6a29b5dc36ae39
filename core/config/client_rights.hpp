// The rights of clients outside of the group, by the names in their keys and by the subgroups whose objects they call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/result.hpp>

namespace spindrift::config {

/// A value. Threads: any.
class ClientRights {
 public:
  /// A right includes those before it.
  enum class Right : std::uint8_t { query, update };

  /// Everybody who is let in may call everything.
  ClientRights() = default;
  /// Entries CLIENT@SUBGROUP:query or CLIENT@SUBGROUP:update, separated by commas; * is any client, or any subgroup. Without
  /// an entry: as above; with some, what none of them allows is refused. Errors: bad_input, with the entry that is none.
  [[nodiscard]] static Result<ClientRights> parse(std::string_view text);

  [[nodiscard]] bool bounded() const noexcept { return !rules_.empty(); }
  /// `client`: the name in its key; empty: it has shown none.
  [[nodiscard]] bool allow(std::string_view client, std::string_view subgroup, Right right) const noexcept;

 private:
  struct Rule {
    std::string client;
    std::string subgroup;
    Right most;
  };
  std::vector<Rule> rules_;
};

}  // namespace spindrift::config
