// The words by which a participant tells of its endpoints, and its waits for what others tell.
#include <chrono>

#include <spindrift/core/log.hpp>
#include <spindrift/dds/domain_core.hpp>
#include <spindrift/dds/endpoint_word.hpp>

namespace spindrift::topics {
namespace {

/// Tells all of endpoints.
void send(Group& group, const std::vector<std::byte>& message) {
  group.subgroup(endpoints_subgroup).send(std::span<const std::byte>(message));
}

/// Waits until it is done, or nothing more comes. A participant's end is told by its poller, which a handler may hold up
/// for good; so the group is asked, too.
template <class Done>
void await(Monitor& monitor, std::unique_lock<std::mutex>& lock, const Group& group, const Done& done) {
  constexpr std::chrono::seconds ask_after(1);
  while (!monitor.changed.wait_for(lock, ask_after, done) && group.open()) {
  }
}

Error ended(const std::optional<Error>& why) {
  return Error(ErrorKind::group_closed, why ? why->to_string() : "this participant leaves, or the others go on without it");
}

}  // namespace

void DomainCore::announce(const EndpointFacts& facts) {
  check_may_wait("telling the domain of an endpoint");
  ByteWriter writer;
  writer.put(static_cast<std::uint8_t>(EndpointWord::here));
  put(writer, facts);
  send(*group_, writer.take());
  std::unique_lock lock(monitor_.mutex);
  await(monitor_, lock, *group_, [&] { return outcomes_.contains(facts.id) || failure_.has_value(); });
  const auto outcome = outcomes_.extract(facts.id);
  if (outcome.empty()) throw Exception(ended(failure_).at("topic " + facts.topic));
  if (!outcome.mapped()) return;
  throw Exception(Error(ErrorKind::refused, *outcome.mapped())
                      .at("topic " + facts.topic)
                      .fix("give the topic another name, or let all programs have it alike"));
}

void DomainCore::announce_self() {
  std::unique_lock lock(monitor_.mutex);
  // It may change while it is told.
  for (EndpointFacts facts; facts != own_;) {
    facts = own_;
    lock.unlock();
    announce(facts);
    lock.lock();
  }
}

void DomainCore::change(const EndpointQos& told) {
  bool known = false;
  {
    const std::lock_guard lock(monitor_.mutex);
    own_.qos = told;
    known = endpoints_.table().all().contains(own_.id);
  }
  if (known) announce_self();  // else it is told once this participant has all histories
}

void DomainCore::await_history(const Subgroup& subgroup) {
  check_may_wait("waiting for histories");
  std::unique_lock lock(monitor_.mutex);
  await(monitor_, lock, *group_, [&] { return histories_.complete(subgroup) || failure_.has_value(); });
  if (!histories_.complete(subgroup)) throw Exception(ended(failure_).at("subgroup " + subgroup.name()));
}

std::optional<EndpointFacts> DomainCore::await_topic(const std::string& name, std::int64_t limit_ns) {
  check_may_wait("waiting for a topic");
  const auto found = [&]() -> const EndpointFacts* {
    for (const auto& [id, facts] : endpoints_.table().all()) {
      if (facts.kind == EndpointKind::topic && facts.topic == name) return &facts;
    }
    return nullptr;
  };
  std::unique_lock lock(monitor_.mutex);
  static_cast<void>(monitor_.await(lock, limit_ns, [&] { return found() != nullptr || failure_.has_value(); }));
  if (const EndpointFacts* topic = found()) return *topic;
  if (failure_) throw Exception(Error(ErrorKind::group_closed, failure_->to_string()).at("topic " + name));
  return std::nullopt;
}

void DomainCore::withdraw(const EndpointId& id) noexcept {
  try {
    ByteWriter writer;
    writer.put(static_cast<std::uint8_t>(EndpointWord::gone), id.node, id.number, id.incarnation);
    send(*group_, writer.take());
  } catch (const Exception& thrown) {
    // The others learn of it with the view that this participant is not in.
    log::info(log::Room::dds, "nobody was told that an endpoint is gone", {{"reason", thrown.error().to_string()}});
  }
}

void DomainCore::assert_alive(const EndpointId& writer, std::uint8_t liveliness) {
  ByteWriter message;
  message.put(static_cast<std::uint8_t>(EndpointWord::alive), writer.node, writer.number, writer.incarnation, liveliness);
  send(*group_, message.take());
}

}  // namespace spindrift::topics
