// Files of a journal that are read, with progress on a terminal where that takes more than a second.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/store/storage.hpp>

#include "progress_bar.hpp"

namespace spindrift::tools {

/// The bytes that were read of those that there are to read. Draws nothing in the first second, and on no file.
class ReadProgress {
 public:
  ReadProgress(std::string title, std::uint64_t total);
  ~ReadProgress() { finish(); }
  ReadProgress(const ReadProgress&) = delete;
  ReadProgress& operator=(const ReadProgress&) = delete;

  void add(std::uint64_t bytes);
  /// Ends the line; nothing is drawn from now on.
  void finish();

 private:
  SystemClock clock_;
  Time begin_ = clock_.now();
  ProgressBar bar_;
  std::uint64_t done_ = 0;
  bool finished_ = false;
};

/// The files of another storage, whose reads are told; changes nothing. What it opened does not outlive `progress`.
class WatchedStorage final : public store::Storage {
 public:
  explicit WatchedStorage(std::unique_ptr<store::Storage> files) : files_(std::move(files)) {}
  /// Null: nobody is told any more. It outlives this, or is taken back.
  void tell(ReadProgress* progress) noexcept { progress_ = progress; }

  [[nodiscard]] Result<std::vector<std::string>> names() override { return files_->names(); }
  [[nodiscard]] Result<std::unique_ptr<store::StoredFile>> open(std::string_view name) override;
  [[nodiscard]] std::string place(std::string_view name) const override { return files_->place(name); }

  // Bugs:
  [[nodiscard]] Result<std::unique_ptr<store::StoredFile>> create(std::string_view name, std::uint64_t bytes) override;
  [[nodiscard]] Result<void> rename(std::string_view from, std::string_view to) override;
  [[nodiscard]] Result<void> remove(std::string_view name) override;
  [[nodiscard]] Result<void> sync_names() override;

 private:
  std::unique_ptr<store::Storage> files_;
  ReadProgress* progress_ = nullptr;
};

}  // namespace spindrift::tools
