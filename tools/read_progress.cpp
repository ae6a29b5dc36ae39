// A segment is read at once, so that it is a step of the bar.
#include "read_progress.hpp"

#include <unistd.h>

#include <chrono>
#include <utility>

#include <spindrift/core/check.hpp>

namespace spindrift::tools {
namespace {

constexpr std::chrono::seconds before_drawing(1);

class WatchedFile final : public store::ForwardingFile {
 public:
  WatchedFile(std::unique_ptr<store::StoredFile> file, ReadProgress& progress)
      : ForwardingFile(std::move(file)), progress_(progress) {}

  [[nodiscard]] Result<void> read(std::uint64_t at, std::span<std::byte> to) override {
    auto done = ForwardingFile::read(at, to);
    progress_.add(to.size());
    return done;
  }

 private:
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
  auto file = ForwardingStorage::open(name);
  if (!file || progress_ == nullptr) return file;
  return std::unique_ptr<store::StoredFile>(std::make_unique<WatchedFile>(std::move(file).value(), *progress_));
}

}  // namespace spindrift::tools
