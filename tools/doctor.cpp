// Judging what was seen.
#include "doctor.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <spindrift/core/config/addresses.hpp>
#include <spindrift/fabric/fabric_name.hpp>
#include <spindrift/core/ids_text.hpp>
#include <spindrift/core/runtime_path.hpp>
#include <spindrift/kernel/provider/vq_fabric.hpp>
#include <spindrift/sst/bulk_rings.hpp>
#include <spindrift/sst/row_layout.hpp>

namespace spindrift::tools {
namespace {

using fabric::FabricName;

using Grade = Finding::Grade;

// A member holds some twenty files, and a socket, an eventfd and a process's descriptor per other one. Twice that, and some
// for the application's own.
constexpr std::uint64_t files_per_peer = 6;
constexpr std::uint64_t files_of_a_member = 64;
constexpr std::int64_t year_2024 = 1'704'067'200;  // a clock before that was never set
constexpr std::uint64_t locked_memory_wanted = std::uint64_t{1} << 30;

std::string bytes_text(std::uint64_t bytes) {
  if (bytes >= std::uint64_t{1} << 30) return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30));
  if (bytes >= std::uint64_t{1} << 20) return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
  return fmt::format("{} KiB", bytes >> 10);
}

/// An error as a finding tells it: what is wrong, and apart from that the innermost fix, which is the most specific.
Finding finding_of(const char* what, const Error& error) {
  std::string text;
  std::string fix;
  for (const Error* each = &error; each != nullptr; each = each->cause()) {
    if (each != &error) text += "; because: ";
    if (!each->place().empty()) text += each->place() + ": ";
    text += each->message();
    if (!each->fix().empty()) fix = each->fix();
  }
  return {Grade::bad, what, text, fix};
}

Finding cpus(const HostFacts& host, const std::optional<Needs>& needs) {
  const double usable = std::min<double>(host.cpus, host.cpu_quota.value_or(host.cpus));
  std::string seen = fmt::format("{} CPUs", host.cpus);
  if (host.cpu_quota) seen += fmt::format(", of which the cgroup gives {:.1f}", *host.cpu_quota);
  if (needs && needs->spins && needs->members > usable) {
    return {Grade::bad, "cpus", seen + fmt::format("; {} members on this host would spin on them", needs->members),
            "set poll = block in [SPINDRIFT], or run fewer members here"};
  }
  if (needs && needs->members > usable) {
    return {Grade::note, "cpus", seen + fmt::format(" for up to {} members: their pollers take turns", needs->members),
            "spread the members over more hosts if latency matters"};
  }
  if (host.cpu_quota && *host.cpu_quota < 1) {
    return {Grade::note, "cpus", seen + ": a member that used up its share looks silent to the others",
            "give the container at least one CPU, or raise suspect_after_ms"};
  }
  return {Grade::good, "cpus", seen, ""};
}

Finding memory(const HostFacts& host, const std::optional<Needs>& needs) {
  const std::uint64_t left =
      std::min(host.memory_available_bytes, host.memory_left_in_cgroup_bytes.value_or(host.memory_available_bytes));
  const std::string seen = bytes_text(left) + " available" + (host.memory_left_in_cgroup_bytes ? " in this cgroup" : "");
  if (!needs) return {Grade::good, "memory", seen, ""};
  // Two views' rows are there at once while one follows the other.
  const std::uint64_t wanted = 2 * needs->member_bytes;
  const std::string text =
      fmt::format("{}; a member shares {}, twice that while the view changes", seen, bytes_text(needs->member_bytes));
  if (wanted > left) {
    return {Grade::bad, "memory", text,
            "lower window_size, ring_size or bulk_ring_bytes of the subgroups, or give the container more memory"};
  }
  if (wanted * needs->members > left) {
    return {Grade::note, "memory", text + fmt::format(", which is not enough for {} members here", needs->members),
            "lower window_size, ring_size or bulk_ring_bytes of the subgroups if all members run on this host"};
  }
  return {Grade::good, "memory", text, ""};
}

Finding open_files(const HostFacts& host, const std::optional<Needs>& needs) {
  // Two views' rings are there at once while one follows the other.
  const std::uint64_t wanted =
      files_of_a_member + files_per_peer * (needs ? needs->members : 1) + (needs ? 2 * needs->rings : 0);
  const std::string text = fmt::format("{} may be open, a member needs about {}", host.open_files_max, wanted);
  if (host.open_files_max >= wanted) return {Grade::good, "open files", text, ""};
  return {Grade::bad, "open files", text,
          host.open_files_hard_max >= wanted ? fmt::format("ulimit -n {}", wanted)
                                             : fmt::format("set LimitNOFILE={} for the service, as root", wanted)};
}

