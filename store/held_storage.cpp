// The oldest segment is the first to be trimmed away: whoever opens the newer ones first has no gap among those it got.
#include <spindrift/store/held_storage.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

#include <spindrift/store/format.hpp>

namespace spindrift::store {
namespace {

class HeldFile final : public StoredFile {
 public:
  explicit HeldFile(std::shared_ptr<StoredFile> file) : file_(std::move(file)) {}
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return file_->bytes(); }
  [[nodiscard]] Result<void> read(std::uint64_t at, std::span<std::byte> to) override { return file_->read(at, to); }

  // Bugs:
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
  std::shared_ptr<StoredFile> file_;
};

}  // namespace

HeldStorage::HeldStorage(std::unique_ptr<Storage> files) : files_(std::move(files)) {
  const auto names = files_->names();
  if (!names) return;
  std::vector<std::string> oldest;
  const auto is_segment = [](const std::string& name) { return segment_number(name).has_value(); };
  std::ranges::copy_if(*names, std::back_inserter(oldest), is_segment);
  oldest.resize(std::min(oldest.size(), held_max));
  std::ranges::reverse(oldest);
  for (const std::string& name : oldest) {
    auto file = files_->open(name);
    // The reader is told by name of a file that no storage opens, which may be damage.
    if (!file && file.error().kind() == ErrorKind::resource) held_.clear();
    if (!file) return;
    held_.emplace(name, std::move(file).value());
  }
}

Result<std::vector<std::string>> HeldStorage::names() {
  SPINDRIFT_TRY_ASSIGN(auto now, files_->names());
  std::vector<std::string> all;
  std::vector<std::string> held;
  for (const auto& each : held_) held.push_back(each.first);
  std::ranges::set_union(now, held, std::back_inserter(all));
  return all;
}

Result<std::unique_ptr<StoredFile>> HeldStorage::open(std::string_view name) {
  const auto held = held_.find(name);
  if (held == held_.end()) return files_->open(name);
  return std::unique_ptr<StoredFile>(std::make_unique<HeldFile>(held->second));
}

Result<std::unique_ptr<StoredFile>> HeldStorage::create(std::string_view name, std::uint64_t bytes) {
  return files_->create(name, bytes);
}
Result<void> HeldStorage::rename(std::string_view from, std::string_view to) { return files_->rename(from, to); }
Result<void> HeldStorage::remove(std::string_view name) { return files_->remove(name); }
Result<void> HeldStorage::sync_names() { return files_->sync_names(); }

}  // namespace spindrift::store
