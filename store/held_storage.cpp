// The oldest segment is the first to be trimmed away: whoever opens the newer ones first has no gap among those it got.
#include <spindrift/store/held_storage.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

#include <spindrift/store/format.hpp>

namespace spindrift::store {

HeldStorage::HeldStorage(std::unique_ptr<Storage> files) : ForwardingStorage(std::move(files)) {
  const auto names = ForwardingStorage::names();
  if (!names) return;
  std::vector<std::string> oldest;
  const auto is_segment = [](const std::string& name) { return segment_number(name).has_value(); };
  std::ranges::copy_if(*names, std::back_inserter(oldest), is_segment);
  oldest.resize(std::min(oldest.size(), held_max));
  std::ranges::reverse(oldest);
  for (const std::string& name : oldest) {
    auto file = ForwardingStorage::open(name);
    // The reader is told by name of a file that no storage opens.
    if (!file && file.error().kind() == ErrorKind::resource) held_.clear();
    if (!file) return;
    held_.emplace(name, std::move(file).value());
  }
}

Result<std::vector<std::string>> HeldStorage::names() {
  SPINDRIFT_TRY_ASSIGN(auto now, ForwardingStorage::names());
  std::vector<std::string> all;
  std::vector<std::string> held;
  for (const auto& each : held_) held.push_back(each.first);
  std::ranges::set_union(now, held, std::back_inserter(all));
  return all;
}

Result<std::unique_ptr<StoredFile>> HeldStorage::open(std::string_view name) {
  const auto held = held_.find(name);
  if (held == held_.end()) return ForwardingStorage::open(name);
  return std::unique_ptr<StoredFile>(std::make_unique<ForwardingFile>(held->second));
}

}  // namespace spindrift::store
