// Replicated objects in a Group: each takes the place of one subgroup's handlers.
#include <istream>
#include <iterator>
#include <ostream>

#include <spindrift/group/group_core.hpp>

namespace spindrift {

void GroupCore::Replica::send_ordered(std::span<const std::byte> message) {
  core_.channels_[id_.value()].handle->send(message);
}

void GroupCore::Replica::send_private(NodeId to, std::span<const std::byte> message) {
  core_.send_letter(to, id_.value() + 1, message);
}

NodeId GroupCore::Replica::self() const noexcept { return core_.self(); }
bool GroupCore::Replica::on_poller_thread() const noexcept { return core_.on_poller_thread(); }

ReplicaBase& GroupCore::attach_replica(std::string_view name, const ReplicaMaker& make) {
  Subgroup& subgroup = this->subgroup(name);
  const SubgroupId id = id_of(subgroup);
  auto replica = std::make_unique<Replica>(*this, id);
  replica->object = make(*replica);
  Replica& kept = *replica;
  ReplicaBase& object = *kept.object;
  subgroup.on_state(
      [&object](std::ostream& to) {
        const std::vector<std::byte> state = value_or_throw(object.save());
        to.write(reinterpret_cast<const char*>(state.data()), static_cast<std::streamsize>(state.size()));
      },
      [&object](std::istream& from) {
        const std::string state{std::istreambuf_iterator<char>(from), {}};
        value_or_throw(object.load(std::as_bytes(std::span(state))));
      });
  {
    std::lock_guard lock(mutex_);
    object.begin(view_.subgroup(id).members);
    replicas_.push_back(std::move(replica));
    has_replicas_.store(true, std::memory_order_seq_cst);
    if (failure_) object.on_end(*failure_);
  }
  subgroup.on_delivery([this, &object](std::span<const Delivery> batch) { punish(object.on_delivery(batch)); });
  return object;
}

// On the poller thread. The list only grows; the mutex guards its growing.
void GroupCore::for_each_replica(const std::function<void(Replica&)>& what) {
  std::vector<Replica*> all;
  {
    std::lock_guard lock(mutex_);
    for (const auto& replica : replicas_) all.push_back(replica.get());
  }
  for (Replica* replica : all) what(*replica);
}

void GroupCore::tell_replicas_of_view(const View& view) {
  for_each_replica([&](Replica& replica) {
    replica.object->on_view(view.subgroup(replica.id()).members);
    replica.stable = 0;
  });
}

void GroupCore::tell_replicas_of_end() {
  const std::optional<Error>& failure = member_->failure();
  const Error why = failure ? *failure : Error(ErrorKind::group_closed, own_name() + " has left the group");
  for_each_replica([&](Replica& replica) { replica.object->on_end(why); });
}

void GroupCore::tell_replicas_what_is_stable() {
  views::Epoch* const epoch = member_->epoch();
  if (epoch == nullptr) return;
  for_each_replica([&](Replica& replica) {
    const smc::Multicast* const multicast = epoch->multicast(replica.id());
    if (multicast == nullptr || multicast->delivered_everywhere() <= replica.stable) return;
    replica.stable = multicast->delivered_everywhere();
    replica.object->on_stable(SequenceNumber(replica.stable));
  });
}

void GroupCore::take_replica_letter(NodeId from, std::uint64_t tag, std::span<const std::byte> message) {
  for_each_replica([&](Replica& replica) {
    if (replica.id().value() + 1 == tag) punish(replica.object->on_private(from, message));
  });
}

void GroupCore::punish(const std::vector<ReplicaFault>& faults) {
  for (const ReplicaFault& fault : faults) member_->accuse(fault.node, fault.what);
}

}  // namespace spindrift
