// Looking: /proc, /sys, limits, and what containers often forbid.
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <spindrift/core/asymmetric_barrier.hpp>
#include <spindrift/core/audit.hpp>
#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/fabric/shm/region.hpp>
#include <spindrift/fabric/tcp/tcp.hpp>
#include <spindrift/fabric/tls/credentials.hpp>
#include <spindrift/group/status.hpp>
#include <spindrift/kernel/provider/vq_fabric.hpp>
#include <spindrift/kernel/verbs/verbs_device.hpp>

#include "doctor.hpp"

namespace spindrift::tools {
namespace {

namespace files = std::filesystem;

std::string first_line(const files::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end != text.data() ? std::optional(number) : std::nullopt;
}

std::optional<std::uint64_t> number_of(const files::path& path) { return number_in(first_line(path)); }

template <class T>
void lower(std::optional<T>& least, T value) {
  least = std::min(least.value_or(value), value);
}

/// The directories of this process's cgroup under `root`, the innermost first. A limit holds for all below it.
std::vector<files::path> groups_under(const files::path& root, const std::string& inner) {
  std::vector<files::path> groups;
  for (files::path at = files::path(inner).relative_path();; at = at.parent_path()) {
    groups.push_back(root / at);
    if (at.empty()) return groups;
  }
}

// Version 2: one hierarchy, "0::/path". Version 1: "4:memory:/path", each controller by itself.
void look_at_cgroup(HostFacts& host) {
  std::ifstream list("/proc/self/cgroup");
  for (std::string line; std::getline(list, line);) {
    std::istringstream parts(line);
    std::string hierarchy;
    std::string controllers;
    std::string path;
    std::getline(parts, hierarchy, ':');
    std::getline(parts, controllers, ':');
    std::getline(parts, path);
    const bool second = controllers.empty();
    if (second || controllers == "memory") {
      for (const files::path& group : groups_under(second ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory", path)) {
        const auto most = number_of(group / (second ? "memory.max" : "memory.limit_in_bytes"));
        const auto used = number_of(group / (second ? "memory.current" : "memory.usage_in_bytes"));
        constexpr std::uint64_t no_limit = std::uint64_t{1} << 60;  // version 1 has no word for it
        if (most && used && *most < no_limit) lower(host.memory_left_in_cgroup_bytes, *most - std::min(*most, *used));
      }
    }
    if (second || controllers.find("cpu") == 0) {
      for (const files::path& group : groups_under(second ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu", path)) {
        std::string line_of_both = first_line(group / (second ? "cpu.max" : "cpu.cfs_quota_us"));
        if (!second) line_of_both += " " + first_line(group / "cpu.cfs_period_us");
        std::istringstream both(line_of_both);
        double quota = 0;
        double period = 0;
        if (both >> quota >> period && quota > 0 && period > 0) lower(host.cpu_quota, quota / period);
      }
    }
  }
}

std::uint64_t available_memory() {
  std::ifstream info("/proc/meminfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("MemAvailable:", 0) != 0) continue;
    const std::size_t at = line.find_first_of("0123456789");
    if (at != std::string::npos) return number_in(std::string_view(line).substr(at)).value_or(0) << 10;
  }
  return 0;
}

// As a member makes its row.
std::string why_no_memory_file() {
  auto segment = fabric::shm::OwnSegment::create(4096, "doctor");
  if (!segment) return segment.error().message();
  const auto sealed = segment->seal(fabric::Access::read);
  return sealed ? "" : sealed.error().message();
}

// A file of the size that a member's take together, made and removed: a file system can be full, or of a kind without files.
std::optional<Error> why_no_file(int directory) {
  constexpr off_t bytes = 256 << 10;
  const std::string name = ".doctor." + std::to_string(::getpid());
  const FileDescriptor file(::openat(directory, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file) return system_error("make a file", errno);
  const int refused = ::posix_fallocate(file.get(), 0, bytes);
  ::unlinkat(directory, name.c_str(), 0);
  if (refused == 0) return std::nullopt;
  return system_error("write a file", refused);
}

// As a member finds its directory, or the one in which it would make it, and changes it.
std::optional<Error> why_no_directory(const files::path& path) {
  std::error_code unknown;
  auto directory = open_guarded_directory(files::exists(path, unknown) ? path : path.parent_path(), 0);
  if (!directory) return std::move(directory).error();
  auto refused = why_no_file(directory.value().get());
  if (!refused) return std::nullopt;
  return std::move(*refused).at(path).fix(
      "set runtime_directory in [SPINDRIFT] to one that this user may write, on a local file system with space");
}

bool can_be_made(const std::string& path) {
  const files::path parent = files::path(path).parent_path();
  return ::access(parent.empty() ? "." : parent.c_str(), W_OK | X_OK) == 0;
}

// As a member opens it, but what is not there is not made.
std::optional<Error> why_no_log(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK));
  if (file) return std::nullopt;
  const int refused = errno;
  if (refused == ENOENT && can_be_made(path)) return std::nullopt;
  return system_error("open", refused)
      .at(path)
      .fix("set log_file in [SPINDRIFT] to a file in a directory that is there and that this user may write");
}

std::optional<Error> why_no_audit(const std::string& path) {
  std::error_code unknown;
  if (files::symlink_status(path, unknown).type() == files::file_type::not_found && can_be_made(path)) return std::nullopt;
  auto file = open_audit_file(path, AbsentFile::refuse);
  if (file) return std::nullopt;
  return std::move(file).error();
}

void look_at_files(FileFacts& facts, const FileNeeds& needs) {
  facts.directory_error = why_no_directory(needs.runtime_directory);
  if (!needs.log.empty()) facts.log_error = why_no_log(needs.log);
  if (!needs.audit.empty()) facts.audit_error = why_no_audit(needs.audit);
  if (needs.journal) facts.journal = look_at_journal(*needs.journal);
}

std::vector<RdmaDevice> rdma_devices() {
  std::vector<RdmaDevice> devices;
  std::error_code none;
  for (const auto& entry : files::directory_iterator("/sys/class/infiniband", none)) {
    const files::path port = entry.path() / "ports/1";
    RdmaDevice device{entry.path().filename(), first_line(port / "state"), first_line(port / "link_layer"), {}};
    if (const auto colon = device.state.find(": "); colon != std::string::npos) device.state.erase(0, colon + 2);
    std::error_code unreadable;
    for (const auto& gid : files::directory_iterator(port / "gids", unreadable)) {
      const std::string value = first_line(gid.path());
      if (value.find_first_not_of("0:") != std::string::npos) device.gids.push_back(value);
    }
    devices.push_back(std::move(device));
  }
  std::sort(devices.begin(), devices.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return devices;
}

// "always within_size advise [never] deny force"
std::string chosen_in(const std::string& line) {
  const auto from = line.find('[');
  const auto to = line.find(']');
  return from == std::string::npos || to == std::string::npos ? "" : line.substr(from + 1, to - from - 1);
}

void look_at_fabric(NetworkFacts& network, const Needs& needs) {
  auto offers = fabric::ofi_offers();
  if (!offers) {
    network.providers_error = offers.error().to_string();
    return;
  }
  network.providers = std::move(offers).value();
  if (needs.address.empty()) return;
  const auto listened = needs.pairs.empty() ? fabric::try_ofi_address(needs.provider, needs.address)
                                            : kernel::try_vq_address(needs.pairs, needs.address);
  if (!listened) network.address_error = listened.error();
}

void look_at_verbs(NetworkFacts& network, const Needs& needs) {
  auto ports = fabric::verbs_ports();
  if (!ports) {
    network.verbs_error = ports.error().message();
    return;
  }
  network.verbs_ports = std::move(ports).value();
  for (const fabric::VerbsPort& port : network.verbs_ports) network.no_dc[port.device] = kernel::why_no_dc(port.device);
  if (needs.address.empty()) return;
  const auto listened = fabric::try_verbs_address(needs.address);
  if (!listened) network.address_error = listened.error();
}

void look_at_tcp(NetworkFacts& network, const Needs& needs) {
  const auto listened = fabric::try_tcp_address(needs.address);
  if (!listened) network.address_error = listened.error();
}

void look_at_ports(NetworkFacts& network, const Needs& needs) {
  for (const PortNeeds& port : needs.ports) {
    const auto listened = fabric::try_tcp_address(port.address);
    if (!listened) network.port_errors.emplace(port.address, listened.error());
  }
}

/// An address that is taken may be so by this node's own member.
void look_for_member(NetworkFacts& network, const Needs& needs) {
  if (!network.address_error && network.port_errors.empty()) return;
  const auto status = group::read_status(needs.files.status);
  if (status && group::runs(*status)) network.member_process = status->process;
}

void look_at_keys(NetworkFacts& network, const KeyNeeds& needs) {
  const auto keys = fabric::tls::Credentials::load(needs.directory, needs.group, needs.node);
  if (!keys) {
    network.keys_error = keys.error();
    return;
  }
  const fabric::tls::Validity validity = (*keys)->validity();
  network.keys = (*keys)->identity().uri() + ", until " + fabric::tls::time_text(validity.until);
  network.keys_end_soon =
      fabric::tls::is_to_be_replaced(validity, std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
}

}  // namespace

HostFacts look_at_host(const std::optional<Needs>& needs) {
  HostFacts host;
  cpu_set_t cpus;
  if (::sched_getaffinity(0, sizeof cpus, &cpus) == 0) host.cpus = static_cast<std::uint32_t>(CPU_COUNT(&cpus));
  look_at_cgroup(host);
  host.memory_available_bytes = available_memory();
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    host.open_files_max = limit.rlim_cur;
    host.open_files_hard_max = limit.rlim_max;
  }
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    host.locked_memory_max_bytes = limit.rlim_cur;
  }
  host.memory_file_error = why_no_memory_file();
  host.membarrier = kernel_has_membarrier;
  host.clock.source = first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  timex clock{};
  if (const int state = ::adjtimex(&clock); state >= 0) host.clock.synchronized = state != TIME_ERROR;
  host.clock.unix_seconds = ::time(nullptr);
  host.shared_huge_pages = chosen_in(first_line("/sys/kernel/mm/transparent_hugepage/shmem_enabled"));
  host.network.rdma_devices = rdma_devices();
  if (needs) look_at_files(host.files, needs->files);
  if (needs && !needs->provider.empty()) look_at_fabric(host.network, *needs);
  if (needs && needs->verbs) look_at_verbs(host.network, *needs);
  if (needs && needs->tcp) look_at_tcp(host.network, *needs);
  if (needs) look_at_ports(host.network, *needs);
  if (needs) look_for_member(host.network, *needs);
  if (needs && needs->keys) look_at_keys(host.network, *needs->keys);
  host.privileges = own_privileges();
  return host;
}

}  // namespace spindrift::tools
