// The states of names come first, for they say which files there are; then those of sizes and blocks of these files.
#include "crash_states.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

namespace spindrift::sim {
namespace {

/// Which of some things are there, in their order.
using Subset = std::vector<bool>;

constexpr std::size_t all_subsets_max = 10;  // of that many things: 1,024
constexpr std::array<std::uint8_t, torn_shapes - 1> torn_sectors{0x01, 0x0f, 0x7f, 0xf0, 0x55};

std::vector<Subset> all_subsets(std::size_t count) {
  std::vector<Subset> subsets;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << count; ++bits) {
    Subset subset(count);
    for (std::size_t i = 0; i < count; ++i) subset[i] = (bits >> i & 1) != 0;
    subsets.push_back(std::move(subset));
  }
  return subsets;
}

/// Those in which from `first` to before `last` they are there or, by `there`, all others are.
Subset range_of(std::size_t count, std::size_t first, std::size_t last, bool there) {
  Subset subset(count, !there);
  std::fill(subset.begin() + static_cast<std::ptrdiff_t>(first), subset.begin() + static_cast<std::ptrdiff_t>(last), there);
  return subset;
}

/// None, all, the first so many, the last so many, each alone, all but each, once each.
std::vector<Subset> telling_subsets(std::size_t count) {
  std::vector<Subset> subsets;
  for (std::size_t i = 0; i <= count; ++i) subsets.push_back(range_of(count, 0, i, true));
  for (std::size_t i = 1; i < count; ++i) subsets.push_back(range_of(count, i, count, true));
  for (std::size_t i = 1; i + 1 < count; ++i) {
    subsets.push_back(range_of(count, i, i + 1, true));
    subsets.push_back(range_of(count, i, i + 1, false));
  }
  return subsets;
}

Subset drawn_subset(std::size_t count, Random& random) {
  const std::uint64_t there = random.between(1, 15);
  Subset subset(count);
  for (std::size_t i = 0; i < count; ++i) subset[i] = random.chance(there, 16);
  return subset;
}

std::set<DiskNames> names_outcomes(const DiskContents& contents, const CrashLimits& limits, Random& random) {
  const auto operations = contents.unsynced_names();
  std::vector<Subset> subsets;
  if (!limits.reordered) {
    for (std::size_t i = 0; i <= operations.size(); ++i) subsets.push_back(range_of(operations.size(), 0, i, true));
  } else if (operations.size() <= all_subsets_max) {
    subsets = all_subsets(operations.size());
  } else {
    subsets = telling_subsets(operations.size());
    for (std::uint64_t i = 0; i < limits.samples; ++i) subsets.push_back(drawn_subset(operations.size(), random));
  }
  std::set<DiskNames> outcomes;
  for (const Subset& subset : subsets) {
    DiskNames names = contents.durable_names();
    for (std::size_t i = 0; i < operations.size(); ++i)
      if (subset[i]) apply(operations[i], names);
    outcomes.insert(std::move(names));
  }
  return outcomes;
}

/// The states of sizes and blocks, where the names are given.
class BlockStates {
 public:
  using Emit = std::function<void(const CrashOutcome&)>;

  BlockStates(const DiskContents& contents, DiskNames names, const Emit& emit)
      : blocks_(contents.unsynced_blocks(names)), unsized_(contents.unsized_files(names)), emit_(emit) {
    outcome_.names = std::move(names);
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      for (std::size_t version = 1; version < blocks_[i].versions.size(); ++version) writes_.push_back({i, version});
    std::sort(writes_.begin(), writes_.end(), [&](Write a, Write b) { return order_of(a) < order_of(b); });
  }

  /// How many there are; `most` if there are more.
  [[nodiscard]] std::uint64_t count(std::uint64_t most) const {
    if (unsized_.size() >= 32) return most;
    std::uint64_t count = 1;
    for (std::size_t i = 0; i < blocks_.size();) {
      // A file of which nothing is durable has one state more: it is empty.
      const FileNumber file = blocks_[i].file;
      std::uint64_t of_file = 1;
      for (; i < blocks_.size() && blocks_[i].file == file; ++i)
        of_file = std::min<std::uint64_t>(most, of_file * blocks_[i].versions.size());
      count = std::min(most, count * (of_file + (is_unsized(file) ? 1 : 0)));
    }
    for (const FileNumber file : unsized_)
      if (!has_blocks(file)) count = std::min(most, count * 2);
    return count;
  }

  void emit_all() {
    for (const Subset& empty : all_subsets(unsized_.size())) {
      set_emptied(empty);
      emit_versions();
    }
  }

  void emit_sample(std::uint64_t samples, Random& random) {
    set_emptied(Subset(unsized_.size()));
    for (const Subset& there : telling_subsets(writes_.size())) emit_subset(there);
    for (std::size_t i = 0; i < unsized_.size(); ++i) {
      set_emptied(range_of(unsized_.size(), i, i + 1, true));
      emit_subset(Subset(writes_.size(), true));
    }
    for (std::uint64_t i = 0; i < samples; ++i) {
      set_emptied(drawn_subset(unsized_.size(), random));
      emit_subset(drawn_subset(writes_.size(), random));
    }
  }

  void emit_torn(std::uint64_t last_writes) {
    set_emptied(Subset(unsized_.size()));
    const std::size_t count = writes_.size();
    for (std::size_t i = count - std::min<std::size_t>(count, last_writes); i < count; ++i) {
      emit_shapes(i, count);
      if (i + 1 < count) emit_shapes(i, i + 1);
    }
  }

