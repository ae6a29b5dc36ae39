// A writer's sends, its instances, and the readers that match it.
#include <spindrift/dds/writer_core.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include <spindrift/core/log.hpp>

namespace spindrift::topics {

using dds::core::InstanceHandle;

namespace {

constexpr std::int64_t ending_ns_max = 1'000'000'000;

std::chrono::nanoseconds until(std::int64_t end_ns) {
  return std::chrono::nanoseconds(std::max<std::int64_t>(end_ns - steady_ns(), 0));
}
/// The participants that hold up a write, in words.
std::string who_takes_no_more(const Subgroup& subgroup, std::uint32_t self) {
  std::vector<NodeId> nodes;
  try {
    nodes = subgroup.awaited();
  } catch (const Exception& thrown) {
    return "participants take no more of it now, and who is not known: " + thrown.error().message();
  }
  if (nodes.empty()) return "there was no room in time, though by now all participants have taken what was written";
  std::string words;
  for (const NodeId node : nodes) {
    words += (words.empty() ? "the participant of node " : ", of node ") + std::to_string(node.value());
    if (node.value() == self) words += ", this one,";
  }
  return words + (nodes.size() == 1 ? " takes" : " take") + " no more of it now, as a reader there without room does not";
}
/// False: there was no room within the time.
template <class Build>
bool sent_within(Subgroup& subgroup, std::int64_t limit_ns, std::uint64_t bytes, const Build& build) {
  try {
    if (limit_ns != endless) return subgroup.send_within(std::chrono::nanoseconds(limit_ns), bytes, build);
    subgroup.send(bytes, build);
    return true;
  } catch (const Exception& thrown) {
    if (thrown.error().kind() != ErrorKind::would_block) throw;
    throw Exception(Error(ErrorKind::would_block, "there is no room for it in subgroup " + subgroup.name() +
                                                      " now, and a listener on the poller cannot wait for what its own "
                                                      "return brings")
                        .fix("write it on another thread, or configure [SPINDRIFT] dds_listeners = thread"));
  }
}
std::int64_t end_of(std::int64_t limit_ns) {
  const std::int64_t now = steady_ns();
  return limit_ns >= endless - now ? endless : now + limit_ns;
}

}  // namespace

WriterCore::WriterCore(Monitor& monitor, Subgroup& subgroup, EndpointFacts facts, const TypeSupport& type,
                       const WriterRules& rules, std::shared_ptr<StatusBoard> board)
    : monitor_(monitor),
      subgroup_(subgroup),
      facts_(std::move(facts)),
      topic_(digest_of(facts_.topic).words[0]),
      type_(type),
      board_(std::move(board)),
      times_{facts_.qos.times.deadline, steady_ns()},
      rules_(rules),
      qos_(facts_.qos) {}

void WriterCore::write(std::span<const std::byte> bytes, const Digest& key, SampleKind kind, std::int64_t source_timestamp) {
  const std::lock_guard lock(sending_);
  send(bytes, key, kind, source_timestamp, rules_.blocking_ns_max);
  note_instance(bytes, key, kind);
  assert_alive();
}

void WriterCore::check_size(std::uint64_t message_bytes) const {
  const std::uint64_t most = subgroup_.message_bytes_max();
  if (message_bytes <= most) return;
  throw Exception(Error(ErrorKind::bad_argument, "a sample of " + std::to_string(message_bytes - sizeof(SampleEnvelope)) +
                                                     " bytes is larger than the " +
                                                     std::to_string(most - sizeof(SampleEnvelope)) + " that it takes")
                      .at("topic " + facts_.topic)
                      .fix("raise max_smc_payload_size in [SUBGROUP/DEFAULT] of the domain's file, or "
                           "SPINDRIFT_SUBGROUP_DEFAULT_MAX_SMC_PAYLOAD_SIZE in the environment of all participants"));
}

void WriterCore::send(std::span<const std::byte> bytes, const Digest& key, SampleKind kind, std::int64_t source_timestamp,
                      std::int64_t blocking_ns_max, const MadeInPlace* filling) {
  SampleEnvelope header;
  header.topic = topic_;
  header.type = type_.identity;
  header.writer = facts_.id;
  header.sequence = sent_.latest + 1;
  header.source_timestamp = source_timestamp;
  header.lifespan_ns = rules_.lifespan_ns;
  header.key = key;
  header.kind = static_cast<std::uint8_t>(kind);
  header.strength = rules_.strength;
  header.durability = rules_.depth == 0 ? 0 : facts_.qos.durability;
  header.depth = rules_.depth;
  const auto build = [&](std::span<std::byte> to) {
    if (filling != nullptr) header.key = filling->fill(to.subspan(sizeof header));
    std::memcpy(to.data(), &header, sizeof header);
    if (!bytes.empty()) std::memcpy(to.data() + sizeof header, bytes.data(), bytes.size());
  };
  const std::uint64_t size = sizeof header + (filling != nullptr ? filling->bytes : bytes.size());
  check_size(size);
  if (!sent_within(subgroup_, blocking_ns_max, size, build)) {
    const std::string why = subgroup_.blocked();
    throw Exception(Error(ErrorKind::timed_out, "a write waited for max_blocking_time: " +
                                                    (why.empty() ? who_takes_no_more(subgroup_, facts_.id.node) : why))
                        .at("topic " + facts_.topic)
                        .fix("let the readers there take their samples, or raise Reliability's max_blocking_time"));
  }
  ++sent_.latest;
}

void WriterCore::note_instance(std::span<const std::byte> bytes, const Digest& key, SampleKind kind) {
  if (kind == SampleKind::unregister || kind == SampleKind::both) {
    instances_.erase(key.words);
  } else if (kind == SampleKind::data && !instances_.contains(key.words)) {
    instances_.emplace(key.words, std::vector<std::byte>(bytes.begin(), bytes.end()));
  }
  if (deadline_ns() == endless) return;
  const std::lock_guard lock(monitor_.mutex);
  if (kind == SampleKind::data)
    due_[key.words] = steady_ns() + std::min(deadline_ns(), endless - steady_ns());
  else
    due_.erase(key.words);
}

void WriterCore::write_in_place(const MadeInPlace& filling, std::int64_t source_timestamp) {
  const std::lock_guard lock(sending_);
  Digest key;
  std::vector<std::byte> first;  // of its instance: the bytes that news of it carry
  const auto note = [&](std::span<std::byte> to) {
    key = filling.fill(to);
    if (!instances_.contains(key.words)) first.assign(to.begin(), to.end());
    return key;
  };
  const MadeInPlace noting{filling.bytes, std::ref(note)};  // a copy of it would lie in memory of its own
  send({}, {}, SampleKind::data, source_timestamp, rules_.blocking_ns_max, &noting);
  note_instance(first, key, SampleKind::data);
  assert_alive();
}

// The participant itself says that an AUTOMATIC one lives, so no clock is asked for each of its samples.
void WriterCore::assert_alive() noexcept {
  if (facts_.qos.liveliness == static_cast<std::uint8_t>(dds::core::policy::LivelinessKind::AUTOMATIC)) return;
  const std::int64_t now = steady_ns();
  times_.asserted_ns = now;
  if (facts_.qos.liveliness == static_cast<std::uint8_t>(dds::core::policy::LivelinessKind::MANUAL_BY_PARTICIPANT))
    monitor_.asserted_ns = now;
}

std::int64_t WriterCore::check_lease(std::int64_t now_ns) {
  using dds::core::policy::LivelinessKind;
  const auto kind = static_cast<LivelinessKind>(facts_.qos.liveliness);
  const std::int64_t length = facts_.qos.times.lease;
  // The participant itself says that an AUTOMATIC one lives.
  if (kind == LivelinessKind::AUTOMATIC || length >= endless - now_ns) return endless;
  std::int64_t asserted = times_.asserted_ns;
  if (kind == LivelinessKind::MANUAL_BY_PARTICIPANT) asserted = std::max(asserted, monitor_.asserted_ns.load());
  if (now_ns - asserted < length) {
    times_.lost = false;
    return asserted + length;
  }
  if (!times_.lost.exchange(true)) {
    statuses_.liveliness_lost.count();
    board_->raise(StatusBit::liveliness_lost);
  }
  return now_ns + length;
}

void WriterCore::change_rules(const WriterRules& rules) {
  const std::lock_guard lock(sending_);
  rules_ = rules;
}

void WriterCore::change(const EndpointQos& qos) {
  const bool renewed = qos.times.deadline != qos_.times.deadline;
  qos_ = qos;
  times_.deadline_ns = qos.times.deadline;
  if (!renewed) return;
  if (qos.times.deadline == endless) due_.clear();
  for (auto& [key, at] : due_) at = steady_ns() + qos.times.deadline;
}

void WriterCore::end() {
  const std::lock_guard lock(sending_);
  if (sent_.farewell != 0) return;
  const std::int64_t now = wall_ns();
  for (auto each = instances_.begin(); each != instances_.end(); each = instances_.erase(each)) {
    const SampleKind kind = rules_.disposes ? SampleKind::both : SampleKind::unregister;
    send(each->second, Digest{each->first}, kind, now, ending_ns_max);
  }
  send({}, {}, SampleKind::gone, now, ending_ns_max);
  sent_.farewell = sent_.latest;
}

void WriterCore::register_instance(std::span<const std::byte> bytes, const Digest& key) {
  const std::lock_guard lock(sending_);
  instances_.try_emplace(key.words, bytes.begin(), bytes.end());
}

std::optional<std::vector<std::byte>> WriterCore::registered(const Digest& key) {
  const std::lock_guard lock(sending_);
  const auto found = instances_.find(key.words);
  if (found == instances_.end()) return std::nullopt;
  return found->second;
}

bool WriterCore::await_delivered(std::int64_t limit_ns) {
  check_may_wait("waiting for what was written");
  std::uint64_t last = 0;
  {
    const std::lock_guard lock(sending_);
    last = sent_.latest;
  }
  const std::int64_t end = end_of(limit_ns);
  std::unique_lock lock(monitor_.mutex);
  const auto done = [&] { return given_.latest.sequence >= last || !given_.closed.empty(); };
  if (end == endless)
    monitor_.changed.wait(lock, done);
  else
    monitor_.changed.wait_for(lock, until(end), done);
  if (given_.latest.sequence < last && !given_.closed.empty())
    throw Exception(Error(ErrorKind::group_closed, given_.closed).at("topic " + facts_.topic));
  return given_.latest.sequence >= last;
}

bool WriterCore::await_durable(std::int64_t limit_ns) {
  if (facts_.qos.durability != static_cast<std::uint8_t>(dds::core::policy::DurabilityKind::PERSISTENT)) return true;
  DeliveredMessage last;
  {
    const std::lock_guard lock(monitor_.mutex);
    last = given_.latest;
  }
  if (last.sequence == 0) return true;
  const auto limit = limit_ns >= endless ? std::nullopt : std::optional<Duration>(std::chrono::nanoseconds(limit_ns));
  return subgroup_.await_durable(last.version, limit);
}

void WriterCore::on_closed(const std::string& why) {
  given_.closed = why;
  for (const auto& [id, reader] : std::map(matched_)) on_reader_gone(id);
}

void WriterCore::on_reader(const EndpointFacts& reader) {
  if (!partitions_meet(qos_.partitions, reader.qos.partitions)) return on_reader_gone(reader.id);
  const std::vector<QosMismatch> found = mismatches(qos_, reader.qos);
  if (!found.empty()) statuses_.incompatible.note_one();
  for (const QosMismatch& each : found) {
    statuses_.incompatible.note(each.policy_id, each.words);
    log::warn(log::Room::dds, "a writer here and a reader do not match",
              {{"topic", facts_.topic}, {"reader_of_node", reader.id.node}, {"reason", each.words}});
  }
  if (!found.empty()) {
    board_->raise(StatusBit::offered_incompatible);
    return on_reader_gone(reader.id);
  }
  if (!matched_.insert_or_assign(reader.id, reader).second) return;
  statuses_.matched.note_one(InstanceHandle(reader.id.name()));
  board_->raise(StatusBit::publication);
}

void WriterCore::on_reader_gone(const EndpointId& reader) {
  if (matched_.erase(reader) == 0) return;
  statuses_.matched.note_gone(InstanceHandle(reader.name()));
  board_->raise(StatusBit::publication);
}

std::int64_t WriterCore::check(std::int64_t now_ns) {
  const std::int64_t lease = check_lease(now_ns);
  if (deadline_ns() == endless) return lease;
  const std::int64_t deadline = count_missed(due_, deadline_ns(), now_ns, [&](const Digest& instance) {
    statuses_.deadline.note(InstanceHandle(instance));
    board_->raise(StatusBit::offered_deadline);
  });
  return std::min(lease, deadline);
}

}  // namespace spindrift::topics
