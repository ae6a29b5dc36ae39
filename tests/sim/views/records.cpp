// Records as values; their bytes go through the codec, so that what is stored is what is read.
#include "records.hpp"

#include <algorithm>

#include <spindrift/core/check.hpp>
#include <spindrift/views/mandate.hpp>

namespace spindrift::sim {

class Records::Memory final : public views::ViewMemory {
 public:
  Memory(Records& records, std::uint32_t node) : records_(records), node_(node) {}

  Result<std::optional<views::ViewRecord>> load() override { return records_.nodes_[node_].record; }
  Result<void> store(const views::ViewRecord& record) override {
    SPINDRIFT_CHECK(!closed_);
    ByteWriter writer;
    put_record(writer, record);
    const std::vector<std::byte> bytes = writer.take();
    ByteReader reader(bytes);
    views::ViewRecord read;
    SPINDRIFT_CHECK(get_record(reader, read) && reader.complete() && read == record);
    records_.note_eras(read);
    records_.nodes_[node_].record = std::move(read);
    return {};
  }
  Result<std::vector<Neighbor>> neighbors() override {
    std::vector<Neighbor> all;
    for (std::uint32_t i = 0; i < records_.nodes_.size(); ++i) {
      const Node& node = records_.nodes_[i];
      const bool beside = i != node_ && records_.plan_.nodes[i].host == records_.plan_.nodes[node_].host;
      if (beside && node.record) all.push_back({NodeId(i), node.lives, *node.record});
    }
    return all;
  }
  void close() override {
    if (!closed_) records_.on_end(node_);
    closed_ = true;
  }

 private:
  Records& records_;
  std::uint32_t node_;
  bool closed_ = false;
};

// As the product makes them: the lowest bits differ where the rest is the same.
std::uint64_t Records::incarnation_after(std::uint32_t node, std::uint64_t by_clock) const {
  constexpr std::uint64_t differing = 0xffff;
  const auto& known = nodes_[node].record;
  const std::uint64_t least = known ? views::next_incarnation(*known, NodeId(node)) + differing : 0;
  return (std::max(by_clock, least) & ~differing) | (by_clock & differing) | 1;
}

views::ViewMemory& Records::open(std::uint32_t node) {
  SPINDRIFT_CHECK(!nodes_[node].lives);
  nodes_[node].lives = true;
  memories_.push_back(std::make_unique<Memory>(*this, node));
  return *memories_.back();
}

// A founding is accepted before anybody goes into its view, and the decree that it may follow was accepted before that.
void Records::note_eras(const views::ViewRecord& record) {
  const auto note = [this](const views::RecordedView& view) {
    const bool later = views::era_of(view.id) > era_;
    era_ = std::max(era_, views::era_of(view.id));
    return later;
  };
  if (record.last) static_cast<void>(note(*record.last));
  for (const views::RecordedView& view : record.accepted) {
    if (note(view) && view.founded) later_eras_.push_back(view);
  }
}

// Whether others remember views, and all of them earlier ones than this node: the last one of a host may have gone on alone,
// and they would found beside what it alone knows of.
bool Records::is_ahead(std::uint32_t node) const {
  const auto newest = [&](std::uint32_t of) -> std::optional<ViewId> {
    if (!nodes_[of].record) return std::nullopt;
    const views::ViewRecord& record = *nodes_[of].record;
    std::optional<ViewId> latest = record.last ? std::optional(record.last->id) : std::nullopt;
    for (const views::RecordedView& each : record.accepted) latest = std::max(latest, std::optional(each.id));
    return latest;
  };
  std::optional<ViewId> others;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (i != node) others = std::max(others, newest(i));
  }
  const auto& last = nodes_[node].record->last;
  return others && last && *others < last->id;
}

void Records::lose(std::uint32_t node) {
  if (nodes_[node].lives || !nodes_[node].record) return;
  if (is_ahead(node)) return;
  nodes_[node].record.reset();
  nodes_[node].lost = true;
}

bool Records::lose_logs(std::uint32_t node, std::uint64_t by_clock) {
  if (nodes_[node].lives || !nodes_[node].record) return false;
  views::lose_logs(*nodes_[node].record, NodeId(node), by_clock);
  return true;
}

std::size_t Records::remembering(const View& view) const {
  std::size_t count = 0;
  for (std::size_t i = 0; i < view.members.size(); ++i) {
    const views::ViewRecord* const kept = record(view.members[i].value());
    count += kept != nullptr && kept->since <= view.incarnations[i] ? 1 : 0;
  }
  return count;
}

}  // namespace spindrift::sim
