// Finding channels, and following the subgroups of views.
#include <spindrift/group/channels.hpp>

#include <algorithm>
#include <utility>

namespace spindrift::group {

void Channels::add(Environment& environment, std::shared_ptr<views::SendGate> gate, SubgroupId id,
                   const SubgroupView& shape) {
  const std::lock_guard lock(mutex_);
  channels_.push_back(std::make_unique<Channel>(environment, std::move(gate), id, shape));
}

std::vector<SubgroupId> Channels::on_view(Environment& environment, const views::Member& member, const View& view,
                                          CounterBlock& counters) {
  std::vector<SubgroupId> created;
  for (auto s = static_cast<std::uint32_t>(view.layout_count()); s < view.subgroups.size(); ++s) {
    const SubgroupView& shape = view.subgroups[s];
    const bool known = s < channels_.size();
    if (known && shape.dropped == channels_[s]->dropped()) continue;
    if (known && shape.dropped) {
      channels_[s]->drop();
      continue;
    }
    const Counter discarded = shape.dropped ? Counter() : counters.counter("subgroup." + shape.name + ".discarded");
    auto made = std::make_unique<Channel>(environment, member.gate(SubgroupId(s)), SubgroupId(s), shape,
                                          Channel::Origin::added, discarded);
    if (shape.dropped) made->drop();
    if (!shape.dropped) created.emplace_back(s);
    const std::lock_guard lock(mutex_);
    if (known) {
      std::erase(turns_, channels_[s].get());
      dropped_.push_back(std::exchange(channels_[s], std::move(made)));
    } else {
      channels_.push_back(std::move(made));
    }
  }
  return created;
}

Channel& Channels::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  std::string known;
  for (const auto& channel : channels_) {
    if (channel->dropped()) continue;
    if (channel->name() == name) return *channel;
    known += (known.empty() ? "" : ", ") + channel->name();
  }
  throw Exception(Error(ErrorKind::bad_argument, "no subgroup is named \"" + std::string(name) + "\"")
                      .fix("use one of: " + known));
}

std::optional<SubgroupId> Channels::seek(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  for (const auto& channel : channels_) {
    if (!channel->dropped() && channel->name() == name) return channel->id();
  }
  return std::nullopt;
}

std::vector<std::string> Channels::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& channel : channels_) {
    if (!channel->dropped()) names.push_back(channel->name());
  }
  return names;
}

std::vector<Channel*> Channels::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<Channel*> all;
  for (const auto& channel : channels_) all.push_back(channel.get());
  return all;
}

// A member that fails while it begins a view tells of space in subgroups of which nobody has heard yet.
void Channels::on_space(SubgroupId id) {
  if (id.value() >= channels_.size()) return;
  Channel& channel = (*this)[id];
  if (channel.on_space() && std::find(turns_.begin(), turns_.end(), &channel) == turns_.end()) turns_.push_back(&channel);
}

Time Channels::offer_space(Time now) {
  Time next = never;
  std::erase_if(turns_, [&](Channel* channel) {
    const Time next_of_channel = channel->offer_space(now);
    next = std::min(next, next_of_channel);
    return next_of_channel == never;
  });
  return next;
}

}  // namespace spindrift::group
