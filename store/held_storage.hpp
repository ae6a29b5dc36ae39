// A journal's storage, for who reads it while its owner may trim it: the segments that would go first are open from the
// beginning, and stay readable as long as this object. It changes nothing. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/store/storage.hpp>

namespace spindrift::store {

class HeldStorage final : public Storage {
 public:
  /// So many segments are held, each of which takes a descriptor. An owner that trims more of them away than that while the
  /// journal is read once makes the reader miss some.
  static constexpr std::size_t held_max = 64;

  /// Holds none where the process has too few descriptors.
  explicit HeldStorage(std::unique_ptr<Storage> files);

  /// Those of now, and of the segments that are held.
  [[nodiscard]] Result<std::vector<std::string>> names() override;
  [[nodiscard]] Result<std::unique_ptr<StoredFile>> open(std::string_view name) override;
  [[nodiscard]] std::string place(std::string_view name) const override { return files_->place(name); }

  // Bugs:
  [[nodiscard]] Result<std::unique_ptr<StoredFile>> create(std::string_view name, std::uint64_t bytes) override;
  [[nodiscard]] Result<void> rename(std::string_view from, std::string_view to) override;
  [[nodiscard]] Result<void> remove(std::string_view name) override;
  [[nodiscard]] Result<void> sync_names() override;

 private:
  std::unique_ptr<Storage> files_;
  std::map<std::string, std::shared_ptr<StoredFile>, std::less<>> held_;
};

}  // namespace spindrift::store