Finding shared_memory(const HostFacts& host) {
  if (host.memory_file_error.empty()) return {Grade::good, "shared memory", "sealed memory files can be made", ""};
  return {Grade::bad, "shared memory", "no sealed memory file can be made: " + host.memory_file_error,
          "allow memfd_create and its seals in the container's seccomp profile"};
}

Finding directory(const HostFacts& host, const Needs& needs) {
  if (!host.files.directory_error)
    return {Grade::good, "runtime directory", needs.files.runtime_directory + " can be used", ""};
  return finding_of("runtime directory", *host.files.directory_error);
}

Finding appended_file(const char* what, const std::string& path, const std::optional<Error>& error) {
  return error ? finding_of(what, *error) : Finding{Grade::good, what, path + " can be written", ""};
}

Finding journal(const JournalFacts& facts, const JournalNeeds& needs) {
  if (facts.error) return finding_of("journal", *facts.error);
  const std::string text = fmt::format("{}: {} are free, each start sets {} aside", needs.place.of(needs.node),
                                       bytes_text(facts.free_bytes), bytes_text(needs.segment_bytes));
  if (facts.free_bytes < needs.segment_bytes)
    return {Grade::bad, "journal", text, "make space there, or name a directory on another disk in [PERS] file_path"};
  if (facts.in_memory) {
    return {Grade::note, "journal", text + "; it lies in memory, and does not outlive a stop of this machine",
            "name a directory on a disk in [PERS] file_path"};
  }
  return {Grade::good, "journal", text, ""};
}

Finding barrier(const HostFacts& host) {
  if (host.membarrier) return {Grade::good, "membarrier", "sending threads need no fence", ""};
  return {Grade::note, "membarrier", "the kernel refuses it: every message costs its sender a full fence",
          "allow membarrier in the container's seccomp profile"};
}

Finding time_source(const HostFacts& host) {
  if (host.clock.source.empty() || host.clock.source == "tsc" || host.clock.source == "arch_sys_counter" ||
      host.clock.source == "kvm-clock") {
    return {Grade::good, "time source", host.clock.source.empty() ? "unknown" : host.clock.source, ""};
  }
  return {Grade::note, "time source", host.clock.source + ": to read the time is a system call here",
          "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource, as root, if it is available"};
}

// A later start of a node has a higher incarnation than an earlier one as long as its clock does not go back.
Finding clock(const HostFacts& host) {
  if (host.clock.unix_seconds < year_2024) {
    return {Grade::bad, "clock", "it was never set: a node that is started again would look like an earlier start of itself",
            "timedatectl set-ntp true"};
  }
  if (host.clock.synchronized.value_or(true)) return {Grade::good, "clock", "it is set", ""};
  return {Grade::note, "clock",
          "nothing keeps it right; if it goes back, a node that is started again waits longer to be taken in",
          "timedatectl set-ntp true"};
}

Finding huge_pages(const HostFacts& host) {
  const std::string seen = "of shared memory: " + (host.shared_huge_pages.empty() ? "unknown" : host.shared_huge_pages);
  if (host.shared_huge_pages != "never" && host.shared_huge_pages != "deny") return {Grade::good, "huge pages", seen, ""};
  return {Grade::note, "huge pages", seen + "; rings of many megabytes are somewhat faster in them",
          "echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled"};
}

Finding locked_memory(const HostFacts& host) {
  const std::string seen = host.locked_memory_max_bytes ? bytes_text(*host.locked_memory_max_bytes) : "unlimited";
  if (host.network.rdma_devices.empty() ||
      host.locked_memory_max_bytes.value_or(locked_memory_wanted) >= locked_memory_wanted) {
    return {Grade::good, "locked memory", seen, ""};
  }
  return {Grade::note, "locked memory", seen + ": too little to register memory with a device", "ulimit -l unlimited"};
}

Finding devices(const HostFacts& host) {
  if (host.network.rdma_devices.empty()) {
    return {Grade::good, "rdma devices", "none; fabric verbs alone needs one", ""};
  }
  std::string text;
  for (const RdmaDevice& device : host.network.rdma_devices) {
    text += fmt::format("{}{}: {}, {}, {} GIDs", text.empty() ? "" : "; ", device.name, device.state, device.link_layer,
                        device.gids.size());
  }
  return {Grade::good, "rdma devices", text, ""};
}

