// The shared state table as one member sees it: its own row, which it alone writes, and every peer's row, which it only
// reads: in place where the peer's segment is mapped, in a local mirror that the peer writes where it is not. Nobody above
// this class can tell the two apart.
//
// The invariant to remember: stores to the own row are made in guard order (bulk bytes, ring bytes, words, activity), and a
// push posts what changed in that same order on one connection per peer; so a guard never overtakes its data. A line of
// words is copied when it is staged, so a push shows peers the stores of a pass in their order, behind all bytes of the
// pass.
//
// Threading: the poller's only.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <spindrift/core/counters.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/core/untrusted.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/sst/bulk_rings.hpp>
#include <spindrift/sst/row_layout.hpp>

namespace spindrift::sst {

class Table {
 public:
  /// `view` must outlive the table. `own_row` is `layout(self).shared_bytes()` of zeroed registered memory.
  Table(const View& view, NodeId self, std::span<std::byte> own_row);

  [[nodiscard]] Rank self() const noexcept { return self_; }
  [[nodiscard]] const View& view() const noexcept { return view_; }
  [[nodiscard]] const RowLayout& layout(Rank rank) const { return rows_[rank.value()].layout; }

  /// The own ring of a subgroup, if it is split off: `ring_bytes` of zeroed registered memory.
  void set_own_ring(SubgroupId id, std::span<std::byte> ring);
  /// The ring of that subgroup, which is split off the peer's row, can be read in place; before the row is attached.
  void attach_ring(Rank rank, SubgroupId id, std::span<const std::byte> ring);
  /// The peer's row can be read in place. `row.size()` is at least the layout's `shared_bytes`.
  void attach_mapped(Rank rank, std::span<const std::byte> row);
  /// The peer writes its row into `mirror`; this member's row is pushed to it as `remote`, with the next push all of what
  /// was stored so far.
  void attach_mirrored(Rank rank, std::span<const std::byte> mirror, fabric::PeerId peer, fabric::RegionKey remote);
  [[nodiscard]] bool attached(Rank rank) const { return rows_[rank.value()].memory != nullptr; }

  /// Its row is read in place: what is stored there is seen at once.
  [[nodiscard]] bool mapped(Rank rank) const { return attached(rank) && !rows_[rank.value()].mirrored; }

  /// A word of any row, the own one included. `offset` comes from `layout(rank)`.
  [[nodiscard]] Untrusted<std::uint64_t> read(Rank rank, std::uint64_t offset) const {
    return read_word(word_of(rank, offset));
  }
  /// Bytes of any row that lie before its rings.
  [[nodiscard]] const std::byte* bytes(Rank rank, std::uint64_t offset) const { return rows_[rank.value()].memory + offset; }
  /// The ring in which that member sends to a subgroup of this one, as it is seen here.
  [[nodiscard]] const std::byte* ring(Rank rank, SubgroupId id) const;
  /// The own ring, for messages built in place; if this member sends there.
  [[nodiscard]] std::span<std::byte> own_ring(SubgroupId id) const { return own_rings_.at(id.value()); }
  [[nodiscard]] std::uint64_t own(std::uint64_t offset) const noexcept { return load_acquire(own_row_.data() + offset); }

  /// Sets a word of the own row, published after every earlier write to the row, and stages its cache line for the members
  /// that `audience` names. CHECKs that it never decreases. Mapped peers see it at once.
  enum class Audience : std::uint32_t {};  ///< a subgroup's members, or everybody
  static constexpr Audience everybody{0xffffffff};
  static constexpr Audience members_of(SubgroupId id) noexcept { return Audience{id.value()}; }
  void store(std::uint64_t offset, std::uint64_t value, Audience audience);

  /// Sets data behind the words (the decree, or bytes of program tables) that a word stored afterwards guards.
  void store_data(std::uint64_t offset, std::span<const std::uint64_t> words, Audience audience);

  /// Stages bytes of the own ring for the mirrors of the subgroup's members. Stage before the guard's `store`.
  void stage_ring(SubgroupId id, std::uint64_t offset, std::uint64_t bytes);

  /// The bulk rings of a subgroup that this member is in and whose profile has some.
  [[nodiscard]] BulkRings& bulk(SubgroupId id) { return *bulk_.at(id.value()); }
  /// Stages bytes of a sender's bulk ring, as they are here, for one member's mirror; does nothing if that one maps rows.
  /// They are posted before all else of the push. Stage before the guard's `store`.
  void stage_bulk(SubgroupId id, std::size_t sender, std::uint64_t offset, std::uint64_t bytes, Rank to);

