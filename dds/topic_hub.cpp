// The ways of a topic's messages at one participant.
#include <spindrift/dds/topic_hub.hpp>

#include <algorithm>

#include <spindrift/core/log.hpp>

namespace spindrift::topics {

void TopicHub::on_message(const SampleMessage& message, std::int64_t now_ns) {
  const SampleEnvelope& header = message.header;
  if (const auto own = local_writers_.find(header.writer); own != local_writers_.end()) {
    own->second->on_delivered({header.sequence, message.version});
  }
  if (local_readers_.empty() || (waiting_.empty() && known(header.writer))) return apply(header, message.bytes, now_ns);
  waiting_.push_back({header, {message.bytes.begin(), message.bytes.end()}});
}

void TopicHub::end_batch() {
  for (const auto& [id, reader] : local_readers_) reader->tell();
  hold_or_go_on();
}

void TopicHub::apply(const SampleEnvelope& header, std::span<const std::byte> bytes, std::int64_t now_ns) {
  if (static_cast<SampleKind>(header.kind) == SampleKind::gone) {
    if (!writers_.contains(header.writer)) ended_early_.insert(header.writer);
    history_.on_gone(header.writer);
    return forget_writer(header.writer, false);
  }
  history_.add(header, bytes);
  std::shared_ptr<const void> data;
  for (const auto& [id, reader] : local_readers_) {
    if (!reader->wants(header.writer)) continue;
    if (!data && !(data = decoded(header, bytes))) return;
    give(*reader, header, data, now_ns);
  }
}

void TopicHub::give(ReaderCore& reader, const SampleEnvelope& header, std::shared_ptr<const void> data,
                    std::int64_t now_ns) {
  reader.on_sample(header, header.kind == static_cast<std::uint8_t>(SampleKind::data) ? std::move(data) : nullptr, now_ns);
}

std::shared_ptr<const void> TopicHub::decoded(const SampleEnvelope& header, std::span<const std::byte> bytes) {
  Result<std::shared_ptr<const void>> sample = types_.decode(header.type, bytes);
  if (sample) return std::move(sample).value();
  log::warn(log::Room::dds, "a sample cannot be read, and counts as lost",
            {{"type", types_.name()}, {"writer_of_node", header.writer.node}, {"reason", sample.error().to_string()}});
  for (const auto& [id, reader] : local_readers_) {
    if (reader->wants(header.writer)) reader->on_malformed();
  }
  return nullptr;
}

void TopicHub::on_endpoint(const EndpointFacts& facts, bool ignored) {
  if (ignored) ignored_.insert(facts.id);
  if (facts.kind == EndpointKind::topic) types_.learn(facts.type);
  if (facts.kind == EndpointKind::reader)
    on_reader_told(facts, ignored);
  else if (facts.kind == EndpointKind::writer)
    on_writer_told(facts, ignored);
}

void TopicHub::on_reader_told(const EndpointFacts& facts, bool ignored) {
  const bool changed = !readers_.insert_or_assign(facts.id, facts).second;
  for (const auto& [id, writer] : local_writers_) {
    if (!ignored) writer->on_reader(facts);
  }
  const auto own = local_readers_.find(facts.id);
  if (!changed || own == local_readers_.end()) return;
  own->second->change(facts.qos);
  for (const auto& [id, writer] : writers_) {
    if (!ignored_.contains(id)) match(*own->second, writer, true);
  }
}

void TopicHub::on_writer_told(const EndpointFacts& facts, bool ignored) {
  if (ended_early_.erase(facts.id) > 0) return;
  const bool changed = !writers_.insert_or_assign(facts.id, facts).second;
  for (const auto& [id, reader] : local_readers_) {
    if (!ignored) match(*reader, facts, changed);
  }
  apply_waiting();
  const auto own = local_writers_.find(facts.id);
  if (!changed || own == local_writers_.end()) return;
  own->second->change(facts.qos);
  for (const auto& [id, reader] : readers_) {
    if (!ignored_.contains(id)) own->second->on_reader(reader);
  }
}

void TopicHub::match(ReaderCore& reader, const EndpointFacts& writer, bool changed) {
  const bool before = reader.wants(writer.id);
  reader.on_writer(writer);
  if (changed && !before && reader.wants(writer.id)) give_history(reader, &writer.id);
}

void TopicHub::on_alive(const EndpointId& writer, std::uint8_t liveliness) {
  constexpr std::uint8_t by_topic = 2;
  for (const auto& [id, facts] : writers_) {
    if (facts.qos.liveliness != liveliness) continue;
    if (liveliness == by_topic ? id != writer : id.process() != writer.process()) continue;
    for (const auto& [own, reader] : local_readers_) reader->on_alive(id);
  }
}

std::optional<std::uint8_t> TopicHub::lease_kind(const EndpointId& writer) const {
  const auto found = writers_.find(writer);
  if (found == writers_.end() || found->second.qos.times.lease == endless) return std::nullopt;
  return found->second.qos.liveliness;
}

void TopicHub::on_inconsistent() {
  for (const auto& [id, topic] : local_topics_) {
    topic->inconsistent.count();
    topic->board->raise(StatusBit::inconsistent_topic);
  }
}

void TopicHub::ignore(const EndpointId& id) {
  if (!ignored_.insert(id).second) return;
  for (const auto& [own, reader] : local_readers_) reader->on_writer_gone(id, false);
  for (const auto& [own, writer] : local_writers_) writer->on_reader_gone(id);
}

void TopicHub::on_removed(const EndpointFacts& facts) {
  if (facts.kind == EndpointKind::reader) {
    readers_.erase(facts.id);
    for (const auto& [id, writer] : local_writers_) writer->on_reader_gone(facts.id);
  } else if (facts.kind == EndpointKind::writer && writers_.contains(facts.id)) {
    leaving_.retired.insert(facts.id);
  }
}

void TopicHub::on_view(const HubView& view) {
  std::map<EndpointId, bool> leaving;  // whether it failed
  for (const EndpointFacts& each : view.failed) {
    if (each.kind == EndpointKind::reader) on_removed(each);
    if (each.kind == EndpointKind::writer) leaving.emplace(each.id, true);
  }
  for (const EndpointId& each : leaving_.retired) leaving.emplace(each, false);
  if (leaving.empty()) return;
  const std::uint32_t mark = view.mark();
  for (const auto& [writer, failed] : leaving) depart(writer, {mark, failed});
}

void TopicHub::depart(const EndpointId& writer, const Departure& departure) {
  if (departure.mark != 0) {
    leaving_.departing.emplace(writer, departure);
    return;
  }
  history_.on_gone(writer);
  forget_writer(writer, departure.failed);
}

void TopicHub::on_mark(std::uint32_t mark) {
  for (const auto& [writer, departure] : std::map(leaving_.departing)) {
    if (departure.mark <= mark) depart(writer, {0, departure.failed});
  }
}

void TopicHub::forget_writer(const EndpointId& writer, bool failed) {
  leaving_.retired.erase(writer);
  leaving_.departing.erase(writer);
  writers_.erase(writer);
  for (const auto& [id, reader] : local_readers_) reader->on_writer_gone(writer, failed);
}

void TopicHub::apply_waiting() {
  while (!waiting_.empty() && known(waiting_.front().header.writer)) {
    const Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    apply(next.header, next.bytes, wall_ns());
  }
  for (const auto& [id, reader] : local_readers_) reader->tell();
}

void TopicHub::add_reader(const std::shared_ptr<ReaderCore>& reader) {
  for (const auto& [id, facts] : writers_) {
    if (!ignored_.contains(id)) reader->on_writer(facts);
  }
  give_history(*reader, nullptr);
  local_readers_.emplace(reader->facts().id, reader);
}

void TopicHub::give_history(ReaderCore& reader, const EndpointId* writer) {
  // A reader of lower durability than the sample's writer offers may have it; one of none wants none.
  const std::uint8_t asked = reader.facts().qos.durability;
  const std::int64_t now_ns = wall_ns();
  std::set<EndpointId> gone;
  for (const KeptSample& each : asked == 0 ? std::vector<KeptSample>{} : history_.all()) {
    if (writer != nullptr && each.header.writer != *writer) continue;
    // A sample that is left of a topic of that name and another type is nobody's.
    if (!types_.reads(each.header.type) || each.header.durability < asked || ignored_.contains(each.header.writer) ||
        (writers_.contains(each.header.writer) && !reader.wants(each.header.writer)))
      continue;
    if (const auto data = decoded(each.header, *each.bytes)) give(reader, each.header, data, now_ns);
    if (!reader.wants(each.header.writer)) gone.insert(each.header.writer);
  }
  for (const EndpointId& each : gone) reader.on_history_of_gone(each);
  reader.tell();
}

void TopicHub::remove_reader(const EndpointId& id) {
  local_readers_.erase(id);
  // Nobody waits for the news of writers any more.
  if (local_readers_.empty()) {
    for (const Waiting& each : std::exchange(waiting_, {})) apply(each.header, each.bytes, wall_ns());
  }
  hold_or_go_on();
}

void TopicHub::add_writer(const std::shared_ptr<WriterCore>& writer) {
  local_writers_.emplace(writer->facts().id, writer);
  for (const auto& [id, facts] : readers_) {
    if (!ignored_.contains(id)) writer->on_reader(facts);
  }
}

void TopicHub::hold_or_go_on() {
  const bool hold = std::any_of(local_readers_.begin(), local_readers_.end(),
                                [](const auto& each) { return each.second->cache().full(); });
  if (hold == held_ || hold_ == nullptr) return;
  held_ = hold;
  hold ? hold_->hold() : hold_->go_on();
}

void TopicHub::on_closed(const std::string& why) {
  for (const auto& [id, writer] : local_writers_) writer->on_closed(why);
  for (const auto& [id, reader] : local_readers_) reader->on_closed(why);
}

}  // namespace spindrift::topics