Finding libfabric(const HostFacts& host, const Needs& needs) {
  if (host.network.providers_error) {
    return {Grade::bad, "libfabric", *host.network.providers_error,
            "apt-get install libfabric1, or fabric = shm for a group on one host"};
  }
  std::string seen;
  bool fits = false;
  for (const fabric::OfiOffer& offer : host.network.providers) {
    const char* const kind = !offer.connected ? "not connected"
                             : offer.ordered  ? "connected, ordered"
                                              : "connected, unordered";
    seen += fmt::format("{}{} ({}{})", seen.empty() ? "" : ", ", offer.provider, kind,
                        offer.connectionless ? "; connectionless, ordered" : "");
    fits |= offer.provider == needs.provider && (needs.pairs.empty() ? offer.ordered : offer.connectionless);
  }
  if (fits) return {Grade::good, "libfabric", seen, ""};
  return {Grade::bad, "libfabric", seen + "; " + needs.provider + " is not among those whose writes are ordered",
          "choose a fabric in [SPINDRIFT] whose provider is, or install a libfabric that has it"};
}

Finding rdma_core(const HostFacts& host) {
  if (host.network.verbs_error) {
    return {
        Grade::bad, "rdma-core", *host.network.verbs_error,
        "apt-get install librdmacm1 ibverbs-providers; without an adapter: modprobe rdma_rxe rdma_ucm; rdma link add rxe0 "
        "type rxe netdev eth0; or fabric = ofi:tcp"};
  }
  std::string seen;
  bool active = false;
  for (const fabric::VerbsPort& port : host.network.verbs_ports) {
    seen += fmt::format("{}{} port {} ({}, {} windows): {}", seen.empty() ? "" : "; ", port.device, port.port,
                        port.active ? "active" : "down", port.memory_windows ? "with" : "without",
                        port.addresses.empty() ? "no address" : listed(port.addresses));
    active |= port.active && !port.addresses.empty();
  }
  for (const auto& [device, why] : host.network.no_dc) {
    seen += "; DC queue pairs of " + device + ", for the kernel's device alone: ";
    seen += why.empty() ? "yes, but no release was run on an adapter that has them" : "none, " + why;
  }
  if (active) return {Grade::good, "rdma-core", seen, ""};
  return {
      Grade::bad, "rdma-core", seen + "; no port is active and has an address",
      "ip link set DEVICE up, and ip address add ADDRESS dev DEVICE, with the network interface of the port (rdma link)"};
}

Finding address(const HostFacts& host, const Needs& needs) {
  if (host.network.member_process) {
    return {Grade::good, "address",
            fmt::format("this node's member runs, in process {}, and listens at {}", *host.network.member_process,
                        needs.address),
            ""};
  }
  if (!host.network.address_error) return {Grade::good, "address", "this node can listen at " + needs.address, ""};
  Finding finding = finding_of("address", *host.network.address_error);
  finding.text = needs.address + ": " + finding.text;
  return finding;
}

Finding observer_port(const std::string& address, bool keys) {
  if (keys) {
    return {Grade::good, "observer port",
            "observers of other hosts are fed at " + address + ", if they have keys of a member or an observer", ""};
  }
  return {Grade::note, "observer port",
          "whoever reaches " + address + " can read what this node's member delivers, and so can who is on the path",
          "let the firewall admit the observers' hosts alone; or say security = tls, with keys"};
}

Finding client_port(const std::string& address, bool keys) {
  if (keys) {
    return {Grade::good, "client port",
            "clients call at " + address + " what members offer, if they have keys of a member or a client", ""};
  }
  return {Grade::note, "client port", "every process of this host can call at " + address + " what members offer",
          "say security = tls, with keys, if there are others than yours"};
}

// A member that runs has the port as it has its address.
Finding port(const HostFacts& host, const PortNeeds& port, bool keys) {
  Finding finding = port.callers == PortNeeds::Callers::clients ? client_port(port.address, keys)
                                                                : observer_port(port.address, keys);
  const auto error = host.network.port_errors.find(port.address);
  if (error == host.network.port_errors.end() || host.network.member_process) return finding;
  Finding taken = finding_of(finding.what.c_str(), error->second);
  taken.text = port.address + ": " + taken.text;
  return taken;
}

