// Each promise begins without files of the one before: a crash may have brought some back.
#include <spindrift/store/conformance.hpp>

#include <spindrift/store/conformance_trial.hpp>

namespace spindrift::store {
namespace {

Result<bool> holds(const StoragePromise& promise, Trial& trial) {
  SPINDRIFT_TRY(trial.clear());
  return promise.holds(trial);
}

}  // namespace

std::vector<std::string> violations_of_contract(CrashableStorage& storage) {
  Trial trial(storage);
  std::vector<std::string> violations;
  for (const auto& promises : {promises_of_contents(), promises_of_names()}) {
    for (const StoragePromise& promise : promises) {
      const auto held = holds(promise, trial);
      if (!held) violations.push_back(std::string(promise.sentence) + ": " + held.error().to_string());
      if (held && !*held) violations.emplace_back(promise.sentence);
    }
  }
  if (const auto cleared = trial.clear(); !cleared)
    violations.push_back("a file of a trial cannot be removed: " + cleared.error().to_string());
  return violations;
}

}  // namespace spindrift::store
