// Feeds that come while others are read.
#include <spindrift/group/feeds.hpp>

#include <utility>

namespace spindrift::group {

Feeds::Feeds(const std::vector<SubgroupView>& shapes, std::uint64_t bytes_per_second) : bytes_per_second_(bytes_per_second) {
  for (const SubgroupView& shape : shapes) written_.push_back(std::make_shared<Feed>(shape, bytes_per_second));
  read_ = written_;
}

// An empty place delivers nothing, so any feed will do there.
void Feeds::add(SubgroupId id, const SubgroupView& shape) {
  const std::size_t place = id.value();
  auto feed = std::make_shared<Feed>(shape, bytes_per_second_);
  while (written_.size() <= place) written_.push_back(feed);
  written_[place] = feed;
  const std::lock_guard lock(mutex_);
  if (new_.size() <= place) new_.resize(place + 1);
  new_[place] = std::move(feed);
}

// A feed whose place is taken has no reader any more: the view before had nothing there.
void Feeds::take_new() {
  const std::lock_guard lock(mutex_);
  if (read_.size() < new_.size()) read_.resize(new_.size());
  for (std::size_t i = 0; i < new_.size(); ++i) {
    if (new_[i]) read_[i] = std::move(new_[i]);
  }
  new_.clear();
}

bool Feeds::is_there(std::size_t place, const View& view) const {
  if (read_[place] == nullptr) return false;
  return place >= view.subgroups.size() || view.subgroups[place].name == read_[place]->name();
}

std::size_t Feeds::seek(std::string_view name, const View& view) const {
  std::size_t place = 0;
  while (place < read_.size() && !(is_there(place, view) && read_[place]->name() == name)) ++place;
  return place;
}

std::string Feeds::names(const View& view) const {
  std::string names;
  for (std::size_t i = 0; i < read_.size(); ++i) {
    if (is_there(i, view)) names += (names.empty() ? "" : ", ") + read_[i]->name();
  }
  return names;
}

}  // namespace spindrift::group
