// Object channels in a Group: each takes the place of one subgroup's delivery handler.
#include <utility>

#include <spindrift/group/group_core.hpp>

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
  subgroup.on_delivery([this, &objects](std::span<const Delivery> batch) {
    objects.on_delivery(batch, [this](NodeId node, const std::string& what) { member_->accuse(node, what); });
  });
  return objects;
}

ObjectChannel* GroupCore::objects_of(SubgroupId id) const noexcept {
  const Channel& channel = channels_[id.value()];
  return channel.accepting.load(std::memory_order_seq_cst) ? channel.objects.get() : nullptr;
}

// Senders hear at once that the others end their objects, and so do not go on with them when they are senders again.
void GroupCore::tell_objects_of_view(const View& view) {
  for (std::uint32_t s = 0; s < view.subgroups.size(); ++s) {
    ObjectChannel* const objects = objects_of(SubgroupId(s));
    if (objects != nullptr && !ObjectBoundary::of(view, SubgroupId(s), self(), {}).lets_go_on(self())) objects->on_dropped();
  }
}

// Without a handler there is nothing under way.
void GroupCore::on_boundary(SubgroupId id, const ObjectBoundary& boundary) {
  if (ObjectChannel* const objects = objects_of(id)) objects->on_boundary(boundary);
}

}  // namespace spindrift
