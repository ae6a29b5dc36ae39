// The rows of every process in every view, as the fabric shows them: what the words must never do, whatever the protocol
// does with them. Reads memory from outside; the layout is the documented one (sst/row_layout.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include <spindrift/core/view.hpp>
#include <spindrift/views/rank_set.hpp>

#include "../bulk_memory.hpp"
#include "../report.hpp"
#include "../sim_fabric.hpp"
#include "endings.hpp"

namespace spindrift::sim {

class Rows {
 public:
  /// The large message that a write carries: the poster's own, or one that it hands on.
  enum class LargePost : std::uint8_t { own, handed_on };
  explicit Rows(Report& report, bool majority_rules = true) : report_(report), endings_(report, majority_rules) {}

  void on_revival(ViewId view) { endings_.on_revival(view); }
  void on_row(std::uint32_t process, Rank rank, const View& view, const std::byte* memory);
  /// `process` has a mirror of somebody's row there.
  void on_mirror(const std::byte* memory, ViewId view, std::uint32_t process);
  /// The ring of `process`, which has a row in that view, is split off it.
  void on_ring(std::span<const std::byte> memory, const View& view, std::uint32_t process, std::uint32_t subgroup);
  /// `process` has memory for large messages there.
  void on_bulk(std::span<const std::byte> memory, const View& view, std::uint32_t process, std::uint32_t subgroup, bool own);
  /// The views of before are not those of now any more.
  void forget();
  void on_released(std::uint32_t process, ViewId view);

  /// After every step of a process: its own row.
  void after_step(std::uint32_t process);
  /// Somebody goes to the view after this one: a majority accepted one decree, or all that live (V4).
  void check_quorum(const View& view);
  /// A delivery by the ordinary way: everybody had acknowledged it (M5w), and the view's trim has it (V10).
  void on_delivered(const View& view, std::uint32_t process, std::uint32_t subgroup, std::uint64_t sequence);
  /// A write was posted.
  void on_posted(const NetworkListener::Write& write);
  /// Nothing: the write carries no large message.
  [[nodiscard]] std::optional<LargePost> large_post(const NetworkListener::Write& write) const;
  /// A line is about to land.
  void on_landing(const NetworkListener::Write& write, std::uint64_t offset, const std::byte* bytes, std::size_t size);
  /// It has: what a guard vouches for is there (S3). A suspect's bytes are spoiled: a member that still reads them goes
  /// wrong (V8).
  void on_landed(const NetworkListener::Write& write, std::uint64_t offset, std::size_t size);

  [[nodiscard]] const RowBook* book(ViewId view, std::uint32_t process) const;
  /// The process crashed.
  void on_crash(std::uint64_t incarnation) { endings_.on_crash(incarnation); }
  /// Nothing of a process is watched any more; what it wrote stays.
  void on_end(std::uint32_t process) { present_.erase(process); }

  [[nodiscard]] static std::uint64_t word(const RowBook& book, std::uint64_t offset);
  [[nodiscard]] static views::RankSet suspected(const RowBook& book);
  /// The lowest rank that this process does not suspect is its own.
  [[nodiscard]] static bool leads(const RowBook& book);

 private:
  /// How far the records of one ring were seen to be whole in a mirror.
  struct RingSeen {
    std::uint64_t count = 0;  ///< messages
    std::uint64_t records = 0;
    std::uint64_t position = 0;  ///< bytes since the ring began
  };
  /// A row, or a mirror of one.
  struct Region {
    std::uint64_t view = 0;
    RowBook* reader = nullptr;  ///< of a mirror: its process's own row
    RowBook* owner = nullptr;   ///< of a mirror: the row, once something landed
    std::uint64_t accepted = 0;
    std::uint64_t promises = 0;  ///< of the owner's, that were seen
    bool wedged = false;
    std::vector<RingSeen> rings;  ///< by subgroup
  };

  void check_own(RowBook& book, const Endings::Books& books);
  void check_memory_of(RowBook& book);
  void note_acceptance(const RowBook& book);
  [[nodiscard]] bool consent_of_all_that_live(const View& view);

  // guards.cpp
  Region* mirror_of(const NetworkListener::Write& write);
  [[nodiscard]] static bool suspects_owner(const Region& mirror);
  void check_readers(const Region& mirror, std::uint64_t offset, std::size_t size);
  void check_ring(Region& mirror, const std::byte* memory, std::uint32_t subgroup);
  void check_decree(Region& mirror, const std::byte* memory);
  void check_counts(Region& mirror, const std::byte* memory);
  void check_promises(Region& mirror, const std::byte* memory);
  void unguarded(const Region& mirror, const char* what);

  void check_ring_write(const NetworkListener::Write& write, const BulkMemory::Place& source);

  // bulk.cpp
  void check_bulk_write(const NetworkListener::Write& write, const BulkMemory::Place& target);
  void on_bulk_landed(const NetworkListener::Write& write, const BulkMemory::Place& target, std::uint64_t offset,
                      std::size_t size);

  Report& report_;
  Endings endings_;
  std::map<ViewId, Endings::Books> books_;
  std::map<std::uint32_t, std::vector<RowBook*>> present_;  // by process, those not released
  std::unordered_map<const std::byte*, Region> regions_;    // by first byte
  BulkMemory rings_;  // that are split off rows
  BulkMemory bulk_;
  std::map<std::uint32_t, std::set<std::uint64_t>> ever_suspected_;  // by process, incarnations
};

}  // namespace spindrift::sim
