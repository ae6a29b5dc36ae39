// The kernel's masks, and the names of their bits as capabilities(7) has them.
#include "privileges.hpp"

#include <unistd.h>

#include <array>
#include <charconv>
#include <fstream>

namespace spindrift::tools {
namespace {

constexpr std::array<std::string_view, 41> names = {"CHOWN",
                                                    "DAC_OVERRIDE",
                                                    "DAC_READ_SEARCH",
                                                    "FOWNER",
                                                    "FSETID",
                                                    "KILL",
                                                    "SETGID",
                                                    "SETUID",
                                                    "SETPCAP",
                                                    "LINUX_IMMUTABLE",
                                                    "NET_BIND_SERVICE",
                                                    "NET_BROADCAST",
                                                    "NET_ADMIN",
                                                    "NET_RAW",
                                                    "IPC_LOCK",
                                                    "IPC_OWNER",
                                                    "SYS_MODULE",
                                                    "SYS_RAWIO",
                                                    "SYS_CHROOT",
                                                    "SYS_PTRACE",
                                                    "SYS_PACCT",
                                                    "SYS_ADMIN",
                                                    "SYS_BOOT",
                                                    "SYS_NICE",
                                                    "SYS_RESOURCE",
                                                    "SYS_TIME",
                                                    "SYS_TTY_CONFIG",
                                                    "MKNOD",
                                                    "LEASE",
                                                    "AUDIT_WRITE",
                                                    "AUDIT_CONTROL",
                                                    "SETFCAP",
                                                    "MAC_OVERRIDE",
                                                    "MAC_ADMIN",
                                                    "SYSLOG",
                                                    "WAKE_ALARM",
                                                    "BLOCK_SUSPEND",
                                                    "AUDIT_READ",
                                                    "PERFMON",
                                                    "BPF",
                                                    "CHECKPOINT_RESTORE"};

}  // namespace

std::optional<std::vector<std::string>> capabilities_in(std::string_view mask) {
  std::uint64_t bits = 0;
  const char* const end = mask.data() + mask.size();
  const auto [parsed, error] = std::from_chars(mask.data(), end, bits, 16);
  if (mask.empty() || error != std::errc() || parsed != end) return std::nullopt;
  std::vector<std::string> found;
  for (std::size_t bit = 0; bit < 64; ++bit) {
    if ((bits >> bit & 1U) == 0) continue;
    found.push_back("CAP_" + (bit < names.size() ? std::string(names.at(bit)) : std::to_string(bit)));
  }
  return found;
}

Privileges own_privileges() {
  Privileges own;
  own.root = ::geteuid() == 0;
  if (own.root) return own;
  constexpr std::string_view wanted = "CapPrm:\t";
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(wanted)) continue;
    own.capabilities = capabilities_in(std::string_view(line).substr(wanted.size())).value_or(std::vector<std::string>());
  }
  return own;
}

std::string fix_for_unreadable() {
  if (::geteuid() != 0) return "run the command as the user of the node, or as root";
  return "see to the path and its file system: root may read what is there";
}

}  // namespace spindrift::tools
