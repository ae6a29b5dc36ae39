// Files of a journal that are read, with progress on a terminal where that takes more than a second.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <spindrift/core/clock.hpp>
#include <spindrift/store/forwarding_storage.hpp>

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
class WatchedStorage final : public store::ForwardingStorage {
 public:
  explicit WatchedStorage(std::unique_ptr<store::Storage> files) : ForwardingStorage(std::move(files)) {}
  /// Null: nobody is told any more. It outlives this, or is taken back.
  void tell(ReadProgress* progress) noexcept { progress_ = progress; }

  [[nodiscard]] Result<std::unique_ptr<store::StoredFile>> open(std::string_view name) override;

 private:
  ReadProgress* progress_ = nullptr;
};

}  // namespace spindrift::tools