Finding network(const Needs& needs) {
  return {Grade::note, "network",
          std::string("trusted, says network_trusted: ") +
              (needs.keys ? "members are proved by their keys, but data are not encrypted"
                          : "the fabric cannot tell members from strangers, and encrypts nothing") +
              "; and libfabric's parsers of TCP can be stopped and crashed by whoever reaches a port",
          "let the firewall admit the members' hosts alone to their ports, or put these into a VPN: see SECURITY.md"};
}

Finding keys(const HostFacts& host) {
  if (!host.network.keys_error && host.network.keys_end_soon) {
    return {Grade::note, "keys", host.network.keys,
            "spindrift keys rotate, and copy the node's directory here: a member that runs takes it without a restart"};
  }
  if (!host.network.keys_error) return {Grade::good, "keys", host.network.keys, ""};
  return finding_of("keys", *host.network.keys_error);
}

// A device's memory is locked by the kernel, within the limit of locked memory or by that one capability.
Finding privileges(const HostFacts& host, const std::optional<Needs>& needs) {
  const char* const fix = "run members as a user of their own, without capabilities: docs/deploy.md has a systemd unit";
  if (host.privileges.root) return {Grade::note, "privileges", "root's; a member needs none of them", fix};
  std::vector<std::string> beyond = host.privileges.capabilities;
  if (needs && needs->verbs) std::erase(beyond, "CAP_IPC_LOCK");
  if (beyond.empty()) return {Grade::good, "privileges", "none that a member does not need", ""};
  return {Grade::note, "privileges", listed(beyond) + ": a member needs none of them", fix};
}

/// Says by whose meta tables the nodes of virtual queue pairs find each other.
std::string tables_of(const Config& config, const View& view) {
  std::vector<fabric::Address> roster;
  for (const NodeId node : view.members) roster.push_back({node, config.address_of(node)});
  return fmt::format("one is met at its address, the others are found by the meta tables of node {}",
                     listed(kernel::vq_meta_servers(roster)));
}

/// Says over which part of a mixed fabric this node reaches which nodes, and how virtual queue pairs reach them.
std::string ways_of(const Config& config, const FabricName& name, const View& view) {
  if (!name.mixed()) return name.between_hosts == FabricName::BetweenHosts::vq ? tables_of(config, view) : "";
  std::vector<NodeId> near;
  std::vector<NodeId> far;
  const NodeId self = config.local_id();
  for (const NodeId node : view.members) {
    if (node != self) (name.maps(config.address_of(self), config.address_of(node)) ? near : far).push_back(node);
  }
  const auto named = [](const std::vector<NodeId>& nodes) {
    return nodes.empty() ? std::string("none") : "node " + listed(nodes);
  };
  return fmt::format("over shm, in {}: {}; over {}: {}", group_directory(config.runtime_directory(), config.group_name()),
                     named(near), name.between_hosts_name(), named(far));
}

Finding ways(const Needs& needs) { return {Grade::good, "peers", needs.ways, ""}; }

/// For large messages: the own bulk rings, and mirrors of all others' if somebody is on another host.
std::uint64_t bulk_bytes_of(const View& view, NodeId node, const Config& config, const FabricName& name) {
  std::uint64_t bytes = 0;
  const bool mirrors = !std::all_of(view.members.begin(), view.members.end(), [&](NodeId other) {
    return other == node || name.maps(config.address_of(node), config.address_of(other));
  });
  for (const SubgroupView& subgroup : view.subgroups) {
    if (!subgroup.member_position(node)) continue;
    if (subgroup.sender_rank(node)) bytes += subgroup.profile.bulk_ring_bytes;
    if (mirrors) bytes += sst::BulkRings::mirrors_bytes(subgroup, node);
  }
  return bytes;
}

/// Own rings that are no part of the row: those for large messages, and with split rows the others.
std::uint64_t rings_of(const View& view, NodeId node) {
  std::uint64_t rings = 0;
  for (const SubgroupView& subgroup : view.subgroups) {
    if (!subgroup.sender_rank(node)) continue;
    rings += (subgroup.profile.split_rows ? 1 : 0) + (subgroup.profile.bulk_ring_bytes > 0 ? 1 : 0);
  }
  return rings;
}

// A local_id that nobody has set is none yet: one configuration serves all members of a host.
std::optional<Error> stranger_in(const Config& config) {
  const auto rank = config.local_rank();
  if (rank) return std::nullopt;
  for (const EffectiveValue& value : config.effective()) {
    if (value.section == "DERECHO" && value.key == "local_id" && value.origin == "default") return std::nullopt;
  }
  return rank.error();
}

