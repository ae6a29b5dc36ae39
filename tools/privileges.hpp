// The privileges of this process beyond those of a user.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spindrift::tools {

struct Privileges {
  bool root = false;
  std::vector<std::string> capabilities;  ///< that are permitted, by name: "CAP_NET_ADMIN"; root's are not listed
};

/// Those of a mask in hexadecimal digits, as /proc/PID/status has it behind CapPrm. One that has no name here has its
/// number. Nothing if it is no mask.
[[nodiscard]] std::optional<std::vector<std::string>> capabilities_in(std::string_view mask);
/// Those of this process. A mask that cannot be read is taken for none.
[[nodiscard]] Privileges own_privileges();

/// The fix where this user cannot read a node's files, for people: root is not told to become root.
[[nodiscard]] std::string fix_for_unreadable();

}  // namespace spindrift::tools
