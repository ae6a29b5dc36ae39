// Attaching replicated objects, and telling them what happens to their group.
#include <spindrift/group/replicas.hpp>

#include <algorithm>
#include <istream>
#include <iterator>
#include <ostream>
#include <string>
#include <utility>

#include <spindrift/group/object_checkpoints.hpp>
#include <spindrift/group/private_messages.hpp>

namespace spindrift::group {
namespace {

/// A pass of the poller is longer by so much at most, and one call, while an object is made of its log: the other members
/// wait for what this one says in the next.
constexpr Duration replay_at_once = std::chrono::milliseconds(1);

/// The members of the view before whose process is another now or is gone, and those that get the state in this one.
std::vector<NodeId> begins_anew(const NewView& news, SubgroupId id, const views::RankSet& loaded) {
  std::vector<NodeId> anew = news.left;
  for (const Removal& removal : news.failed) anew.push_back(removal.node);
  const views::TransferPlan plan = views::transfer_plan(news.view, id, loaded);
  anew.insert(anew.end(), plan.newcomers.begin(), plan.newcomers.end());
  return anew;
}

/// Its log begins with what a copy of it saves.
Error no_checkpoints(const Channel& subgroup, const std::string& why) {
  return Error(ErrorKind::bad_argument, "subgroup " + subgroup.name() + " keeps the last messages of its log alone, and its "
                                        "object, which begins with a checkpoint then, " + why)
      .at("the layout's entry of " + subgroup.name())
      .fix("give the type `template <class Archive> void serialize(Archive&)`, and let the arguments of replicated() be "
           "copied; or remove \"history\" there, at all members");
}

}  // namespace

std::size_t replay_for(Duration most, ReplicaBase& object, std::span<const Delivery> batch, const Clock& clock) {
  const Time end = clock.now() + most;
  std::size_t taken = 0;
  while (taken < batch.size() && (taken == 0 || clock.now() < end)) object.on_replay(batch.subspan(taken++, 1));
  return taken;
}

struct Replicas::Replica {
  SubgroupId id;
  const Channel& subgroup;
  std::unique_ptr<ReplicaChannel> channel;
  std::unique_ptr<ReplicaBase> object;
  bool loading;
  std::uint64_t stable = 0;  ///< as last told; the poller's
  std::unique_ptr<ObjectCheckpoints> checkpoints{};  ///< the same; in a logged subgroup

