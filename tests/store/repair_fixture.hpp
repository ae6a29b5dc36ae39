// Journals of the nodes of one group in tests of their repair: the same messages of two logs at each, between records of
// views that are each node's own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/store/batch.hpp>
#include <spindrift/store/journal.hpp>
#include <spindrift/store/repair.hpp>
#include <spindrift/store/scan.hpp>

#include "journal_fixture.hpp"
#include "simulated_disk.hpp"

namespace spindrift::store {

/// Small, so that a journal has several segments.
inline constexpr JournalOptions repair_segments{.segment_bytes = 10 * block_bytes,
                                                .first_segment_bytes = 10 * block_bytes,
                                                .prepared_bytes = 0,
                                                .format = SegmentFormat::third};

/// An entry of a journal that is whole, and where it lies.
struct PlacedEntry {
  JournalPosition position;
  EntryHead head;
  std::uint64_t segment = 0;
  std::uint64_t at = 0;
  std::uint64_t bytes = 0;
};

class RepairNode {
 public:
  explicit RepairNode(std::uint32_t node, std::string_view group = "group")
      : owner_{digest_of(group), NodeId(node)}, disk_(node + 1), storage_(disk_.storage()) {}

  [[nodiscard]] Storage& storage() { return *storage_; }
  [[nodiscard]] sim::SimulatedDisk& disk() { return disk_; }
  [[nodiscard]] const JournalOwner& owner() const { return owner_; }
  [[nodiscard]] Digest name() const { return digest_of("journal " + std::to_string(owner_.node.value())); }
  [[nodiscard]] JournalFindings findings() { return value_or_throw(examine(*storage_, owner_)); }

  void set_clock(std::uint64_t time) { time_ = time; }
  /// The next process, which stores its record of views first.
  void start() {
    start_without_view();
    view();
  }
  /// Its segment's head says where all logs end.
  void start_without_view() {
    journal_.reset();
    journal_.emplace(value_or_throw(Journal::open(*storage_, findings(), {owner_, ++process_}, name(), repair_segments)));
  }
  void view() {
    Batch batch;
    const std::string text = "record " + std::to_string(++records_);
    batch.append({EntryKind::view, no_subgroup, owner_.node, ViewId(records_), SequenceNumber(0), time_},
                 std::as_bytes(std::span(text)));
    commit(batch);
  }
  /// The messages of these numbers, at once; every third is of the second log.
  void messages(std::uint64_t first, std::uint64_t end, std::string_view other = "") {
    Batch batch;
    for (std::uint64_t number = first; number < end; ++number) {
      const std::string dots(number * 97 % 900, '.');
      const std::string text = "message " + std::to_string(number) + std::string(other) + dots;
      time_ += 10;
      const SubgroupId log(number % 3 == 2 ? 1 : 0);
      batch.append({EntryKind::message, log, NodeId(1), ViewId(2), SequenceNumber(number), time_},
                   std::as_bytes(std::span(text)));
    }
    commit(batch);
  }
  void commit(Batch& batch) { value_or_throw(journal_->commit(batch)); }
  void close() {
    value_or_throw(journal_->close());
    journal_.reset();
  }
  [[nodiscard]] Journal& journal() { return *journal_; }

  /// All, of a journal that is whole.
  [[nodiscard]] std::vector<PlacedEntry> entries() {
    std::vector<PlacedEntry> all;
    for (const FoundSegment& segment : findings().segments) {
      const std::uint64_t number = segment.head.seal.number;
      const auto file = value_or_throw(storage_->open(segment_name(number)));
      Blocks blocks(file->bytes());
      value_or_throw(file->read(0, blocks));
      walk_segment({segment.head, segment.ends, blocks}, segment.end, [&](const FoundEntry& found, std::uint64_t at, auto*) {
        all.push_back({found.entry.position, found.entry.head, number, at, found.bytes});
      });
    }
    return all;
  }
  void damage(const PlacedEntry& entry, std::uint64_t byte = 60) {
    disk_.flip_bit(segment_name(entry.segment), (entry.at + byte) * 8);
  }
  /// The messages of each log, and the records of views.
  [[nodiscard]] std::map<SubgroupId, std::vector<std::string>> texts() { return texts_in(*storage_); }
  [[nodiscard]] std::map<SubgroupId, std::vector<std::string>> texts_in(Storage& storage) const {
    std::map<SubgroupId, std::vector<std::string>> all;
    const JournalFindings findings = value_or_throw(examine(storage, owner_));
    for (const ReadEntry& entry : read_entries(storage, findings)) {
      if (entry.head.kind == EntryKind::message)
        all[entry.head.subgroup].push_back(std::to_string(entry.version) + " " + entry.text);
      if (entry.head.kind == EntryKind::view) all[no_subgroup].push_back(entry.text);
    }
    return all;
  }

 private:
  JournalOwner owner_;
  sim::SimulatedDisk disk_;
  std::unique_ptr<Storage> storage_;
  std::optional<Journal> journal_;
  std::uint64_t process_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t time_ = 1'000;
};

/// Whether what lies behind that entry says of which log it was.
inline bool is_implied(const std::vector<PlacedEntry>& entries, std::size_t index) {
  const PlacedEntry& entry = entries[index];
  return entry.segment != entries.back().segment ||
         std::any_of(entries.begin() + static_cast<std::ptrdiff_t>(index) + 1, entries.end(),
                     [&](const PlacedEntry& later) { return later.head.subgroup == entry.head.subgroup; });
}

/// Three processes, the middle one of which was killed: messages 0 to 29, and a record of views at the end.
inline void live(RepairNode& node) {
  node.start();
  for (std::uint64_t number = 0; number < 9; ++number) node.messages(number, number + 1);
  node.start();
  node.messages(9, 14);
  node.view();
  node.messages(14, 20);
  node.start();
  node.messages(20, 23);
  for (std::uint64_t number = 23; number < 30; ++number) node.messages(number, number + 1);
  node.view();
  node.close();
}

inline RepairPlan plan_for(RepairNode& node, const std::vector<Storage*>& sources) {
  return value_or_throw(plan_repair(node.storage(), node.owner(), sources));
}

/// The repaired journal, on a disk of its own.
struct Repaired {
  sim::SimulatedDisk disk{77};
  std::unique_ptr<Storage> storage = disk.storage();
};
inline std::unique_ptr<Repaired> repair(RepairNode& node, const RepairPlan& plan, const std::vector<Storage*>& sources) {
  if (!plan.possible()) throw Exception(plan.refusals.front());
  auto repaired = std::make_unique<Repaired>();
  value_or_throw(write_repaired(node.storage(), plan, sources, *repaired->storage, digest_of("fresh")));
  return repaired;
}

}  // namespace spindrift::store
