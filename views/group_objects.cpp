// Object channels in a Group: each takes the place of one subgroup's delivery handler.
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
  subgroup.on_delivery([this, &objects](std::span<const Delivery> batch) {
    objects.on_delivery(batch, [this](NodeId node, const std::string& what) { member_->accuse(node, what); });
  });
  return objects;
}

// Before a subgroup accepts deliveries nothing is under way in it.
ObjectChannel* GroupCore::objects_of(SubgroupId id) const noexcept {
  const Channel& channel = channels_[id.value()];
  return channel.accepting.load(std::memory_order_seq_cst) ? channel.objects.get() : nullptr;
}

// Who is new in the view and was in the one before was started anew in between: what it was sending ended with its last
// start.
void GroupCore::tell_objects_of_view(const NewView& news) {
  for (std::uint32_t s = 0; s < news.view.subgroups.size(); ++s) {
    if (ObjectChannel* const objects = objects_of(SubgroupId(s))) objects->on_view(news.view.subgroups[s], news.joined);
  }
}

}  // namespace spindrift
