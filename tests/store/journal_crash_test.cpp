// Every state in which a crash may leave the disk under a journal, by what the journal itself wrote and synced: whatever
// was reported durable is there, once and in order, and nothing that was not appended.
#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "checkpoint_fixture.hpp"
#include "crash_states.hpp"
#include "journal_fixture.hpp"
#include "simulated_disk.hpp"

namespace spindrift::store {
namespace {

using sim::SimulatedDisk;

/// The promises of a journal behind so many steps of its disk.
struct Promised {
  std::size_t steps = 0;
  std::uint64_t durable = 0;
  std::uint64_t trimmed = 0;  ///< entries before it may be gone
  std::uint64_t checkpoint = 0;  ///< version of the last one that is durable; 0: none is
};

/// Each checkpoint is of subgroup 0 and of the count of its messages by then, which is not 0; its state follows from that.
std::string state_at(std::uint64_t version) { return std::to_string(version) + std::string(15'000 + version, 's'); }

/// A process that works with a journal, and keeps book of what it was promised.
class Worker {
 public:
  Worker(SimulatedDisk& disk, std::uint64_t incarnation, const JournalOptions& options, std::vector<std::string> before = {})
      : disk_(disk), storage_(disk.storage()), texts_(std::move(before)) {
    trimmed_ = value_or_throw(examine(*storage_, test_owner)).first().value();
    note({0, texts_.size(), trimmed_, 0});
    journal_.emplace(value_or_throw(open_journal(*storage_, incarnation, options)));
    note();
  }

  void commit(std::initializer_list<std::size_t> sizes) {
    Batch batch;
    for (const std::size_t size : sizes) {
      texts_.push_back(std::to_string(texts_.size()) + ":" + std::string(size, 'x'));
      append_text(batch, texts_.back(), SubgroupId(static_cast<std::uint32_t>(texts_.size() % 2)));
    }
    value_or_throw(journal_->commit(batch));
    note();
  }
  /// Each piece in a batch of its own, the first behind a message of subgroup 1.
  void checkpoint() {
    const std::uint64_t version = journal_->ends().of(SubgroupId(0)).version.value();
    first_piece_ = texts_.size() + 1;
    Batch batch;
    append_text(batch, texts_.emplace_back("between"), SubgroupId(1));
    for (const auto& piece : pieces_of(SubgroupId(0), version, state_at(version), 6000)) {
      texts_.emplace_back(reinterpret_cast<const char*>(piece.data()), piece.size());
      batch.append(piece_head(), piece);
      value_or_throw(journal_->commit(batch));
      note();
    }
    checkpoint_ = version;
    note();
  }
  void trim_to_checkpoint() { trim(first_piece_); }
  void prepare() {
    value_or_throw(journal_->prepare());
    note();
  }
  void vouch() {
    value_or_throw(journal_->vouch());
    note();
  }
  void trim(std::uint64_t before) {
    trimmed_ = std::max(trimmed_, before);
    value_or_throw(journal_->trim(JournalPosition(before)));
    note();
  }
  void close() {
    value_or_throw(journal_->close());
    note();
  }

  [[nodiscard]] const std::vector<std::string>& texts() const noexcept { return texts_; }
  [[nodiscard]] Promised promised(std::size_t steps) const {
    Promised promised;
    for (const Promised& each : all_) {
      if (each.steps > steps) {
        promised.trimmed = each.trimmed;  // what is under way may have happened
        break;
      }
      promised = each;
    }
    return promised;
  }

 private:
  void note() { note({disk_.steps().size(), journal_->durable().value(), trimmed_, checkpoint_}); }
  void note(const Promised& promised) { all_.push_back(promised); }

  SimulatedDisk& disk_;
  std::unique_ptr<Storage> storage_;
  std::optional<Journal> journal_;
  std::vector<std::string> texts_;
  std::uint64_t trimmed_ = 0;
  std::uint64_t checkpoint_ = 0;   // version of the last one
  std::uint64_t first_piece_ = 0;  // its position
  std::vector<Promised> all_;
};

/// Throws what is not as it should be, so that a million states cost no assertion each.
void demand(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

/// The checkpoint that was durable counts, or a later one, and is as it was written; and so does no other.
void check_checkpoint(Storage& storage, const JournalFindings& findings, std::uint64_t promised) {
  const CheckpointLedger ledger = ledger_of(storage, findings);
  const Checkpoint* const counting = ledger.of(SubgroupId(0));
  demand(ledger.of(SubgroupId(1)) == nullptr, "there is a checkpoint that nobody made");
  demand(counting != nullptr || promised == 0, "a checkpoint that was durable is gone");
  if (counting == nullptr) return;
  demand(counting->version.value() >= promised, "an earlier checkpoint counts than the one that was durable");
  const bool same = state_of(storage, findings, *counting) == state_at(counting->version.value());
  demand(same, "a state is another than was stored");
}

/// Opens the journal on that disk as the node's next process, which adds an entry, and loses what it can.
void check_state(SimulatedDisk& disk, const std::vector<std::string>& texts, const Promised& promised) {
  auto storage = disk.storage();
  const JournalFindings findings = value_or_throw(examine(*storage, test_owner));
  demand(findings.loss() == nullptr, "what a crash left is taken for damage");
  demand(findings.end.value() >= promised.durable, "entries that were durable are gone");
  demand(findings.end.value() <= texts.size(), "there are entries that nobody appended");
  demand(findings.first().value() <= promised.trimmed, "entries that were not trimmed are gone");
  std::vector<std::string> expected(texts.begin() + static_cast<std::ptrdiff_t>(findings.first().value()),
                                    texts.begin() + static_cast<std::ptrdiff_t>(findings.end.value()));
  const auto read = [](Storage& from) {
    std::vector<std::string> all;
    for (const ReadEntry& entry : read_entries(from, value_or_throw(examine(from, test_owner)))) all.push_back(entry.text);
    return all;
  };
  demand(read(*storage) == expected, "the entries are others than were appended");
  check_checkpoint(*storage, findings, promised.checkpoint);
  {
    Journal next = value_or_throw(open_journal(*storage, 1000));
    demand(next.end() == findings.end, "the next process goes on elsewhere");
    value_or_throw(commit_texts(next, {"next"}));
  }
  expected.emplace_back("next");
  disk.crash(sim::everything_lost);
  demand(read(*disk.storage()) == expected, "behind the next process's entry something else is there");
}

struct Enumerated {
  std::uint64_t states = 0;
  std::string violation;  // the first one
};

/// Goes through the states behind a piece of work, on a disk that held `before`.
Enumerated enumerate(const sim::DiskContents& before, const SimulatedDisk& disk, const Worker& worker, bool reordered) {
  Enumerated result;
  const auto look = [&](SimulatedDisk& state, const sim::CrashPoint& point) {
    if (!result.violation.empty()) return;
    try {
      check_state(state, worker.texts(), worker.promised(point.steps_done));
    } catch (const std::exception& why) {
      result.violation = std::string(why.what()) + ": " + to_string(point);
    }
  };
  const sim::CrashLimits limits{.exhaustive_max = 16384, .samples = 300, .reordered = reordered};
  result.states = for_each_crash_state(before, disk.steps(), limits, look).states;
  return result;
}

using Work = std::function<void(Worker&)>;

void commits_and_segments(Worker& worker) {
  worker.commit({10});
  worker.commit({100, 5000, 3000});
  worker.vouch();
  worker.commit({9000});
  worker.commit({12'000, 30});
  worker.commit({20'000});
  worker.vouch();
  worker.commit({1});
}

void trims(Worker& worker) {
  for (int i = 0; i < 4; ++i) worker.commit({7000, 100});
  worker.vouch();
  worker.trim(5);
  worker.commit({7000});
  worker.vouch();
  worker.trim(8);
  worker.commit({50});
  worker.close();
}

void checkpoints(Worker& worker) {
  worker.commit({7000, 100});
  worker.checkpoint();
  worker.commit({7000});
  worker.vouch();
  worker.trim_to_checkpoint();
  worker.commit({100, 200});
  worker.checkpoint();
  worker.commit({9000});
  worker.trim_to_checkpoint();
  worker.commit({50});
  worker.close();
}

void prepares(Worker& worker) {
  worker.prepare();
  worker.commit({10, 4000});
  worker.prepare();
  worker.commit({5000});
  worker.vouch();
  worker.prepare();
  worker.commit({9000});
  worker.close();
}

constexpr JournalOptions with_preparing{
    .segment_bytes = 12 * block_bytes, .prepared_bytes = 3 * block_bytes, .format = SegmentFormat::third};

/// Whatever a node's thread may do with a journal, in a random order.
void anything(Worker& worker, std::uint64_t seed) {
  sim::Random random(seed, sim::Purpose::workload);
  const auto size = [&] { return static_cast<std::size_t>(random.spread(1, 12'000)); };
  for (int step = 0; step < 12; ++step) {
    switch (random.below(8)) {
      case 0: worker.commit({size(), size(), size()}); break;
      case 1: worker.prepare(); break;
      case 2: worker.vouch(); break;
      case 3: worker.trim(random.below(worker.texts().size() + 1)); break;
      default: worker.commit({size()});
    }
  }
  if (random.chance(1, 3)) worker.close();
}

TEST_CASE("whatever a crash leaves of a journal's disk, what was durable is there and nothing else was invented") {
  for (const Work& work : {Work(commits_and_segments), Work(trims), Work(checkpoints), Work(prepares)}) {
    for (const bool reordered : {false, true}) {
      SimulatedDisk disk(1);
      Worker worker(disk, 1, with_preparing);
      work(worker);
      CHECK(enumerate({}, disk, worker, reordered).violation == "");
    }
  }
}

TEST_CASE("the same holds of anything that processes do, one behind the other's crash") {
  std::uint64_t states = 0;
  for (std::uint64_t seed = 1; states < SPINDRIFT_CRASH_STATES; ++seed) {
    SimulatedDisk disk(seed);
    std::vector<std::string> texts;
    for (std::uint64_t process = 1; process <= 3; ++process) {
      const sim::DiskContents before = disk.contents();
      Worker worker(disk, process, with_preparing, texts);
      anything(worker, 10 * seed + process);
      const Enumerated result = enumerate(before, disk, worker, process % 2 == 0);
      INFO(seed);
      REQUIRE(result.violation == "");
      states += result.states;
      texts = worker.texts();
      disk.crash(sim::CrashChoice{.there_in_100 = 60, .torn_in_100 = 30});
      texts.resize(value_or_throw(examine(*disk.storage(), test_owner)).end.value());
    }
  }
}

}  // namespace
}  // namespace spindrift::store
