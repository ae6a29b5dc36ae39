// A segment is read at once, so that it is a step of the bar.
#include "read_progress.hpp"

#include <unistd.h>

#include <chrono>
#include <utility>

#include <spindrift/core/check.hpp>

namespace spindrift::tools {
namespace {

constexpr std::chrono::seconds before_drawing(1);

class WatchedFile final : public store::StoredFile {
 public:
  WatchedFile(std::unique_ptr<store::StoredFile> file, ReadProgress& progress)
      : file_(std::move(file)), progress_(progress) {}

  [[nodiscard]] std::uint64_t bytes() const noexcept override { return file_->bytes(); }
  [[nodiscard]] Result<void> read(std::uint64_t at, std::span<std::byte> to) override {
    auto done = file_->read(at, to);
    progress_.add(to.size());
    return done;
  }
  [[nodiscard]] Result<void> write(std::uint64_t at, std::span<const std::byte> from) override {
    return file_->write(at, from);
  }
  [[nodiscard]] Result<void> write_durably(std::uint64_t at, std::span<const std::byte> from) override {
    return file_->write_durably(at, from);
  }
  [[nodiscard]] Result<void> begin_write(std::uint64_t at, std::span<const std::byte> from) override {
    return file_->begin_write(at, from);
  }
  [[nodiscard]] Result<void> finish_write() override { return file_->finish_write(); }
  [[nodiscard]] Result<void> sync() override { return file_->sync(); }

 private:
  std::unique_ptr<store::StoredFile> file_;
  ReadProgress& progress_;
};

}  // namespace

ReadProgress::ReadProgress(std::string title, std::uint64_t total)
    : bar_(std::move(title), total, ::isatty(STDERR_FILENO) != 1) {}

void ReadProgress::add(std::uint64_t bytes) {
  done_ += bytes;
  const Time now = clock_.now();
  if (!finished_ && now - begin_ >= before_drawing) bar_.show(done_, now);
}

void ReadProgress::finish() {
  finished_ = true;
  bar_.finish();
}

Result<std::unique_ptr<store::StoredFile>> WatchedStorage::open(std::string_view name) {
  auto file = files_->open(name);
  if (!file || progress_ == nullptr) return file;
  return std::unique_ptr<store::StoredFile>(std::make_unique<WatchedFile>(std::move(file).value(), *progress_));
}

Result<std::unique_ptr<store::StoredFile>> WatchedStorage::create(std::string_view name, std::uint64_t bytes) {
  return files_->create(name, bytes);
}

Result<void> WatchedStorage::rename(std::string_view from, std::string_view to) { return files_->rename(from, to); }

Result<void> WatchedStorage::remove(std::string_view name) { return files_->remove(name); }

Result<void> WatchedStorage::sync_names() { return files_->sync_names(); }

}  // namespace spindrift::tools
