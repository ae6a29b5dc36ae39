// The rows of every process in every view, as the fabric shows them: what the words must never do, whatever the protocol
// does with them. Reads memory from outside; the layout is the documented one (sst/row_layout.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include <spindrift/core/view.hpp>
#include <spindrift/sst/row_layout.hpp>
#include <spindrift/views/rank_set.hpp>

#include "../report.hpp"
#include "../sim_fabric.hpp"

namespace spindrift::sim {

/// One process's row of one view.
struct RowBook {
  std::uint32_t process = 0;
  Rank rank;
  const View* view = nullptr;  ///< outlives the book
  sst::RowLayout layout;
  const std::byte* memory = nullptr;
  bool released = false;
  bool was_wedged = false;
  std::uint64_t accepted = 0;     ///< as last seen
  std::vector<std::byte> before;  ///< control words after the owner's last step
};

class Rows {
 public:
  explicit Rows(Report& report) : report_(report) {}

  void on_row(std::uint32_t process, Rank rank, const View& view, const std::byte* memory);
  void on_mirror(const std::byte* memory, ViewId view) { regions_[memory] = view.value(); }
  /// The views of before are not those of now any more.
  void forget();
  void on_released(std::uint32_t process, ViewId view);

  /// After every step of a process: its own row.
  void after_step(std::uint32_t process);
  /// Somebody goes to the view after this one: a majority accepted one decree (V4).
  void check_quorum(const View& view);
  /// A delivery by the ordinary way: everybody had acknowledged it (M5w).
  void check_held(const View& view, std::uint32_t subgroup, std::uint64_t sequence);
  /// A write was posted.
  void on_posted(const NetworkListener::Write& write);
  /// A line is about to land.
  void on_landing(const NetworkListener::Write& write, std::uint64_t offset, const std::byte* bytes, std::size_t size);

  [[nodiscard]] const RowBook* book(ViewId view, std::uint32_t process) const;
  /// Nothing of a process is watched any more; what it wrote stays.
  void on_end(std::uint32_t process) { present_.erase(process); }

  [[nodiscard]] static std::uint64_t word(const RowBook& book, std::uint64_t offset);
  [[nodiscard]] static views::RankSet suspected(const RowBook& book);
  /// The lowest rank that this process does not suspect is its own.
  [[nodiscard]] static bool leads(const RowBook& book);

 private:
  void check_own(RowBook& book);
  void note_acceptance(const RowBook& book);

  Report& report_;
  std::map<ViewId, std::map<std::uint32_t, RowBook>> books_;     // by process
  std::map<std::uint32_t, std::vector<RowBook*>> present_;       // by process, those not released
  std::unordered_map<const std::byte*, std::uint64_t> regions_;  // first byte of a row or mirror: its view
};

}  // namespace spindrift::sim
