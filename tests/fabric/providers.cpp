// The providers on which the conformance tests run.
#include "harness.hpp"

#include <spindrift/core/fabric/fault/fault.hpp>

namespace spindrift::fabric::test {
namespace {

const SystemClock real_time;

std::unique_ptr<Fabric> faulty(NodeId self, const std::string& runtime_directory, FaultPlan plan) {
  plan.seed = self.value();
  return value_or_throw(make_fault(make_shm_or_throw(self, runtime_directory), std::move(plan), real_time));
}

}  // namespace

std::vector<Provider> providers() {
  using std::chrono::microseconds;
  return {
      {"shm", make_shm_or_throw},
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
