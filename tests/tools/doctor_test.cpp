// The doctor's findings on hosts that are well, and on those that lack something.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include <catch2/catch.hpp>

#include <spindrift/core/file_descriptor.hpp>

#include "doctor.hpp"

namespace spindrift::tools {
namespace {

using Grade = Finding::Grade;
using Catch::Matchers::Contains;

HostFacts a_good_host() {
  HostFacts host;
  host.cpus = 8;
  host.memory_available_bytes = std::uint64_t{8} << 30;
  host.open_files_max = host.open_files_hard_max = 20'000;
  host.clock.source = "tsc";
  host.clock.synchronized = true;
  host.clock.unix_seconds = 1'800'000'000;
  host.shared_huge_pages = "advise";
  return host;
}

Needs three_members() {
  Needs needs;
  needs.members = 3;
  needs.member_bytes = std::uint64_t{3} << 20;
  needs.files.runtime_directory = "/dev/shm/x";
  return needs;
}

Finding finding(const HostFacts& host, const std::optional<Needs>& needs, const std::string& what) {
  const std::vector<Finding> findings = examine(host, needs);
  const auto found = std::find_if(findings.begin(), findings.end(), [&](const Finding& each) { return each.what == what; });
  REQUIRE(found != findings.end());
  CHECK((found->grade == Grade::good) == found->fix.empty());  // who complains says what to do
  return *found;
}

}  // namespace

TEST_CASE("a good host has nothing to mend") {
  for (const auto& needs : {std::optional<Needs>(), std::optional(three_members())}) {
    for (const Finding& each : examine(a_good_host(), needs)) {
      INFO(each.what);
      CHECK(each.grade == Grade::good);
      CHECK_FALSE(each.text.empty());
      CHECK(each.fix.empty());
    }
  }
}

TEST_CASE("too few processors are worth a note, and bad if members spin on them") {
  HostFacts host = a_good_host();
  Needs needs = three_members();
  host.cpus = 2;
  CHECK(finding(host, needs, "cpus").grade == Grade::note);
  needs.spins = true;
  CHECK(finding(host, needs, "cpus").grade == Grade::bad);
  CHECK_THAT(finding(host, needs, "cpus").fix, Contains("poll = block"));
  host.cpus = 8;
  CHECK(finding(host, needs, "cpus").grade == Grade::good);
  host.cpu_quota = 2.5;
  CHECK(finding(host, needs, "cpus").grade == Grade::bad);
  host.cpu_quota = 0.5;
  CHECK(finding(host, std::nullopt, "cpus").grade == Grade::note);
}

TEST_CASE("memory has to hold a member twice, and a container's limit counts") {
  HostFacts host = a_good_host();
  const Needs needs = three_members();
  host.memory_left_in_cgroup_bytes = std::uint64_t{18} << 20;
  CHECK(finding(host, needs, "memory").grade == Grade::good);
  host.memory_left_in_cgroup_bytes = (std::uint64_t{18} << 20) - 1;
  CHECK(finding(host, needs, "memory").grade == Grade::note);
  host.memory_left_in_cgroup_bytes = (std::uint64_t{6} << 20) - 1;
  CHECK(finding(host, needs, "memory").grade == Grade::bad);
  CHECK(finding(host, std::nullopt, "memory").grade == Grade::good);
}

TEST_CASE("what a member may do beyond what it needs is worth a note") {
  HostFacts host = a_good_host();
  host.privileges.capabilities = {"CAP_IPC_LOCK"};
  CHECK(finding(host, std::nullopt, "privileges").grade == Grade::note);
  CHECK_THAT(finding(host, three_members(), "privileges").text, Contains("CAP_IPC_LOCK"));
  Needs device = three_members();
  device.verbs = true;
  host.network.verbs_ports = {
      {.device = "rxe0", .port = 1, .active = true, .memory_windows = true, .addresses = {"10.0.0.1"}}};
  CHECK(finding(host, device, "privileges").grade == Grade::good);
  host.privileges.capabilities.push_back("CAP_NET_ADMIN");
  CHECK(finding(host, device, "privileges").text == "CAP_NET_ADMIN: a member needs none of them");
  host.privileges = {.root = true, .capabilities = {}};
  CHECK(finding(host, three_members(), "privileges").grade == Grade::note);
  CHECK_THAT(finding(host, three_members(), "privileges").text, Contains("root"));
  CHECK_THAT(finding(host, three_members(), "privileges").fix, Contains("user of their own"));
}

TEST_CASE("the kernel's mask of capabilities has a name for each bit") {
  CHECK(capabilities_in("0000000000000000") == std::vector<std::string>());
  CHECK(capabilities_in("0000000000005000") == std::vector<std::string>{"CAP_NET_ADMIN", "CAP_IPC_LOCK"});
  CHECK(capabilities_in("8000010000000001") ==
        std::vector<std::string>{"CAP_CHOWN", "CAP_CHECKPOINT_RESTORE", "CAP_63"});
  CHECK_FALSE(capabilities_in(""));
  CHECK_FALSE(capabilities_in("5x"));
  CHECK_FALSE(capabilities_in("10000000000000000"));
}

TEST_CASE("a low limit of open files can be raised by the user or only by root") {
  HostFacts host = a_good_host();
  host.open_files_max = 60;
  CHECK(finding(host, std::nullopt, "open files").fix == "ulimit -n 70");
  host.open_files_hard_max = 60;
  CHECK_THAT(finding(host, three_members(), "open files").fix, Contains("LimitNOFILE=82"));
}

TEST_CASE("shared memory without huge pages is worth a note") {
  HostFacts host = a_good_host();
  for (const char* chosen : {"never", "deny"}) {
    host.shared_huge_pages = chosen;
    CHECK(finding(host, std::nullopt, "huge pages").grade == Grade::note);
    CHECK_THAT(finding(host, std::nullopt, "huge pages").fix, Contains("echo advise"));
  }
  for (const char* chosen : {"advise", "always", "within_size", ""}) {
    host.shared_huge_pages = chosen;
    CHECK(finding(host, std::nullopt, "huge pages").grade == Grade::good);
  }
}

TEST_CASE("what a container forbids is named") {
  HostFacts host = a_good_host();
  host.memory_file_error = "memfd_create: Operation not permitted";
  CHECK(finding(host, std::nullopt, "shared memory").grade == Grade::bad);
  CHECK_THAT(finding(host, std::nullopt, "shared memory").text, Contains("Operation not permitted"));
  host.membarrier = false;
  CHECK(finding(host, std::nullopt, "membarrier").grade == Grade::note);
  host.files.directory_error = Error(ErrorKind::refused, "it belongs to user 7").at("/dev/shm/x").fix("chown it");
  CHECK(finding(host, three_members(), "runtime directory").grade == Grade::bad);
  CHECK(finding(host, three_members(), "runtime directory").text == "/dev/shm/x: it belongs to user 7");
  CHECK(finding(host, three_members(), "runtime directory").fix == "chown it");
}

TEST_CASE("a clock that was never set is bad, one that nothing keeps right and a slow one are worth a note") {
  HostFacts host = a_good_host();
  host.clock.synchronized = false;
  CHECK(finding(host, std::nullopt, "clock").grade == Grade::note);
  host.clock.unix_seconds = 1000;
  CHECK(finding(host, std::nullopt, "clock").grade == Grade::bad);
  host.clock.source = "hpet";
  CHECK(finding(host, std::nullopt, "time source").grade == Grade::note);
}

TEST_CASE("locked memory matters only to those who have a device") {
  HostFacts host = a_good_host();
  host.locked_memory_max_bytes = std::uint64_t{8} << 20;
  CHECK(finding(host, std::nullopt, "locked memory").grade == Grade::good);
  host.network.rdma_devices.push_back({"mlx5_0", "ACTIVE", "Ethernet", {"fe80::1"}});
  CHECK(finding(host, std::nullopt, "locked memory").fix == "ulimit -l unlimited");
  CHECK_THAT(finding(host, std::nullopt, "rdma devices").text, Contains("mlx5_0: ACTIVE, Ethernet, 1 GIDs"));
}

TEST_CASE("a fabric between hosts needs libfabric with an ordered provider, and an address of this host") {
  HostFacts host = a_good_host();
  Needs needs = three_members();
  needs.provider = "tcp";
  needs.address = "10.0.0.1:7400";
  host.network.providers = {{"net", false, false, false}, {"tcp", true, true, false}};
  CHECK(finding(host, needs, "libfabric").grade == Grade::good);
  CHECK_THAT(finding(host, needs, "libfabric").text, Contains("net (not connected), tcp (connected, ordered)"));
  CHECK(finding(host, needs, "address").grade == Grade::good);
  host.network.address_error =
      Error(ErrorKind::resource, "cannot listen").because(Error(ErrorKind::resource, "it is in use").fix("look: ss -ltnp"));
  CHECK(finding(host, needs, "address").grade == Grade::bad);
  CHECK(finding(host, needs, "address").text == "10.0.0.1:7400: cannot listen; because: it is in use");
  CHECK(finding(host, needs, "address").fix == "look: ss -ltnp");
  host.network.member_process = 42;
  CHECK(finding(host, needs, "address").grade == Grade::good);
  CHECK_THAT(finding(host, needs, "address").text, Contains("this node's member runs, in process 42"));
  host.network.member_process.reset();
  host.network.providers[1].ordered = false;
  CHECK(finding(host, needs, "libfabric").grade == Grade::bad);
  needs.pairs = "net";
  needs.provider = "net";
  CHECK(finding(host, needs, "libfabric").grade == Grade::bad);
  host.network.providers[0].connectionless = true;
  CHECK(finding(host, needs, "libfabric").grade == Grade::good);
  CHECK_THAT(finding(host, needs, "libfabric").text, Contains("net (not connected; connectionless, ordered)"));
  host.network.providers_error = "libfabric cannot be loaded";
  CHECK_THAT(finding(host, needs, "libfabric").fix, Contains("apt-get install libfabric1"));
}

TEST_CASE("a port for observers of other hosts has to be free, and is open to everybody without keys") {
  HostFacts host = a_good_host();
  Needs needs = three_members();
  needs.ports = {{PortNeeds::Callers::observers, "10.0.0.1:7500"}};
  CHECK(finding(host, needs, "observer port").grade == Grade::note);
  CHECK_THAT(finding(host, needs, "observer port").text, Contains("whoever reaches 10.0.0.1:7500 can read"));
  needs.keys = KeyNeeds{"/keys", "orders", NodeId(0)};
  CHECK(finding(host, needs, "observer port").grade == Grade::good);
  host.network.port_errors.emplace("10.0.0.1:7500", Error(ErrorKind::resource, "cannot listen").fix("look: ss -ltnp"));
  CHECK(finding(host, needs, "observer port").grade == Grade::bad);
  CHECK(finding(host, needs, "observer port").text == "10.0.0.1:7500: cannot listen");
  host.network.member_process = 42;
  CHECK(finding(host, needs, "observer port").grade == Grade::good);
}

TEST_CASE("a port for clients has to be free, and without keys every process of the host can call there") {
  HostFacts host = a_good_host();
  Needs needs = three_members();
  const std::string address = "127.0.0.1:7600";
  needs.ports = {{PortNeeds::Callers::observers, "10.0.0.1:7500"}, {PortNeeds::Callers::clients, address}};
  CHECK(finding(host, needs, "client port").grade == Grade::note);
  CHECK_THAT(finding(host, needs, "client port").text, Contains(address));
  needs.keys = KeyNeeds{"/keys", "orders", NodeId(0)};
  CHECK(finding(host, needs, "client port").grade == Grade::good);
  host.network.port_errors.emplace(address, Error(ErrorKind::resource, "cannot listen").fix("look: ss -ltnp"));
  CHECK(finding(host, needs, "client port").text == address + ": cannot listen");
  CHECK(finding(host, needs, "client port").grade == Grade::bad);
  CHECK(finding(host, needs, "observer port").grade == Grade::good);
  host.network.member_process = 42;
  CHECK(finding(host, needs, "client port").grade == Grade::good);
}

TEST_CASE("keys that end soon are good, and worth a note with what to do") {
  HostFacts host = a_good_host();
  Needs needs = three_members();
  needs.keys = KeyNeeds{"/keys", "orders", NodeId(0)};
  host.network.keys = "spindrift://orders/0, until 2026-12-01 00:00:00 UTC";
  CHECK(finding(host, needs, "keys").grade == Grade::good);
  host.network.keys_end_soon = true;
  CHECK(finding(host, needs, "keys").grade == Grade::note);
  CHECK(finding(host, needs, "keys").text == host.network.keys);
  CHECK_THAT(finding(host, needs, "keys").fix, Contains("keys rotate"));
  host.network.keys_error = Error(ErrorKind::bad_config, "the file is missing").fix("copy it");
  CHECK(finding(host, needs, "keys").grade == Grade::bad);
}

TEST_CASE("the fabric of RDMA devices needs an active port with an address") {
  HostFacts host = a_good_host();
  Needs needs = three_members();
  needs.verbs = true;
  host.network.verbs_ports = {
      {.device = "rxe0", .port = 1, .active = true, .memory_windows = true, .addresses = {"10.0.0.1"}}};
  CHECK(finding(host, needs, "rdma-core").grade == Grade::good);
  CHECK_THAT(finding(host, needs, "rdma-core").text, Contains("rxe0 port 1 (active, with windows): 10.0.0.1"));
  host.network.no_dc = {{"mlx5_0", ""}, {"rxe0", "it is no adapter of libmlx5's"}};
  CHECK_THAT(finding(host, needs, "rdma-core").text, Contains("mlx5_0, for the kernel's device alone: yes, but no release"));
  CHECK_THAT(finding(host, needs, "rdma-core").text, Contains("of rxe0, for the kernel's device alone: none, it is no"));
  host.network.verbs_ports[0].active = false;
  CHECK(finding(host, needs, "rdma-core").grade == Grade::bad);
  CHECK_THAT(finding(host, needs, "rdma-core").fix, Contains("ip link set"));
  host.network.verbs_ports[0] = {.device = "rxe0", .port = 1, .active = true, .addresses = {}};
  CHECK(finding(host, needs, "rdma-core").grade == Grade::bad);
  host.network.verbs_error = "no RDMA device";
  CHECK_THAT(finding(host, needs, "rdma-core").fix, Contains("modprobe rdma_rxe"));
}

TEST_CASE("this host's libfabric is asked, and its address tried") {
  Needs needs = three_members();
  needs.files.runtime_directory = "/dev/shm";
  needs.provider = "tcp";
  needs.address = "127.0.0.1:0";
  const HostFacts good = look_at_host(needs);
  CHECK_FALSE(good.network.providers_error);
  CHECK_FALSE(good.network.address_error);
  CHECK(finding(good, needs, "libfabric").grade == Grade::good);
  needs.address = "192.0.2.77:7400";
  CHECK(look_at_host(needs).network.address_error);
}

TEST_CASE("this host can be looked at, with a directory that is there, one that could be made, and one that could not") {
  const auto with_directory = [](const char* directory) {
    Needs needs = three_members();
    needs.files.runtime_directory = directory;
    return look_at_host(needs);
  };
  const HostFacts here = look_at_host({});
  CHECK(here.cpus > 0);
  CHECK(here.memory_available_bytes > 0);
  CHECK(here.open_files_max > 0);
  CHECK(here.memory_file_error.empty());
  CHECK_FALSE(with_directory("/dev/shm/spindrift-never-made").files.directory_error);
  CHECK_THAT(with_directory("/proc/version").files.directory_error->to_string(), Contains("no directory"));
  CHECK_THAT(with_directory("/proc/nowhere/here").files.directory_error->to_string(),
             Contains("/proc/nowhere: open: No such file") && Contains("fix: mkdir -m 700 -p /proc/nowhere, "));
}

TEST_CASE("a log file or an audit file that cannot be written is found, and none is made") {
  const auto with = [](const char* log, const char* audit) {
    Needs needs = three_members();
    needs.files.log = log;
    needs.files.audit = audit;
    return needs;
  };
  const Needs good = with("/dev/shm/spindrift-never-logged", "/dev/shm/spindrift-never-audited");
  const HostFacts fine = look_at_host(good);
  for (const char* what : {"log file", "audit file"}) CHECK(finding(fine, good, what).grade == Grade::good);
  for (const std::string& file : {good.files.log, good.files.audit}) CHECK(::access(file.c_str(), F_OK) != 0);

  const Needs bad = with("/proc/nowhere/log", "/proc/nowhere/audit");
  const HostFacts host = look_at_host(bad);
  CHECK(finding(host, bad, "log file").grade == Grade::bad);
  CHECK_THAT(finding(host, bad, "log file").text, Contains("/proc/nowhere/log: open: No such file"));
  CHECK_THAT(finding(host, bad, "log file").fix, Contains("log_file"));
  CHECK(finding(host, bad, "audit file").grade == Grade::bad);
  CHECK_THAT(finding(host, bad, "audit file").text, Contains("/proc/nowhere/audit: open it: No such file"));
  CHECK_THAT(finding(host, bad, "audit file").fix, Contains("a directory that this user may write"));
}

TEST_CASE("an audit file that others may write is found, as a member would refuse it") {
  std::string path = "/tmp/spindrift-audit-XXXXXX";
  const FileDescriptor made(::mkstemp(path.data()));
  REQUIRE(made);
  Needs needs = three_members();
  needs.files.audit = path;
  CHECK_FALSE(look_at_host(needs).files.audit_error);
  REQUIRE(::fchmod(made.get(), 0622) == 0);
  const auto refused = look_at_host(needs).files.audit_error;
  ::unlink(path.c_str());
  REQUIRE(refused);
  CHECK_THAT(refused->to_string(), Contains("it is no file of this user that nobody else may write"));
}

TEST_CASE("the files of a configuration are those that are looked at") {
  const char text[] =
      "[SPINDRIFT]\nmembers = 0, 1\ngroup_name = g\nruntime_directory = /run/here\nlog_file = /var/log/a\n"
      "audit_file = /var/log/b\n[LAYOUT]\njson_layout = '[{\"name\": \"orders\"}]'\n";
  const FileNeeds files = value_or_throw(needs_of(value_or_throw(Config::parse(text, "test")))).files;
  CHECK(files.runtime_directory == "/run/here");
  CHECK(files.status == "/run/here/g/status/0.status");
  CHECK(files.log == "/var/log/a");
  CHECK(files.audit == "/var/log/b");
}

TEST_CASE("a node that is no member will not start, one that nothing names might") {
  const std::string text = "[SPINDRIFT]\nmembers = 1, 2\n[LAYOUT]\njson_layout = '[{\"name\": \"orders\"}]'\n";
  const auto needs = [&](const std::vector<ConfigOverride>& flags) {
    return value_or_throw(needs_of(value_or_throw(Config::parse(text, "test", flags))));
  };
  CHECK_FALSE(needs({}).stranger);
  CHECK_FALSE(needs({{"DERECHO/local_id", "2"}}).stranger);
  const Finding node = finding(a_good_host(), needs({{"DERECHO/local_id", "9"}}), "node");
  CHECK(node.grade == Grade::bad);
  CHECK_THAT(node.text, Contains("this process is node 9, which is not among the members 1, 2"));
}

TEST_CASE("a configuration needs what its largest member takes") {
  const char text[] = "[SPINDRIFT]\nmembers = 0, 1, 2\npoll = spin\n[LAYOUT]\njson_layout = '[{\"name\": \"orders\"}]'\n";
  const Config config = value_or_throw(Config::parse(text, "test"));
  const Needs needs = value_or_throw(needs_of(config));
  CHECK(needs.members == 3);
  CHECK(needs.spins);
  CHECK(needs.member_bytes > 4096);
  CHECK(needs.provider.empty());
  CHECK_FALSE(needs.trust);
  for (const std::string provider : {"tcp", "net"}) {
    const Config far = value_or_throw(Config::parse("[SPINDRIFT]\nfabric = ofi:" + provider +
                                                        "\nnetwork_trusted = true\naddresses = h<id>:1\nmembers = 0, 1\n"
                                                        "[LAYOUT]\njson_layout = '[{\"name\": \"orders\"}]'\n",
                                                    "test"));
    CHECK(value_or_throw(needs_of(far)).provider == provider);
    CHECK(value_or_throw(needs_of(far)).address == "h0:1");
  }
  for (const auto& [fabric, provider] : {std::pair{"vq:tcp", "tcp;ofi_rxm"}, std::pair{"vq:net", "net"}}) {
    const Config far = value_or_throw(Config::parse("[SPINDRIFT]\nfabric = " + std::string(fabric) +
                                                        "\nnetwork_trusted = true\naddresses = h<id>:1\nmembers = 0, 1\n"
                                                        "[LAYOUT]\njson_layout = '[{\"name\": \"orders\"}]'\n",
                                                    "test"));
    CHECK(value_or_throw(needs_of(far)).provider == provider);
    CHECK("vq:" + value_or_throw(needs_of(far)).pairs == fabric);
    CHECK(value_or_throw(needs_of(far)).ways ==
          "one is met at its address, the others are found by the meta tables of node 0, 1");
    CHECK(value_or_throw(needs_of(far)).address == "h0:1");
  }
  const std::string bulk = "[SUBGROUP/DEFAULT]\nbulk_ring_bytes = 1 MiB\n";
  const std::uint64_t with_bulk = value_or_throw(needs_of(value_or_throw(Config::parse(text + bulk, "test")))).member_bytes;
  CHECK(with_bulk >= needs.member_bytes + (1 << 20));
  CHECK(with_bulk <= needs.member_bytes + (1 << 20) + 4096);  // of the row by a page at most, for the words of relays
  CHECK(needs.rings == 0);
  const std::string split_rows = "[SPINDRIFT]\nsplit_rows = true\n";
  const Needs split = value_or_throw(needs_of(value_or_throw(Config::parse(text + split_rows + bulk, "test"))));
  CHECK(split.rings == 2);
  CHECK(split.member_bytes == with_bulk);
  const Config rdma =
      value_or_throw(Config::parse("[SPINDRIFT]\nfabric = verbs\nnetwork_trusted = true\naddresses = 10.0.0.1:740<id>\n"
                                   "members = 0, 1\n"
                                   "[LAYOUT]\njson_layout = '[{\"name\": \"orders\"}]'\n",
                                   "test"));
  CHECK(value_or_throw(needs_of(rdma)).verbs);
  CHECK(value_or_throw(needs_of(rdma)).address == "10.0.0.1:7400");
  CHECK(value_or_throw(needs_of(rdma)).provider.empty());
  CHECK(value_or_throw(needs_of(rdma)).ways.empty());
  CHECK_FALSE(needs_of(value_or_throw(Config::parse("[SPINDRIFT]\nmembers = 0\n", "test"))).ok());
}

TEST_CASE("of a fabric that is two in one the needs of both are looked at, and who is reached over which is told") {
  const auto config = [](const std::string& addresses, const std::string& fabric) {
    return value_or_throw(
        Config::parse("[SPINDRIFT]\nfabric = " + fabric + "\nnetwork_trusted = true\naddresses = " + addresses +
                          "\nmembers = 0, 1, 2, 3\nruntime_directory = /run/here\ngroup_name = g\n[SUBGROUP/DEFAULT]\n"
                          "bulk_ring_bytes = 1 MiB\n[LAYOUT]\njson_layout = '[{\"name\": \"orders\"}]'\n",
                      "test"));
  };
  const Needs two_hosts = value_or_throw(needs_of(config("0@a:1, 1@b:1, 2@A:2, 3@b:2", "shm+ofi:tcp")));
  CHECK(two_hosts.provider == "tcp");
  CHECK(two_hosts.address == "a:1");
  CHECK(two_hosts.ways == "over shm, in /run/here/g: node 2; over ofi:tcp: node 1, 3");
  const Needs one_host = value_or_throw(needs_of(config("a:740<id>", "shm+verbs")));
  CHECK(one_host.verbs);
  CHECK(one_host.ways == "over shm, in /run/here/g: node 1, 2, 3; over verbs: none");
  CHECK(two_hosts.member_bytes >= one_host.member_bytes + (3 << 20));  // mirrors
  CHECK(value_or_throw(needs_of(config("a:740<id>", "ofi:tcp"))).ways.empty());
  const auto findings = examine(HostFacts{}, two_hosts);
  const auto is_peers = [](const Finding& each) { return each.what == "peers"; };
  const auto peers = std::find_if(findings.begin(), findings.end(), is_peers);
  REQUIRE(peers != findings.end());
  CHECK(peers->grade == Grade::good);
  CHECK(peers->text == two_hosts.ways);
}

TEST_CASE("of a network that has to be trusted is told") {
  const auto told = [](bool trust) {
    Needs needs;
    needs.trust = trust;
    const auto findings = examine(HostFacts{}, needs);
    return std::any_of(findings.begin(), findings.end(),
                       [](const Finding& each) { return each.what == "network" && each.grade == Finding::Grade::note; });
  };
  CHECK(told(true));
  CHECK_FALSE(told(false));
}

}  // namespace spindrift::tools
