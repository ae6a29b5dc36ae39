// A reader's matching, and what becomes of the samples that come.
#include <spindrift/dds/reader_core.hpp>

#include <algorithm>
#include <utility>

#include <spindrift/core/log.hpp>

namespace spindrift::topics {

using dds::core::InstanceHandle;

void ReaderCore::change(const EndpointQos& qos) {
  const bool renewed = qos.times.deadline != qos_.times.deadline;
  qos_ = qos;
  cache_.change_separation(qos.times.separation);
  if (!renewed) return;
  due_.clear();
  if (qos.times.deadline == endless) return;
  for (const Digest& each : cache_.alive()) due_[each.words] = steady_ns() + qos.times.deadline;
}

void ReaderCore::on_writer(const EndpointFacts& writer) {
  if (!partitions_meet(writer.qos.partitions, qos_.partitions)) return on_mismatch(writer.id);
  const std::vector<QosMismatch> found = mismatches(writer.qos, qos_);
  if (!found.empty()) statuses_.incompatible.note_one();
  for (const QosMismatch& each : found) {
    statuses_.incompatible.note(each.policy_id, each.words);
    log::warn(log::Room::dds, "a reader here and a writer do not match",
              {{"topic", facts_.topic}, {"writer_of_node", writer.id.node}, {"reason", each.words}});
  }
  if (!found.empty()) {
    board_->raise(StatusBit::requested_incompatible);
    return on_mismatch(writer.id);
  }
  if (!matched_.insert_or_assign(writer.id, writer).second) return;
  if (writer.qos.times.lease != endless)
    leases_[writer.id] = {.length_ns = writer.qos.times.lease, .asserted_ns = steady_ns()};
  const InstanceHandle handle(writer.id.name());
  statuses_.matched.note_one(handle);
  statuses_.liveliness.note(1, 0, handle);
  board_->raise(StatusBit::subscription | StatusBit::liveliness);
}

void ReaderCore::on_writer_gone(const EndpointId& writer, bool failed) {
  had_.erase(writer);
  unmatch(writer, failed);
}

void ReaderCore::on_closed(const std::string& why) {
  closed_ = why;
  for (const auto& [id, writer] : std::map(matched_)) on_writer_gone(id, true);
  board_->raise(StatusBit::data);  // whoever takes is told
}

void ReaderCore::on_history_of_gone(const EndpointId& writer) {
  if (cache_.on_gone(writer, wall_ns())) board_->raise(StatusBit::data);
}

void ReaderCore::on_mismatch(const EndpointId& writer) { unmatch(writer, false); }

void ReaderCore::unmatch(const EndpointId& writer, bool failed) {
  if (matched_.erase(writer) == 0) return;
  const InstanceHandle handle(writer.name());
  statuses_.matched.note_gone(handle);
  const auto lease = leases_.extract(writer);
  if (lease.empty() || lease.mapped().alive)
    statuses_.liveliness.note(-1, failed ? 1 : 0, handle);
  else
    statuses_.liveliness.note(0, failed ? 0 : -1, handle);  // it counted as not alive already
  std::uint32_t changed = StatusBit::subscription | StatusBit::liveliness;
  if (cache_.on_gone(writer, wall_ns())) changed |= StatusBit::data;
  board_->raise(changed);
}

void ReaderCore::on_sample(const SampleEnvelope& header, std::shared_ptr<const void> data, std::int64_t now_ns) {
  const bool matches = matched_.contains(header.writer);
  if (matches) {
    std::uint64_t& had = had_[header.writer];
    if (header.sequence <= had) return;
    had = header.sequence;
  }
  on_alive(header.writer);
  if (data && filter_ && !filter_(data.get())) return;
  const auto outcome = cache_.add(header, std::move(data), header.strength, now_ns);
  if (qos_.times.deadline != endless) {
    if (header.kind == static_cast<std::uint8_t>(SampleKind::data)) {
      due_[header.key.words] = steady_ns() + qos_.times.deadline;
    } else {
      due_.erase(header.key.words);
    }
  }
  untold_ |= note_outcome(outcome, header);
}

void ReaderCore::tell() {
  if (const std::uint32_t news = std::exchange(untold_, 0); news != 0) board_->raise(news);
}

void ReaderCore::on_news(const SampleEnvelope& header, std::shared_ptr<const void> data) {
  untold_ |= note_outcome(cache_.add(header, std::move(data), 0, wall_ns()), header);
  tell();
}

std::uint32_t ReaderCore::note_outcome(SampleCache::Outcome outcome, const SampleEnvelope& header) {
  using Outcome = SampleCache::Outcome;
  using dds::core::status::SampleRejectedState;
  switch (outcome) {
    case Outcome::unwanted:
    case Outcome::unknown: break;
    case Outcome::stored: return StatusBit::data;
    case Outcome::overwrote: statuses_.lost.count(); return StatusBit::data | StatusBit::lost;
    case Outcome::no_room:
      statuses_.rejected.note(SampleRejectedState::REJECTED_BY_SAMPLES_LIMIT, InstanceHandle(header.key));
      statuses_.lost.count();
      return StatusBit::rejected | StatusBit::lost;
    case Outcome::too_many_instances:
      statuses_.rejected.note(SampleRejectedState::REJECTED_BY_INSTANCES_LIMIT, InstanceHandle(header.key));
      return StatusBit::rejected;
  }
  return 0;
}

void ReaderCore::on_malformed() {
  statuses_.lost.count();
  board_->raise(StatusBit::lost);
}

void ReaderCore::on_alive(const EndpointId& writer) {
  const auto lease = leases_.find(writer);
  if (lease == leases_.end()) return;
  lease->second.asserted_ns = steady_ns();
  if (std::exchange(lease->second.alive, true)) return;
  statuses_.liveliness.note(1, -1, InstanceHandle(writer.name()));
  board_->raise(StatusBit::liveliness);
}

std::int64_t ReaderCore::check_leases(std::int64_t now_ns) {
  std::int64_t next = endless;
  for (auto& [writer, lease] : leases_) {
    // A reader without room holds up what says that its writers live.
    if (cache_.full()) lease.asserted_ns = now_ns;
    if (lease.alive && now_ns - lease.asserted_ns >= lease.length_ns) {
      lease.alive = false;
      statuses_.liveliness.note(-1, 1, InstanceHandle(writer.name()));
      const bool changed = cache_.on_gone(writer, wall_ns());
      board_->raise(StatusBit::liveliness | (changed ? StatusBit::data : 0));
    }
    const std::int64_t from = lease.alive ? lease.asserted_ns : now_ns;
    next = std::min(next, lease.length_ns < endless - from ? from + lease.length_ns : endless);
  }
  return next;
}

std::int64_t ReaderCore::check(std::int64_t now_ns) {
  std::int64_t next = check_leases(now_ns);
  const std::int64_t wall = wall_ns();
  if (const std::int64_t purge = cache_.purge(wall); purge != endless) next = std::min(next, now_ns + (purge - wall));
  if (qos_.times.deadline == endless) return next;
  const std::int64_t deadline = count_missed(due_, qos_.times.deadline, now_ns, [&](const Digest& instance) {
    statuses_.deadline.note(InstanceHandle(instance));
    board_->raise(StatusBit::requested_deadline);
  });
  return std::min(next, deadline);
}

std::int64_t count_missed(std::map<std::array<std::uint64_t, 2>, std::int64_t>& due, std::int64_t period_ns,
                          std::int64_t now_ns, const std::function<void(const Digest&)>& missed) {
  std::int64_t next = now_ns + period_ns;  // whatever comes meanwhile is due later
  for (auto& [key, at] : due) {
    if (at <= now_ns) {
      missed(Digest{key});
      at = now_ns + period_ns;
    }
    next = std::min(next, at);
  }
  return next;
}

}  // namespace spindrift::topics
