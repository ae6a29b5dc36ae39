// The providers on which the conformance tests run.
#include "harness.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string_view>
#include <utility>

#include <spindrift/fabric/fault/fault.hpp>
#include <spindrift/fabric/mixed/mixed.hpp>
#include <spindrift/fabric/ofi/ofi.hpp>
#include <spindrift/fabric/tcp/tcp.hpp>
#include <spindrift/fabric/tls/authority.hpp>
#include <spindrift/fabric/tls/credentials.hpp>
#include <spindrift/fabric/verbs/verbs.hpp>
#include <spindrift/kernel/provider/vq_fabric.hpp>

namespace spindrift::fabric::test {
namespace {

const SystemClock real_time;

std::unique_ptr<Fabric> make_net_or_throw(NodeId self, const std::string& runtime_directory) {
  return value_or_throw(
      make_ofi({.self = self, .provider = "net", .runtime_directory = runtime_directory, .group_name = "group"}));
}

std::unique_ptr<Fabric> make_vq_or_throw(NodeId self, const std::string& runtime_directory, std::string provider) {
  return value_or_throw(kernel::make_vq(
      {.self = self, .provider = std::move(provider), .runtime_directory = runtime_directory, .group_name = "group"}));
}

/// The authority of all groups of this process, and the keys of its nodes, made as they are asked for.
class Keys {
 public:
  ~Keys() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  [[nodiscard]] std::shared_ptr<tls::Credentials> of(NodeId node) {
    const auto identity = value_or_throw(tls::Identity::of_member("group", node));
    const std::string bundle = authority_.bundle_directory(identity);
    if (!std::filesystem::exists(bundle)) value_or_throw(authority_.add(identity, this_year()));
    return value_or_throw(tls::Credentials::load(bundle, "group", node));
  }