  [[nodiscard]] bool loads(const views::Member& member) const {
    const LoggedSubgroups* const logged = subgroup.environment().logged.get();
    const bool replays = logged != nullptr && logged->at_work(id);
    return replays || member.deliveries().loading(id) || subgroup.state_work().loading();
  }
};

Replicas::Replicas(PrivatePost& post) : post_(post) {}
Replicas::~Replicas() = default;

void Replicas::end_checkpoints() noexcept {
  for (const auto& each : replicas_) each->checkpoints.reset();
}

ReplicaBase& Replicas::attach(Channel& subgroup, std::unique_ptr<ReplicaChannel> channel, const Maker& make) {
  const SubgroupId id = subgroup.id();
  if (subgroup.description().mode != DeliveryMode::ordered) {
    throw Exception(Error(ErrorKind::bad_argument, "subgroup " + subgroup.name() + " carries no replicated object: it is "
                                                   "unordered, and the replicas would come to differ")
                        .fix("use a subgroup in ordered mode"));
  }
  auto object_made = make.once(*channel);
  ReplicaBase& object = *object_made;
  require_way_in(object, make, subgroup);
  subgroup.set_replica(
      [&object](std::ostream& to) { value_or_throw(object.save(to)); },
      [&object](std::istream& from) {
        const std::string state{std::istreambuf_iterator<char>(from), {}};
        const auto loaded = object.load(std::as_bytes(std::span(state)));
        if (!loaded) object.give_up(loaded.error());
      });
  {
    std::lock_guard lock(mutex_);
    object.begin(members_[id.value()], loading_[id.value()]);
    replicas_.push_back(
        std::make_unique<Replica>(Replica{id, subgroup, std::move(channel), std::move(object_made), loading_[id.value()]}));
    if (LoggedSubgroups* const logged = subgroup.environment().logged.get();
        logged != nullptr && subgroup.description().storage == SubgroupStorage::logged) {
      Replica& replica = *replicas_.back();
      const auto wake = [&fabric = *subgroup.environment().fabric] { fabric.wake(); };
      const ObjectCheckpoints::Surroundings around{*logged, object, *replica.channel, wake};
      replica.checkpoints = std::make_unique<ObjectCheckpoints>(id, around, object.untransferable() ? nullptr : make.again);
    }
    any_.store(true, std::memory_order_seq_cst);
    if (ended_) object.on_end(*ended_);
  }
  subgroup.set_handler([&object](std::span<const Delivery> batch) { object.on_delivery(batch); }, HandlerThread::shared);
  return object;
}

// Thrown while nothing has been attached, so that the program may leave in order. From a log that is not bounded any type
// comes.
void Replicas::require_way_in(const ReplicaBase& object, const Maker& make, const Channel& subgroup) const {
  const SubgroupId id = subgroup.id();
  const std::optional<Error> untransferable = object.untransferable();
  if (const SubgroupView shape = subgroup.description(); shape.storage == SubgroupStorage::logged) {
    if (!shape.history.any()) return;
    if (untransferable) throw Exception(no_checkpoints(subgroup, "cannot be saved").because(*untransferable));
    if (!make.again) throw Exception(no_checkpoints(subgroup, "cannot be made a second time"));
    return;
  }
  std::lock_guard lock(mutex_);
  if (untransferable && loading_[id.value()]) throw Exception(*untransferable);
}

std::vector<Replicas::Replica*> Replicas::all() const {
  std::lock_guard lock(mutex_);
  std::vector<Replica*> all;
  for (const auto& replica : replicas_) all.push_back(replica.get());
  return all;
}

replicated::RelayedObject* Replicas::offered(std::string_view subgroup) const {
  for (Replica* const replica : all()) {
    const bool named = !replica->subgroup.dropped() && replica->subgroup.name() == subgroup;
    if (named && replica->object->relayed().offered()) return &replica->object->relayed();
  }
  return nullptr;
}

// A replica that is attached later begins with this view.
void Replicas::on_view(const NewView& news, const views::Member& member, const LoggedSubgroups* logged) {
  const View& view = news.view;
  std::vector<std::vector<NodeId>> anew;
  {
    std::lock_guard lock(mutex_);
    members_.resize(view.subgroups.size());
    loading_.clear();
    for (std::uint32_t s = 0; s < view.subgroups.size(); ++s) {
      const SubgroupId id(s);
      loading_.push_back(member.deliveries().loading(id) || (logged != nullptr && logged->at_work(id)));
      anew.push_back(begins_anew(news, id, member.epoch()->loaded()[s]));
      members_[s].begin_view(view.id, view.subgroup(id).members, anew[s]);
    }
  }
  for (Replica* const replica : all()) {
    const std::uint32_t s = replica->id.value();
    replica->loading = replica->loads(member);
    replica->object->on_view(members_[s], replica->loading, anew[s]);
    replica->stable = 0;
  }
}

bool Replicas::begins(SubgroupId id) {
  for (Replica* const replica : all()) {
    if (replica->id == id && replica->checkpoints) return replica->checkpoints->begins();
  }
  return true;
}

LoggedSubgroups::Use Replicas::use_of(SubgroupId id) const {
  const bool carries = std::ranges::any_of(all(), [id](const Replica* replica) { return replica->id == id; });
  return carries ? LoggedSubgroups::Use::object : LoggedSubgroups::Use::messages;
}

std::optional<std::size_t> Replicas::replay(SubgroupId id, std::span<const Delivery> batch, const Clock& clock) {
  for (Replica* const replica : all()) {
    if (replica->id == id) return replay_for(replay_at_once, *replica->object, batch, clock);
  }
  return std::nullopt;
}

void Replicas::on_durable(SubgroupId id, std::uint64_t version) {
  for (Replica* const replica : all()) {
    if (replica->id != id) continue;
    replica->object->on_durable(version);
    if (replica->checkpoints) replica->checkpoints->on_durable(version);
  }
}

// A member that cannot take the state leaves in order: one that failed would cost a small group its majority.
void Replicas::on_pass(const views::Member& member) {
  for (Replica* const replica : all()) {
    if (replica->checkpoints) replica->checkpoints->step();
    if (!refusal_) refusal_ = replica->object->state().refusal();
    if (replica->loading && !replica->loads(member)) {
      replica->loading = false;
      replica->object->on_loaded();
    }
    const smc::Multicast* const multicast = member.epoch()->multicast(replica->id);
    if (multicast == nullptr || multicast->delivered_everywhere() <= replica->stable) continue;
    replica->stable = multicast->delivered_everywhere();
    replica->object->on_stable(SequenceNumber(replica->stable));
  }
}

void Replicas::on_private(std::uint64_t tag, NodeId from, std::span<const std::byte> message) {
  if (const auto queried = PrivateMessages::queried(tag)) return on_query(*queried, from, message);
  for (Replica* const replica : all()) {
    if (PrivateMessages::of_replica(replica->id) == tag) replica->object->on_private(from, message);
  }
}

void Replicas::answer_waiting() {
  for (Replica* const replica : all()) replica->object->answer_waiting();
}

// The caller waits for an answer also where no object is.
void Replicas::on_query(SubgroupId id, NodeId from, std::span<const std::byte> message) {
  for (Replica* const replica : all()) {
    if (replica->id == id) return replica->object->on_query(from, message);
  }
  const auto reply = ReplicaBase::refusal(message, replicated::AnswerOutcome::no_object);
  if (reply) post_.send_answer(from, PrivateMessages::of_replica(id), *reply);
}

void Replicas::on_end(const Error& why) {
  {
    std::lock_guard lock(mutex_);
    ended_ = why;
  }
  for (Replica* const replica : all()) replica->object->on_end(why);
}

}  // namespace spindrift::group