/// Whether a subgroup is logged decides how much is set aside at once.
std::optional<JournalNeeds> journal_of(const Config& config, const View& view) {
  const auto place = group::journal_place(config);
  if (!place) return std::nullopt;
  const bool logged = std::any_of(view.subgroups.begin(), view.subgroups.end(), [](const SubgroupView& subgroup) {
    return subgroup.storage == SubgroupStorage::logged;
  });
  const group::JournalUse use = logged ? group::JournalUse::logs : group::JournalUse::views;
  return JournalNeeds{*place, config.local_id(), group::journal_options(use).first_segment_bytes};
}

std::vector<PortNeeds> ports_of(const Config& config) {
  using Callers = PortNeeds::Callers;
  std::vector<PortNeeds> ports;
  const std::string observers = config::observer_address_of(config, config.local_id());
  const std::string clients = config::client_address_of(config, config.local_id());
  if (!observers.empty()) ports.push_back({Callers::observers, observers});
  if (!clients.empty()) ports.push_back({Callers::clients, clients});
  return ports;
}

}  // namespace

Result<Needs> needs_of(const Config& config) {
  SPINDRIFT_TRY_ASSIGN(const auto view, config.view());
  Needs needs;
  needs.members = static_cast<std::uint32_t>(view.members.size());
  needs.spins = config.polling().mode == PollMode::spin;
  needs.files = {.runtime_directory = config.runtime_directory(),
                 .status = group_directory(config.runtime_directory(), config.group_name()) + "/" +
                           status_file_name(config.local_id()),
                 .log = config.log_file(),
                 .audit = config.audit_file(),
                 .journal = journal_of(config, view)};
  needs.stranger = stranger_in(config);
  SPINDRIFT_TRY_ASSIGN(const FabricName name, FabricName::parse(config.fabric()));
  needs.provider = name.provider;
  if (name.between_hosts == FabricName::BetweenHosts::vq) {
    needs.pairs = name.provider;
    needs.provider = kernel::vq_connectionless(needs.pairs);
  }
  needs.verbs = name.between_hosts == FabricName::BetweenHosts::verbs;
  needs.tcp = name.between_hosts == FabricName::BetweenHosts::tcp;
  if (config.proves_members())
    needs.keys = KeyNeeds{config.keys_directory(), config.group_name(), config.local_id()};
  needs.ways = ways_of(config, name, view);
  needs.trust = config.needs_trusted_network();
  needs.ports = ports_of(config);
  if (name.between_hosts != FabricName::BetweenHosts::none) needs.address = config.address_of(config.local_id());
  for (const NodeId node : view.members) {
    needs.member_bytes =
        std::max(needs.member_bytes, sst::RowLayout(view, node).bytes() + bulk_bytes_of(view, node, config, name));
    needs.rings = std::max(needs.rings, rings_of(view, node));
  }
  return needs;
}

std::vector<Finding> examine(const HostFacts& host, const std::optional<Needs>& needs) {
  std::vector<Finding> findings{cpus(host, needs), memory(host, needs), open_files(host, needs), shared_memory(host),
                                privileges(host, needs)};
  if (needs && needs->stranger) findings.push_back(finding_of("node", *needs->stranger));
  if (needs) findings.push_back(directory(host, *needs));
  if (needs && !needs->files.log.empty())
    findings.push_back(appended_file("log file", needs->files.log, host.files.log_error));
  if (needs && !needs->files.audit.empty())
    findings.push_back(appended_file("audit file", needs->files.audit, host.files.audit_error));
  if (needs && needs->files.journal) findings.push_back(journal(host.files.journal, *needs->files.journal));
  if (needs && !needs->provider.empty()) findings.push_back(libfabric(host, *needs));
  if (needs && needs->verbs) findings.push_back(rdma_core(host));
  if (needs && !needs->address.empty() && !host.network.verbs_error) findings.push_back(address(host, *needs));
  if (needs) {
    for (const PortNeeds& each : needs->ports) findings.push_back(port(host, each, needs->keys.has_value()));
  }
  if (needs && needs->keys) findings.push_back(keys(host));
  if (needs && needs->trust) findings.push_back(network(*needs));
  if (needs && !needs->ways.empty()) findings.push_back(ways(*needs));
  for (const auto& look : {barrier, time_source, clock, huge_pages, locked_memory, devices}) findings.push_back(look(host));
  return findings;
}

}  // namespace spindrift::tools
