// Rows of one view that a test writes by hand, for the checkers of rows.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include <spindrift/core/untrusted.hpp>

#include "views/plan.hpp"
#include "views/rows.hpp"

namespace spindrift::sim {

/// Rows of view 0 in memory of the test's own.
struct Books {
  explicit Books(std::uint32_t members = 3, bool majority_rules = true) : rows(report, majority_rules) {
    view.id = ViewId(0);
    for (std::uint32_t i = 0; i < members; ++i) {
      view.members.emplace_back(i);
      view.incarnations.push_back(100 + i);
    }
    SubgroupPlan subgroup;
    subgroup.name = "s";
    subgroup.profile = {.ring_bytes = 4096, .window_messages = 8, .message_bytes_max = 256};
    view.subgroups = layout_of({subgroup})(view.members, nullptr);
    for (std::uint32_t i = 0; i < members; ++i) {
      layouts.emplace_back(view, NodeId(i));
      memory.emplace_back(layouts[i].bytes());
      rows.on_row(i, Rank(i), view, memory[i].data());
    }
  }
  void set(std::uint32_t process, std::uint64_t offset, std::uint64_t value) {
    store_release(memory[process].data() + offset, value);
  }
  [[nodiscard]] const sst::SubgroupBlock& block(std::uint32_t process) const {
    return *layouts[process].subgroup(SubgroupId(0));
  }
  [[nodiscard]] std::uint64_t get(std::uint32_t process, std::uint64_t offset) const {
    return load_acquire(memory[process].data() + offset);
  }
  void step(std::uint32_t process) { rows.after_step(process); }

  void suspect(std::uint32_t process, std::uint64_t ranks) { set(process, layouts[process].suspected(0), ranks); }
  void wedge(std::uint32_t process, std::uint64_t count = 0) {
    for (std::uint32_t sender = 0; sender < view.members.size(); ++sender) {
      set(process, block(process).received_of + sender * sst::word_bytes, count);
    }
    set(process, layouts[process].wedged(), 1);
  }
  /// A decree that is told from others by `digest`, fails the ranks of `failed` and has this trim for every sender.
  void accept(std::uint32_t process, std::uint64_t ballot, std::uint64_t digest, std::uint64_t failed = 0,
              std::uint64_t trim = 0) {
    const std::uint64_t at = layouts[process].decree();
    set(process, at, digest);
    set(process, at + 2 * sst::word_bytes, failed);
    const std::uint64_t counts = layouts[process].decree_words() - view.members.size();
    for (std::uint64_t i = 0; i < view.members.size(); ++i) set(process, at + (counts + i) * sst::word_bytes, trim);
    set(process, layouts[process].accepted(), ballot);
  }
  void decide(std::uint32_t process) { set(process, layouts[process].decided(), get(process, layouts[process].accepted())); }
  void step_all() {
    for (std::uint32_t i = 0; i < view.members.size(); ++i) step(i);
  }
  /// All members, but those of `dead`, wedge and accept what the first of the others proposes.
  void agree(std::uint64_t dead, std::uint64_t trim, std::uint64_t count) {
    for (std::uint32_t i = 0; i < view.members.size(); ++i) set(i, block(i).committed, count);
    for (std::uint32_t i = 0; i < view.members.size(); ++i) {
      if ((dead >> i & 1) != 0) continue;
      suspect(i, dead);
      wedge(i, count);
      step(i);
    }
    for (std::uint32_t i = 0; i < view.members.size(); ++i) {
      if ((dead >> i & 1) != 0) continue;
      accept(i, static_cast<std::uint64_t>(std::countr_one(dead)) + 1, 42, dead, trim);
      step(i);
    }
  }
  [[nodiscard]] std::string found() const { return report.violation() ? report.violation()->invariant : "nothing"; }

  Report report;
  Rows rows;
  View view;
  std::vector<sst::RowLayout> layouts;
  std::vector<std::vector<std::byte>> memory;
};

}  // namespace spindrift::sim
