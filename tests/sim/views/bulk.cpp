// Bulk rings in runs with views: a message of one view goes into mirrors of the same view, of the same ring (S1, V11), and
// nothing of a suspect counts that comes later (V8).
#include <cstring>

#include "rows.hpp"

namespace spindrift::sim {
namespace {

constexpr int spoiled = 0xff;

}  // namespace

void Rows::on_bulk(std::span<const std::byte> memory, const View& view, std::uint32_t process, std::uint32_t subgroup,
                   bool own) {
  bulk_.add(memory.data(), {view.id.value(), process, subgroup, own, memory.size()});
}

std::optional<Rows::LargePost> Rows::large_post(const NetworkListener::Write& write) const {
  const auto source = write.copied ? std::nullopt : bulk_.find(write.local);
  if (!source) return std::nullopt;
  return source->region->own ? LargePost::own : LargePost::handed_on;
}

void Rows::check_bulk_write(const NetworkListener::Write& write, const BulkMemory::Place& target) {
  const auto source = bulk_.find(write.local);
  if (!source || source->region->process != write.from || source->region->subgroup != target.region->subgroup) {
    return report_.violate("S1", "process " + std::to_string(write.from) + ": a large message comes from elsewhere");
  }
  if (source->region->view != target.region->view) {
    return report_.violate("V11", "a large message of view " + std::to_string(source->region->view) +
                                      " goes to memory of view " + std::to_string(target.region->view));
  }
  const RowBook* const from = book(ViewId(target.region->view), write.from);
  const RowBook* const to = book(ViewId(target.region->view), write.to);
  if (from == nullptr || to == nullptr) return;
  const SubgroupView& subgroup = from->view->subgroups[target.region->subgroup];
  const auto node_of = [](const RowBook& book) { return book.view->members[book.rank.value()]; };
  const std::uint64_t ring = subgroup.profile.bulk_ring_bytes;
  if (target.region->own || source->offset % ring != target.offset % ring ||
      BulkMemory::sender_at(*source, subgroup, node_of(*from)) != BulkMemory::sender_at(target, subgroup, node_of(*to))) {
    return report_.violate("S1",
                           "process " + std::to_string(write.from) + ": a large message goes where it does not belong");
  }
  if (!source->region->own) report_.hit(Probe::large_message_handed_on);
}

void Rows::on_bulk_landed(const NetworkListener::Write& write, const BulkMemory::Place& target, std::uint64_t offset,
                          std::size_t size) {
  const RowBook* const reader = book(ViewId(target.region->view), write.to);
  const RowBook* const writer = book(ViewId(target.region->view), write.from);
  report_.hit(Probe::large_message);
  if (reader == nullptr || writer == nullptr || !reader->suspects_now().contains(writer->rank)) return;
  if (!write.late && reader->suspected_earlier().contains(writer->rank)) {
    return report_.violate("V8", "process " + std::to_string(write.to) + " lets a member write that it suspects");
  }
  std::memset(write.region + offset, spoiled, size);
}

}  // namespace spindrift::sim
