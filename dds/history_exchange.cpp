// Requests for histories, and their answers, piece by piece.
#include <spindrift/dds/history_exchange.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <spindrift/core/log.hpp>

namespace spindrift::topics {
namespace {

bool same_process(const EndpointId& some, const EndpointId& other) {
  return some.node == other.node && some.incarnation == other.incarnation;
}

/// The journal of a logged subgroup has its samples, for each member its own.
constexpr std::uint8_t persistent = 3;

}  // namespace

void HistoryExchange::add(Subgroup& subgroup) { subgroups_.insert_or_assign(subgroup.name(), &subgroup); }

void HistoryExchange::begin(const EndpointId& self, const EndpointTable& table) {
  self_ = self;
  begun_ = true;
  for (const auto& [name, subgroup] : subgroups_) {
    if (subgroup->is_sender()) ask(*subgroup, table);
  }
  settle_if_all();
}

void HistoryExchange::ask(Subgroup& subgroup, const EndpointTable& table) {
  const EndpointId* asked = nullptr;
  for (const auto& [id, facts] : table.all()) {
    if (facts.kind != EndpointKind::participant || same_process(id, self_)) continue;
    asked = &id;
    break;
  }
  // Nobody has more than this participant.
  if (asked == nullptr) return finish(subgroup);
  Awaited& awaited = awaited_[&subgroup];
  awaited.asking = {self_.node, ++last_request_, self_.incarnation};
  awaited.asked = *asked;
  awaited.placed = false;
  awaited.pieces.clear();
  HistoryHeader header;
  header.asking = awaited.asking;
  header.asked = awaited.asked;
  header.kind = static_cast<std::uint32_t>(Kind::request);
  errands_.add([&subgroup, header] { send(subgroup, header, {}); });
}

void HistoryExchange::send(Subgroup& subgroup, HistoryHeader header, std::span<const std::byte> bytes) {
  subgroup.send(sizeof header + bytes.size(), [&](std::span<std::byte> to) {
    std::memcpy(to.data(), &header, sizeof header);
    if (!bytes.empty()) std::memcpy(to.data() + sizeof header, bytes.data(), bytes.size());
  });
}

bool HistoryExchange::on_message(Subgroup& subgroup, const Delivery& delivery) {
  if (delivery.payload.size() < sizeof(HistoryHeader)) return false;
  HistoryHeader header;
  std::memcpy(&header, delivery.payload.data(), sizeof header);
  if (header.form != HistoryHeader::current_form) return false;
  if (header.kind == static_cast<std::uint32_t>(Kind::request)) {
    const auto own = awaited_.find(&subgroup);
    if (own != awaited_.end() && own->second.asking == header.asking) place(subgroup, own->second);
    if (begun_ && same_process(header.asked, self_)) answer(subgroup, header);
    return true;
  }
  const auto own = awaited_.find(&subgroup);
  if (own == awaited_.end() || own->second.asking != header.asking || delivery.sender.value() != own->second.asked.node)
    return true;
  const auto piece = delivery.payload.subspan(sizeof header);
  own->second.pieces.insert(own->second.pieces.end(), piece.begin(), piece.end());
  if (header.kind == static_cast<std::uint32_t>(Kind::last_piece)) {
    own->second.before.clear();
    if (!load(own->second.pieces, own->second.before)) {
      log::warn(log::Room::dds, "a participant's history of topics is none, and is left out",
                {{"subgroup", subgroup.name()}, {"node", delivery.sender}});
    }
    finish(subgroup);
    settle_if_all();
  }
  return true;
}

// Samples that came before the request are in the answer, too. They are kept, for the case that there is none. Persistent
// ones are not: of these this participant has been given all that its own log has.
void HistoryExchange::place(const Subgroup& subgroup, Awaited& awaited) {
  awaited.placed = true;
  for (auto& [topic, hub] : hubs_.all) {
    if (hub.home() != &subgroup) continue;
    auto& before = awaited.before[topic];
    std::vector<KeptSample> logged;
    for (KeptSample& each : hub.history().take())
      (each.header.durability == persistent ? logged : before).push_back(std::move(each));
    hub.history().load(std::move(logged));
  }
}

void HistoryExchange::answer(Subgroup& subgroup, const HistoryHeader& request) {
  ByteWriter writer;
  for (auto& [topic, hub] : hubs_.all) {
    if (hub.home() != &subgroup) continue;
    for (const KeptSample& each : hub.history().all()) {
      if (each.header.durability == persistent) continue;
      writer.put_bytes(std::as_bytes(std::span(&each.header, 1)));
      writer.put(static_cast<std::uint64_t>(each.bytes->size())).put_bytes(*each.bytes);
    }
  }
  HistoryHeader header = request;
  const std::uint64_t most = subgroup.message_bytes_max() - sizeof header;
  errands_.add([&subgroup, header, most, bytes = writer.take()]() mutable {
    for (std::size_t at = 0;; at += most) {
      const auto rest = std::span(bytes).subspan(at);
      const bool last = rest.size() <= most;
      header.kind = static_cast<std::uint32_t>(last ? Kind::last_piece : Kind::piece);
      send(subgroup, header, rest.first(last ? rest.size() : most));
      if (last) return;
    }
  });
}

bool HistoryExchange::load(std::span<const std::byte> bytes, std::map<std::uint64_t, std::vector<KeptSample>>& to) {
  ByteReader reader(bytes);
  while (!reader.rest().empty()) {
    const auto header = reader.get_bytes(sizeof(SampleEnvelope));
    const auto size = reader.get<std::uint64_t>();
    const auto sample = reader.get_bytes(size);
    if (!reader.ok()) return false;
    KeptSample kept;
    std::memcpy(&kept.header, header.data(), sizeof kept.header);
    if (!parse_sample(header, kept.header.writer.node)) return false;
    kept.bytes = std::make_shared<const std::vector<std::byte>>(sample.begin(), sample.end());
    to[kept.header.topic].push_back(std::move(kept));
  }
  return true;
}

void HistoryExchange::finish(const Subgroup& subgroup) {
  auto awaited = awaited_.extract(&subgroup);
  if (awaited.empty()) return;
  for (auto& [topic, samples] : awaited.mapped().before) hubs_.of(topic, subgroup).history().load(std::move(samples));
  monitor_.changed.notify_all();
}

void HistoryExchange::settle_if_all() {
  if (!begun_ || !awaited_.empty() || !settled_) return;
  errands_.add(std::exchange(settled_, nullptr));
}

void HistoryExchange::on_view(const View& view, const EndpointTable& table) {
  std::vector<const Subgroup*> again;
  for (const auto& [subgroup, awaited] : awaited_) {
    const auto rank = view.rank_of(NodeId(awaited.asked.node));
    if (!rank || view.incarnations.at(rank->value()) != awaited.asked.incarnation) again.push_back(subgroup);
  }
  for (const Subgroup* each : again) ask(*subgroups_.at(each->name()), table);
  if (!again.empty()) settle_if_all();
}

bool HistoryExchange::complete(const Subgroup& subgroup) const { return begun_ && !awaited_.contains(&subgroup); }

}  // namespace spindrift::topics
