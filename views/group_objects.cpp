// Object channels in a Group: each takes the place of one subgroup's delivery handler.
#include <algorithm>
#include <utility>

#include <spindrift/views/group_core.hpp>

namespace spindrift {

ObjectChannel& GroupCore::attach_objects(std::string_view name, ObjectHandlers handlers) {
  Subgroup& subgroup = this->subgroup(name);
  Channel& channel = channels_[id_of(subgroup).value()];
  auto made = std::make_unique<ObjectChannel>(subgroup, std::move(handlers));
  ObjectChannel& objects = *made;
  {
    std::lock_guard lock(mutex_);
    if (channel.objects || channel.accepting.load(std::memory_order_relaxed)) {
      throw Exception(Error(ErrorKind::bad_argument, "subgroup " + subgroup.name() + " has a handler already")
                          .fix("call objects once, in place of on_delivery"));
    }
    channel.objects = std::move(made);
  }
  subgroup.on_delivery([this, &objects, &channel](std::span<const Delivery> batch) {
    objects.on_delivery(batch, channel.boundaries,
                        [this](NodeId node, const std::string& what) { member_->accuse(node, what); });
  });
  return objects;
}

ObjectChannel* GroupCore::objects_of(SubgroupId id) const noexcept {
  const Channel& channel = channels_[id.value()];
  return channel.accepting.load(std::memory_order_seq_cst) ? channel.objects.get() : nullptr;
}

// Who is new in the view and was in the one before was started anew in between: what it was sending ended with its last
// start.
void GroupCore::tell_objects_of_view(const NewView& news) {
  const bool first = !std::exchange(was_told_of_view_, true);
  const std::vector<NodeId> joined = first ? std::vector{self()} : news.joined;
  for (std::uint32_t s = 0; s < news.view.subgroups.size(); ++s) {
    const ObjectBoundary& boundary =
        channels_[s].boundaries.emplace_back(ObjectBoundary::of(news.view, SubgroupId(s), self(), joined));
    const bool sends = std::find(boundary.senders.begin(), boundary.senders.end(), self()) != boundary.senders.end();
    if (ObjectChannel* const objects = objects_of(SubgroupId(s)); objects != nullptr && !sends) objects->on_dropped();
  }
  tell_objects_of_boundaries();
}

// A boundary comes behind the last delivery of the views before it, and that may still wait for a state or for a handler.
void GroupCore::tell_objects_of_boundaries() {
  boundaries_wait_ = false;
  for (std::uint32_t s = 0; s < member_->subgroup_count(); ++s) {
    std::deque<ObjectBoundary>& boundaries = channels_[s].boundaries;
    if (boundaries.empty()) continue;
    if (!member_->passes_on(SubgroupId(s))) {
      boundaries_wait_ = true;
      continue;
    }
    if (ObjectChannel* const objects = objects_of(SubgroupId(s))) objects->on_views(boundaries, boundaries.back().view);
    boundaries.clear();  // without a handler there is nothing under way
  }
}

}  // namespace spindrift
