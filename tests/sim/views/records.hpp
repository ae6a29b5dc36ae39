// The nodes' records of views in a run: each outlives its node's processes, until the plan has it lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <spindrift/views/view_memory.hpp>

#include "plan.hpp"

namespace spindrift::sim {

class Records {
 public:
  explicit Records(const Plan& plan) : plan_(plan), nodes_(plan.nodes.size()) {}

  /// The record of that node, for a process that begins; good as long as this object. No process of the node has it yet.
  [[nodiscard]] views::ViewMemory& open(std::uint32_t node);
  /// The incarnation of that node's next process, whose clock gives this one: what its record knows of is earlier.
  [[nodiscard]] std::uint64_t incarnation_after(std::uint32_t node, std::uint64_t by_clock) const;
  /// The node's process is gone.
  void on_end(std::uint32_t node) { nodes_[node].lives = false; }
  /// The record is lost, unless a process has it, or others remember earlier views alone.
  void lose(std::uint32_t node);
  /// Its logs are lost, and not the record, at that time of its clock. False: a process has them, or there is none.
  [[nodiscard]] bool lose_logs(std::uint32_t node, std::uint64_t by_clock);
  /// It was lost once.
  [[nodiscard]] bool was_lost(std::uint32_t node) const { return nodes_[node].lost; }
  /// How many of that view's nodes have the record of it still.
  [[nodiscard]] std::size_t remembering(const View& view) const;
  [[nodiscard]] bool lives(std::uint32_t node) const { return nodes_[node].lives; }
  /// The foundings since the last call that were stored before anything else of so late an era.
  [[nodiscard]] std::vector<views::RecordedView> take_foundings_of_later_eras() { return std::exchange(later_eras_, {}); }
  /// As it is now; null: there is none.
  [[nodiscard]] const views::ViewRecord* record(std::uint32_t node) const {
    return nodes_[node].record ? &*nodes_[node].record : nullptr;
  }

 private:
  class Memory;
  [[nodiscard]] bool is_ahead(std::uint32_t node) const;
  void note_eras(const views::ViewRecord& record);
  struct Node {
    std::optional<views::ViewRecord> record;
    bool lives = false;
    bool lost = false;
  };

  const Plan& plan_;
  std::vector<Node> nodes_;
  std::uint64_t era_ = 0;  // the latest that was stored
  std::vector<views::RecordedView> later_eras_;
  std::vector<std::unique_ptr<views::ViewMemory>> memories_;  // of all processes
};

}  // namespace spindrift::sim
