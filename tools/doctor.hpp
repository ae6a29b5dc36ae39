// Finds out how far a machine has what members need, and what to do about the rest. Looking and judging are apart: `look`
// reads the system, `examine` is a pure function of what was seen.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/config/config.hpp>
#include <spindrift/fabric/ofi/ofi.hpp>
#include <spindrift/fabric/verbs/verbs.hpp>
#include <spindrift/group/found_journal.hpp>
#include <spindrift/core/result.hpp>

#include "privileges.hpp"

namespace spindrift::tools {

/// A device of /sys/class/infiniband.
struct RdmaDevice {
  std::string name;
  std::string state;              ///< of port 1: "ACTIVE", "DOWN", …
  std::string link_layer;         ///< "InfiniBand" or "Ethernet"
  std::vector<std::string> gids;  ///< of port 1, those that are set
};

struct ClockFacts {
  std::string source;  ///< empty: unknown
  std::optional<bool> synchronized;
  std::int64_t unix_seconds = 0;
};

struct NetworkFacts {
  std::vector<RdmaDevice> rdma_devices;
  std::optional<std::string> providers_error;  ///< why libfabric cannot be asked; none: it was, or nobody needs it
  std::vector<fabric::OfiOffer> providers;     ///< of libfabric
  std::optional<std::string> verbs_error;      ///< why rdma-core has no device to offer; none: it has, or nobody needs it
  std::vector<fabric::VerbsPort> verbs_ports;  ///< that it has
  std::map<std::string, std::string> no_dc;    ///< by its devices: why there are no DC queue pairs; empty: there are
  std::optional<Error> address_error;          ///< why the member cannot listen at its address; none: it can
  std::map<std::string, Error> port_errors;    ///< by those of its other addresses at which it cannot listen: why
  std::optional<std::uint64_t> member_process;  ///< this node's member runs, in that process, and has the address
  std::optional<Error> keys_error;             ///< why its keys cannot be used; none: they can, or it needs none
  std::string keys;                            ///< their identity, and until when they hold
  bool keys_end_soon = false;                  ///< they are to be replaced
};

/// The disk on which a member keeps its journal.
struct JournalFacts {
  std::optional<Error> error;    ///< why it cannot, or why what is there keeps its node from starting
  bool in_memory = false;        ///< it does not outlive the machine
  std::uint64_t free_bytes = 0;  ///< for this user
};

/// By place that a member writes to: why it cannot; none: it can.
struct FileFacts {
  std::optional<Error> directory_error;  ///< the runtime directory
  std::optional<Error> log_error;
  std::optional<Error> audit_error;
  JournalFacts journal;  ///< if it needs one
};

/// The facts that were seen of this host, for this user.
struct HostFacts {
  std::uint32_t cpus = 1;           ///< that this process may run on
  std::optional<double> cpu_quota;  ///< of its cgroup, in CPUs
  std::uint64_t memory_available_bytes = 0;
  std::optional<std::uint64_t> memory_left_in_cgroup_bytes;
  std::uint64_t open_files_max = 0;  ///< soft limit
  std::uint64_t open_files_hard_max = 0;
  std::optional<std::uint64_t> locked_memory_max_bytes;  ///< soft limit; none: unlimited
  std::string memory_file_error;                         ///< why no sealed memory file can be made; empty: it can
  bool membarrier = true;
  ClockFacts clock;
  std::string shared_huge_pages;  ///< "never", "advise", …; empty: unknown
  NetworkFacts network;
  FileFacts files;
  Privileges privileges;  ///< of this process, as a member that is started like it would have them
};

/// By which a member proves itself.
struct KeyNeeds {
  std::string directory;
  std::string group;
  NodeId node;
};

/// The journal of this node.
struct JournalNeeds {
  group::JournalPlace place;
  NodeId node;
  std::uint64_t segment_bytes = 0;  ///< that each start sets aside
};

/// The places of the file system that a member writes to.
struct FileNeeds {
  std::string runtime_directory;
  std::string status;  ///< of this node
  std::string log;     ///< empty: standard error
  std::string audit;   ///< empty: the audit is in the log alone
  std::optional<JournalNeeds> journal{};  ///< nothing: it keeps none
};

/// An address at which a member listens for others than members.
struct PortNeeds {
  enum class Callers : std::uint8_t { observers, clients };
  Callers callers = Callers::observers;
  std::string address;
};

/// The needs of one member of a configuration.
struct Needs {
  std::uint32_t members = 1;       ///< of the group, at most as many on this host
  std::uint64_t member_bytes = 0;  ///< memory that one member shares
  std::uint64_t rings = 0;         ///< memory files of one view beside its row
  bool spins = false;              ///< its poller never sleeps
  FileNeeds files;
  std::optional<Error> stranger;  ///< that this node, if something says which it is, is no member
  std::string provider;  ///< of libfabric; empty: not needed
  std::string pairs;     ///< of a fabric of virtual queue pairs, what it calls `provider`; empty: it is another fabric
  bool verbs = false;    ///< an RDMA device
  std::string address;   ///< where this node listens, for every fabric but shm
  bool tcp = false;      ///< it listens there by a socket of its own
  std::vector<PortNeeds> ports;  ///< where it listens for others than members
  std::optional<KeyNeeds> keys;
  bool trust = false;  ///< in every host that can reach the members' ports
  std::string ways;    ///< over which fabric this node reaches which peers, or how it finds them; empty: all over one
};

struct Finding {
  enum class Grade : std::uint8_t {
    good,
    note,  ///< it works; something would be better otherwise
    bad,   ///< members will not start, or not run well
  };
  Grade grade = Grade::good;
  std::string what;  ///< "memory", "open files", …
  std::string text;
  std::string fix;  ///< a command or an imperative; empty if good
};

/// Changes nothing: what a member would make there is not made. A journal that is there is read as a start reads it.
[[nodiscard]] JournalFacts look_at_journal(const JournalNeeds& needs);
/// Reads the system and changes nothing. With `needs` also what these name is looked at.
[[nodiscard]] HostFacts look_at_host(const std::optional<Needs>& needs);
/// The needs of the largest member of the configuration's first view. Errors: as Config::view().
[[nodiscard]] Result<Needs> needs_of(const Config& config);
[[nodiscard]] std::vector<Finding> examine(const HostFacts& host, const std::optional<Needs>& needs);

}  // namespace spindrift::tools