 private:
  /// The same for all: no certificate may outlive its authority.
  [[nodiscard]] static tls::Validity this_year() {
    static const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    return tls::valid_for(now, std::chrono::days(365));
  }
  [[nodiscard]] static std::string temporary_directory() {
    std::string name = (std::filesystem::temp_directory_path() / "spindrift-keys-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    return name;
  }

  const std::string directory_ = temporary_directory();
  tls::Authority authority_ = value_or_throw(tls::Authority::create(directory_ + "/keys", "group", this_year()));
};

enum class Proof { none, tls };

std::shared_ptr<tls::Credentials> keys_of(NodeId node) {
  static Keys keys;
  return keys.of(node);
}

TcpOptions own_tcp(NodeId self, const std::string& runtime_directory, Proof proof) {
  return {.self = self,
          .runtime_directory = runtime_directory,
          .group_name = "group",
          .credentials = proof == Proof::tls ? keys_of(self) : nullptr};
}

std::unique_ptr<Fabric> proved_ofi(NodeId self, const std::string& runtime_directory) {
  return value_or_throw(make_ofi({.self = self,
                                  .provider = "tcp",
                                  .runtime_directory = runtime_directory,
                                  .group_name = "group",
                                  .credentials = keys_of(self)}));
}

std::unique_ptr<Fabric> proved_vq(NodeId self, const std::string& runtime_directory) {
  return value_or_throw(kernel::make_vq(
      {.self = self, .runtime_directory = runtime_directory, .group_name = "group", .credentials = keys_of(self)}));
}

std::unique_ptr<Fabric> proved_verbs(NodeId self, const std::string& runtime_directory) {
  return value_or_throw(make_verbs(
      {.self = self, .runtime_directory = runtime_directory, .group_name = "group", .credentials = keys_of(self)}));
}

std::unique_ptr<Fabric> faulty(NodeId self, const std::string& runtime_directory, FaultPlan plan) {
  plan.seed = self.value();
  return value_or_throw(make_fault(make_shm_or_throw(self, runtime_directory), std::move(plan), real_time));
}

constexpr unsigned port_first = 10000;
constexpr unsigned ports = 20000;  // below those that the kernel gives to clients
unsigned port = port_first + static_cast<unsigned>(::getpid()) % ports;

/// Why verbs cannot be tried is said once.
const std::vector<std::string>& verbs_addresses() {
  static const std::vector<std::string> addresses = [] {
    std::vector<std::string> found;
    const auto there = verbs_ports();
    if (!there) std::cout << "fabric verbs is not tried here: " << there.error().to_string() << std::endl;
    for (const VerbsPort& each : there ? there.value() : std::vector<VerbsPort>{}) {
      const bool has_v4 = each.active && !each.addresses.empty() && each.addresses.front().find(':') == std::string::npos;
      if (has_v4) found.push_back(each.addresses.front());
    }
    if (there && found.empty())
      std::cout << "fabric verbs is not tried here: no active port has an IPv4 address" << std::endl;
    return found;
  }();
  return addresses;
}

bool one_host = false;

/// The hosts of the nodes: all are on one, or each is on its own.
enum class Hosts { one, many };

std::unique_ptr<Fabric> shm_and_tcp(NodeId self, const std::string& runtime_directory, Hosts hosts) {
  one_host = hosts == Hosts::one;
  return make_mixed_or_throw(
      self, runtime_directory,
      value_or_throw(make_ofi_part({.self = self, .provider = "tcp", .runtime_directory = {}, .group_name = {}})));
}

std::unique_ptr<Fabric> shm_and_own_tcp(NodeId self, const std::string& runtime_directory, Hosts hosts) {
  one_host = hosts == Hosts::one;
  return make_mixed_or_throw(self, runtime_directory,
                             value_or_throw(make_tcp_part(own_tcp(self, runtime_directory, Proof::tls))));
}

std::unique_ptr<Fabric> shm_and_vq(NodeId self, const std::string& runtime_directory, std::string provider, Hosts hosts) {
  one_host = hosts == Hosts::one;
  return make_mixed_or_throw(
      self, runtime_directory,
      value_or_throw(
          kernel::make_vq_part({.self = self, .provider = std::move(provider), .runtime_directory = {}, .group_name = {}})));
}

std::unique_ptr<Fabric> shm_and_verbs(NodeId self, const std::string& runtime_directory) {
  return make_mixed_or_throw(self, runtime_directory,
                             value_or_throw(make_verbs_part({.self = self, .runtime_directory = {}, .group_name = {}})));
}

std::unique_ptr<Fabric> verbs_without_windows(NodeId self, const std::string& runtime_directory) {
  return value_or_throw(
      make_verbs({.self = self, .runtime_directory = runtime_directory, .group_name = "group", .memory_windows = false}));
}

}  // namespace

std::unique_ptr<Fabric> make_verbs_or_throw(NodeId self, const std::string& runtime_directory) {
  return value_or_throw(make_verbs({.self = self, .runtime_directory = runtime_directory, .group_name = "group"}));
}

Address verbs_address_of(NodeId node) {
  constexpr unsigned nodes_max = 50;
  constexpr unsigned groups = 600;  // below the ports that the kernel gives to callers, one of which may be in use
  const unsigned first = 1024 + port % groups * nodes_max;
  return {node, verbs_addresses().at(node.value() % verbs_addresses().size()) + ":" + std::to_string(first + node.value())};
}

std::unique_ptr<Fabric> make_tcp_or_throw(NodeId self, const std::string& runtime_directory) {
  return value_or_throw(
      make_ofi({.self = self, .provider = "tcp", .runtime_directory = runtime_directory, .group_name = "group"}));
}

std::unique_ptr<Fabric> make_mixed_or_throw(NodeId self, const std::string& runtime_directory,
                                            std::unique_ptr<connected::Endpoint> far) {
  return make_mixed(
      value_or_throw(shm::make_part({.self = self, .runtime_directory = runtime_directory, .group_name = "group"})),
      std::move(far));
}

void begin_new_group() {
  port = port_first + (port - port_first + 1) % ports;
  one_host = false;
}

Address address_of(NodeId node) {
  const auto pid = static_cast<unsigned>(::getpid());
  if (one_host) {
    constexpr unsigned nodes_max = 8;
    const unsigned first = port_first + port * nodes_max % ports;
    return {node, "127." + std::to_string(pid / 250 % 250 + 1) + "." + std::to_string(pid % 250) +
                      ".250:" + std::to_string(first + node.value() % nodes_max)};
  }
  return {node, "127." + std::to_string(pid / 250 % 250 + 1) + "." + std::to_string(pid % 250) + "." +
                    std::to_string(node.value() + 1) + ":" + std::to_string(port)};
}

std::vector<Provider> providers() {
  using std::chrono::microseconds;
  std::vector<Provider> all{
      {"shm", make_shm_or_throw},
      {"tcp", [](NodeId self,
                 const std::string& directory) { return value_or_throw(make_tcp(own_tcp(self, directory, Proof::none))); }},
      {"tcp with TLS",
       [](NodeId self, const std::string& directory) {
         return value_or_throw(make_tcp(own_tcp(self, directory, Proof::tls)));
       }},
      {"shm+tcp on one host",
       [](NodeId self, const std::string& directory) { return shm_and_own_tcp(self, directory, Hosts::one); }},
      {"shm+tcp on two hosts",
       [](NodeId self, const std::string& directory) { return shm_and_own_tcp(self, directory, Hosts::many); }},
      {"ofi:tcp", make_tcp_or_throw},
      {"ofi:tcp with proofs", proved_ofi},
      {"ofi:net", make_net_or_throw},
      {"shm+ofi:tcp on one host",
       [](NodeId self, const std::string& directory) { return shm_and_tcp(self, directory, Hosts::one); }},
      {"shm+ofi:tcp on two hosts",
       [](NodeId self, const std::string& directory) { return shm_and_tcp(self, directory, Hosts::many); }},
      {"vq:tcp", [](NodeId self, const std::string& directory) { return make_vq_or_throw(self, directory, "tcp"); }, 4},
      {"vq:net", [](NodeId self, const std::string& directory) { return make_vq_or_throw(self, directory, "net"); }},
      {"vq:tcp with proofs", proved_vq, 4},
      {"shm+vq:tcp on one host",
       [](NodeId self, const std::string& directory) { return shm_and_vq(self, directory, "tcp", Hosts::one); }},
      {"shm+vq:tcp on two hosts",
       [](NodeId self, const std::string& directory) { return shm_and_vq(self, directory, "tcp", Hosts::many); }, 4},
      {"shm+vq:net on two hosts",
       [](NodeId self, const std::string& directory) { return shm_and_vq(self, directory, "net", Hosts::many); }},
      {"shm with delayed and torn operations, mirrored",
       [](NodeId self, const std::string& directory) {
         return faulty(self, directory,
                       {.delay_max = microseconds(100), .torn_writes = true, .line_gap_max = microseconds(20)});
       }},
      {"shm with delayed operations, mapped",
       [](NodeId self, const std::string& directory) {
         return faulty(self, directory, {.delay_max = microseconds(20), .hide_mapping = false});
       }},
  };
  if (!verbs_addresses().empty()) {
    all.push_back({"verbs", make_verbs_or_throw});
    all.push_back({"verbs with proofs", proved_verbs});
    all.push_back({"verbs without memory windows", verbs_without_windows});
    if (verbs_addresses().size() > 1) all.push_back({"shm+verbs on two hosts", shm_and_verbs});
  }
  const char* const chosen = std::getenv("SPINDRIFT_TEST_FABRIC");
  if (chosen != nullptr) std::erase_if(all, [&](const Provider& each) { return !each.name.starts_with(chosen); });
  return all;
}

}  // namespace spindrift::fabric::test
