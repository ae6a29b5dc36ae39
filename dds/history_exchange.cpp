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
  if (std::exchange(begun_, true)) return;
  self_ = self;
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
  awaited.answered.clear();
  awaited.rest.clear();
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
  Awaited& awaited = own->second;
  const bool good = take_piece(delivery.payload.subspan(sizeof header), awaited);
  const bool last = header.kind == static_cast<std::uint32_t>(Kind::last_piece);
  if (!good || (last && !awaited.rest.empty())) {
    log::warn(log::Room::dds, "a participant's history of topics is none, and is left out",
              {{"subgroup", subgroup.name()}, {"node", delivery.sender}});
  }
  if (good && !last) return true;
  awaited.before = std::move(awaited.answered);
  finish(subgroup);
  settle_if_all();
  return true;
}

// Samples that came before the request are in the answer, too. They are kept, for the case that there is none. Persistent
// ones are not: of these this participant has been given all that its own log has.
void HistoryExchange::place(const Subgroup& subgroup, Awaited& awaited) {
  awaited.placed = true;
  for (auto& [topic, hub] : hubs_.all) {
    if (hub.home() != &subgroup) continue;
    TopicHistory& before = awaited.before[topic];
    TopicHistory logged;
    for (KeptSample& each : hub.history().take())
      (each.header.durability == persistent ? logged : before).keep(std::move(each));
    hub.history().load(std::move(logged));
  }
}

// Pieces are made by the thread that sends them: the poller waits for whoever holds the monitor.
void HistoryExchange::answer(Subgroup& subgroup, const HistoryHeader& request) {
  std::vector<KeptSample> kept;
  for (auto& [topic, hub] : hubs_.all) {
    if (hub.home() != &subgroup) continue;
    for (KeptSample& each : hub.history().all()) {
      if (each.header.durability != persistent) kept.push_back(std::move(each));
    }
  }
  errands_.add([&subgroup, header = request, kept = std::move(kept)] { send_all(subgroup, header, kept); });
}

void HistoryExchange::send_all(Subgroup& subgroup, HistoryHeader header, const std::vector<KeptSample>& kept) {
  const std::size_t most = subgroup.message_bytes_max() - sizeof header;
  header.kind = static_cast<std::uint32_t>(Kind::piece);
  std::vector<std::byte> bytes;  // that are not sent yet
  for (const KeptSample& each : kept) {
    ByteWriter writer;
    writer.put_bytes(std::as_bytes(std::span(&each.header, 1)));
    writer.put(static_cast<std::uint64_t>(each.bytes->size())).put_bytes(*each.bytes);
    const std::vector<std::byte> sample = writer.take();
    bytes.insert(bytes.end(), sample.begin(), sample.end());
    std::size_t sent = 0;
    for (; bytes.size() - sent > most; sent += most) send(subgroup, header, std::span(bytes).subspan(sent, most));
    bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(sent));
  }
  header.kind = static_cast<std::uint32_t>(Kind::last_piece);
  send(subgroup, header, bytes);
}

bool HistoryExchange::take_piece(std::span<const std::byte> piece, Awaited& awaited) {
  awaited.rest.insert(awaited.rest.end(), piece.begin(), piece.end());
  std::span<const std::byte> left(awaited.rest);
  while (!left.empty()) {
    ByteReader reader(left);
    const auto header = reader.get_bytes(sizeof(SampleEnvelope));
    const auto size = reader.get<std::uint64_t>();
    const auto sample = reader.get_bytes(size);
    if (!reader.ok()) break;
    KeptSample kept;
    std::memcpy(&kept.header, header.data(), sizeof kept.header);
    if (!parse_sample(header, kept.header.writer.node)) return false;
    kept.bytes = std::make_shared<const std::vector<std::byte>>(sample.begin(), sample.end());
    left = reader.rest();
    awaited.answered[kept.header.topic].keep(std::move(kept));
  }
  awaited.rest.erase(awaited.rest.begin(), awaited.rest.end() - static_cast<std::ptrdiff_t>(left.size()));
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
