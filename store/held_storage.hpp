// A journal's storage, for who reads it while its owner may trim it: the segments that would go first are open from the
// beginning, and stay readable as long as this object. It changes nothing. Not thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/store/forwarding_storage.hpp>

namespace spindrift::store {

class HeldStorage final : public ForwardingStorage {
 public:
  /// So many segments are held, each of which takes a descriptor. An owner that trims more of them away than that while the
  /// journal is read once makes the reader miss some.
  static constexpr std::size_t held_max = 64;

  /// Holds none where the process has too few descriptors.
  explicit HeldStorage(std::unique_ptr<Storage> files);

  /// Those of now, and of the segments that are held.
  [[nodiscard]] Result<std::vector<std::string>> names() override;
  [[nodiscard]] Result<std::unique_ptr<StoredFile>> open(std::string_view name) override;

 private:
  std::map<std::string, std::shared_ptr<StoredFile>, std::less<>> held_;
};

}  // namespace spindrift::store