 private:
  struct Write {
    std::size_t block;  ///< index in `blocks_`
    std::size_t version;
  };

  [[nodiscard]] std::uint64_t order_of(Write write) const { return blocks_[write.block].versions[write.version].order; }
  [[nodiscard]] bool is_unsized(FileNumber file) const { return std::ranges::binary_search(unsized_, file); }
  [[nodiscard]] bool has_blocks(FileNumber file) const {
    return std::ranges::any_of(blocks_, [&](const UnsyncedBlock& block) { return block.file == file; });
  }

  void set_emptied(const Subset& emptied) {
    outcome_.emptied.clear();
    for (std::size_t i = 0; i < unsized_.size(); ++i)
      if (emptied[i]) outcome_.emptied.insert(unsized_[i]);
  }

  void emit(const std::vector<std::size_t>& versions) {
    fill(versions);
    emit_(outcome_);
  }

  void fill(const std::vector<std::size_t>& versions) {
    outcome_.blocks.clear();
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      outcome_.blocks.push_back({blocks_[i].file, blocks_[i].block, blocks_[i].versions[versions[i]].content, versions[i]});
  }

  /// Each combination of versions of the blocks that are in files with a size.
  void emit_versions() {
    std::vector<std::size_t> versions(blocks_.size());
    std::size_t at = 0;
    while (at < blocks_.size() || blocks_.empty()) {
      emit(versions);
      if (blocks_.empty()) return;
      // The next combination: numbers of digits that have different bases.
      for (at = 0; at < blocks_.size(); versions[at++] = 0)
        if (!outcome_.emptied.contains(blocks_[at].file) && ++versions[at] < blocks_[at].versions.size()) break;
    }
  }

  [[nodiscard]] std::vector<std::size_t> versions_of(const Subset& there) const {
    std::vector<std::size_t> versions(blocks_.size());
    for (std::size_t i = 0; i < writes_.size(); ++i)
      if (there[i]) versions[writes_[i].block] = writes_[i].version;
    return versions;
  }

  void emit_subset(const Subset& there) { emit(versions_of(there)); }

  /// The write is torn in each way, the others before `end` are there.
  void emit_shapes(std::size_t write, std::size_t end) {
    const Write torn = writes_[write];
    std::vector<std::size_t> versions = versions_of(range_of(writes_.size(), 0, end, true));
    versions[torn.block] = torn.version;
    fill(versions);
    const auto& of_block = blocks_[torn.block].versions;
    CrashOutcome::BlockFate& fate = outcome_.blocks[torn.block];
    for (std::size_t shape = 0; shape < torn_shapes; ++shape) {
      const bool garbage = shape == torn_sectors.size();
      fate.sectors = garbage ? 0x0f : torn_sectors[shape];
      fate.content = torn_block(of_block[torn.version - 1].content, of_block[torn.version].content, fate.sectors,
                                garbage ? order_of(torn) : 0);
      emit_(outcome_);
    }
  }

  std::vector<UnsyncedBlock> blocks_;
  std::vector<FileNumber> unsized_;
  const Emit& emit_;
  std::vector<Write> writes_;  // in their order
  CrashOutcome outcome_;
};

/// The states behind a crash at one moment.
void emit_moment(const DiskContents& contents, std::size_t steps_done, const CrashLimits& limits,
                 const CrashStateFunction& function, CrashStateCounts& counts) {
  Random random(limits.seed + steps_done, Purpose::crashes);
  const BlockStates::Emit emit = [&](const CrashOutcome& outcome) {
    ++counts.states;
    SimulatedDisk disk(contents.after_crash(outcome), limits.seed);
    function(disk, {steps_done, outcome});
  };
  for (const DiskNames& names : names_outcomes(contents, limits, random)) {
    BlockStates states(contents, names, emit);
    if (states.count(limits.exhaustive_max + 1) <= limits.exhaustive_max) {
      states.emit_all();
    } else {
      ++counts.sampled_outcomes;
      states.emit_sample(limits.samples, random);
    }
    const std::uint64_t whole = counts.states;
    states.emit_torn(limits.torn_writes);
    counts.torn_states += counts.states - whole;
  }
}

}  // namespace

std::string to_string(const CrashPoint& point) {
  return "after " + std::to_string(point.steps_done) + " steps: " + to_string(point.outcome);
}

CrashStateCounts for_each_crash_state(const DiskContents& before, std::span<const DiskStep> trace, const CrashLimits& limits,
                                      const CrashStateFunction& function) {
  CrashStateCounts counts;
  DiskContents contents = before;
  for (std::size_t done = 0; done <= trace.size(); ++done) {
    if (done < trace.size() && trace[done].kind == DiskStep::Kind::write_durably) {
      // Until such a write returns it is one like any other; the states without it are among those with it.
      DiskStep under_way = trace[done];
      under_way.kind = DiskStep::Kind::write;
      DiskContents middle = contents;
      middle.apply(under_way);
      emit_moment(middle, done, limits, function, counts);
    } else {
      emit_moment(contents, done, limits, function, counts);
    }
    if (done < trace.size()) contents.apply(trace[done]);
  }
  return counts;
}

CrashStateCounts for_each_crash_state(std::span<const DiskStep> trace, const CrashLimits& limits,
                                      const CrashStateFunction& function) {
  return for_each_crash_state({}, trace, limits, function);
}

}  // namespace spindrift::sim
