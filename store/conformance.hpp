// The promises of storage.hpp as a suite, for those who write a Storage of their own: each promise is tried, and one that
// does not hold is named.
#pragma once

#include <string>
#include <vector>

#include <spindrift/store/storage.hpp>

namespace spindrift::store {

/// A storage under test, whose power can be cut.
class CrashableStorage {
 public:
  virtual ~CrashableStorage() = default;
  /// The storage as it is now; valid until `crash`.
  [[nodiscard]] virtual Storage& storage() = 0;
  /// As if the power had been cut: whatever is not durable by the contract of Storage may be gone, and the more of it is
  /// gone, the more the suite sees. Files that are open have been given back before. Afterwards `storage` is a new object on
  /// what is left. Throws if it cannot be done.
  virtual void crash() = 0;
};

/// One sentence for each promise of Storage and StoredFile that does not hold, with the error if there was one; none: all
/// hold. The suite makes files of a few blocks, whose names begin with "trial-", and removes them. It makes the same calls
/// each time, and nothing depends on what a crash takes of that which it may take. What a full disk does is not tried.
[[nodiscard]] std::vector<std::string> violations_of_contract(CrashableStorage& storage);

}  // namespace spindrift::store
