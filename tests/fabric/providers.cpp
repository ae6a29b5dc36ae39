// The providers on which the conformance tests run.
#include "harness.hpp"

#include <unistd.h>

#include <spindrift/core/fabric/fault/fault.hpp>
#include <spindrift/core/fabric/ofi/ofi.hpp>

namespace spindrift::fabric::test {
namespace {

const SystemClock real_time;

std::unique_ptr<Fabric> make_net_or_throw(NodeId self, const std::string& runtime_directory) {
  return value_or_throw(
      make_ofi({.self = self, .provider = "net", .runtime_directory = runtime_directory, .group_name = "group"}));
}

std::unique_ptr<Fabric> faulty(NodeId self, const std::string& runtime_directory, FaultPlan plan) {
  plan.seed = self.value();
  return value_or_throw(make_fault(make_shm_or_throw(self, runtime_directory), std::move(plan), real_time));
}

constexpr unsigned port_first = 10000;
constexpr unsigned ports = 20000;  // below those that the kernel gives to clients
unsigned port = port_first + static_cast<unsigned>(::getpid()) % ports;

}  // namespace

std::unique_ptr<Fabric> make_tcp_or_throw(NodeId self, const std::string& runtime_directory) {
  return value_or_throw(
      make_ofi({.self = self, .provider = "tcp", .runtime_directory = runtime_directory, .group_name = "group"}));
}

void begin_new_group() { port = port_first + (port - port_first + 1) % ports; }

Address address_of(NodeId node) {
  const auto pid = static_cast<unsigned>(::getpid());
  return {node, "127." + std::to_string(pid / 250 % 250 + 1) + "." + std::to_string(pid % 250) + "." +
                    std::to_string(node.value() + 1) + ":" + std::to_string(port)};
}

std::vector<Provider> providers() {
  using std::chrono::microseconds;
  return {
      {"shm", make_shm_or_throw},
      {"ofi:tcp", make_tcp_or_throw},
      {"ofi:net", make_net_or_throw},
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
}

}  // namespace spindrift::fabric::test