  /// Marks a subgroup as having news, after its words were stored.
  void bump_activity(SubgroupId subgroup);

  /// Nothing of this row is read any more, and nothing pushed to it: every later `read` of it is a bug.
  void freeze(Rank rank);
  [[nodiscard]] bool frozen(Rank rank) const { return rows_[rank.value()].frozen; }
  /// The same as `read`, also of a frozen row: what it says in the end, for its owner is gone.
  [[nodiscard]] Untrusted<std::uint64_t> read_last(Rank rank, std::uint64_t offset) const {
    SPINDRIFT_CHECK(attached(rank) && offset + word_bytes <= layout(rank).control_bytes());
    return read_word(rows_[rank.value()].memory + offset);
  }

  /// Shows that this member lives, without waking anybody for it.
  void beat();
  /// The same at once, in the middle of a pass whose thread is in an upcall: nothing that is staged goes along, so that no
  /// guard overtakes what it guards.
  [[nodiscard]] Result<void> beat_amid_pass(fabric::Fabric& fabric);

  /// Members of a subgroup whose mirrors a push writes to, bytes of earlier pushes to any of them of whose end nothing is
  /// known, and as many of these as wait elsewhere (fabric::Traits::buffered_bytes).
  struct Backlog {
    std::uint64_t mirrors = 0;
    std::uint64_t unsent_bytes = 0;
    std::uint64_t buffered_bytes = 0;
  };
  [[nodiscard]] Backlog backlog(const fabric::Fabric& fabric, SubgroupId subgroup) const;

  /// Posts everything staged, one list for all mirrored peers, and wakes mapped peers that sleep. The last act of a pass.
  [[nodiscard]] Result<void> push(fabric::Fabric& fabric);
  [[nodiscard]] bool news() const noexcept { return news_; }

 private:
  struct Row {
    explicit Row(RowLayout where) : layout(std::move(where)) {}
    RowLayout layout;
    const std::byte* memory = nullptr;
    bool mirrored = false;
    bool frozen = false;
    bool behind = false;  ///< mirrored, and what was stored before it was attached is still to be pushed
    fabric::PeerId peer;
    fabric::RegionKey remote;
    std::vector<const std::byte*> rings;  ///< by subgroup: those that are mapped by themselves; else null
  };
  struct Staged {
    std::byte* local;
    std::uint64_t offset;  ///< in a mirror
    std::uint64_t bytes;
    Audience audience;
  };
  struct StagedBulk {
    Rank to;
    fabric::Operation write;
  };
  struct StagedLine {
    std::uint64_t offset;
    Audience audience;
    std::array<std::byte, cache_line_bytes> words;
  };

  [[nodiscard]] const std::byte* word_of(Rank rank, std::uint64_t offset) const {
    const Row& row = rows_[rank.value()];
    SPINDRIFT_CHECK(offset + word_bytes <= row.layout.control_bytes() && !row.frozen);
    return row.memory + offset;
  }
  [[nodiscard]] bool hears(std::uint32_t rank, Audience audience) const noexcept;
  void stage_line(std::vector<StagedLine>& lines, std::uint64_t offset, Audience audience);
  bool catch_up(std::uint32_t rank);
  void post_bulk_to(std::uint32_t rank);
  void post_bytes_to(std::uint32_t rank);
  void post_lines_to(std::uint32_t rank, std::vector<StagedLine>& lines);

  void set_word(std::uint64_t offset, std::uint64_t value);

  const View& view_;
  Rank self_;
  std::span<std::byte> own_row_;
  std::vector<std::span<std::byte>> own_rings_;  // by subgroup; empty where this member does not send
  std::vector<Row> rows_;                        // by rank
  std::vector<std::vector<bool>> in_subgroup_;   // by subgroup, by rank
  std::vector<std::unique_ptr<BulkRings>> bulk_;  // by subgroup; null where there are none for this member
  std::vector<StagedBulk> staged_bulk_;
  std::vector<Staged> staged_bytes_;
  std::vector<StagedLine> staged_lines_;
  std::vector<StagedLine> staged_activity_;
  std::vector<fabric::Operation> operations_;
  bool any_mirrored_ = false;
  bool news_ = false;      // to be pushed, and peers on this host to be woken
  bool beating_ = false;   // to be pushed
};

}  // namespace spindrift::sst
