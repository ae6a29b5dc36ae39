// The simulator's own books of what every application sent and what every sender published, kept from the ring format's
// documentation (smc/record.hpp) and the senders' rows; the protocol objects are not asked.
//
// The invariant to remember: `published` is what the owner's `committed` word covers, read from the owner's own memory, so
// it is the truth that every receiver is measured against.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <string>
#include <vector>

#include <spindrift/core/view.hpp>
#include <spindrift/smc/send_ring.hpp>
#include <spindrift/sst/row_layout.hpp>

#include "report.hpp"

namespace spindrift::sim {

/// One reservation of an application, in the order of reserving.
struct Sent {
  enum class State : std::uint8_t { held, committed, abandoned };
  State state = State::held;
  std::uint64_t seed = 0;            ///< of the payload
  std::uint64_t bytes = 0;           ///< of the payload
  std::uint64_t number = 0;          ///< of its record, modulo 2^24
  std::uint64_t offset = 0;          ///< of its header in the ring
  bool large = false;
  std::uint64_t bulk_offset = 0;     ///< of a large one's payload in the bulk ring
  std::uint64_t after_sequence = 0;  ///< sequence numbers below it had been delivered at the sender when it committed
};

/// One record in a ring, as published.
struct Record {
  std::uint64_t position = 0;  ///< of the header; grows for ever, the offset is this modulo the ring's size
  std::uint64_t bytes = 0;     ///< with header and alignment
  std::uint64_t padding = 0;   ///< bytes skipped before it, 0 or more; a padding header opens them
  std::uint64_t payload = 0;
  std::size_t sent = 0;  ///< of a large message, which of the application's
  bool large = false;
  std::uint64_t first = 0;  ///< index of its first message
  std::uint64_t count = 0;  ///< messages that it stands for
};

/// One message index, as published.
struct Published {
  bool null = false;
  std::uint64_t sent = 0;  ///< which of the application's, unless null
};

struct SenderBook {
  std::vector<Sent> sent;
  std::size_t sent_published = 0;        ///< of `sent`, how many lie in published records
  std::uint64_t committed_messages = 0;  ///< of `sent`, how many are to be delivered
  std::vector<Record> records;
  std::size_t records_released = 0;  ///< prefix that every live member has delivered
  std::vector<Published> published;
  std::uint64_t position = 0;  ///< where the next record starts
};

class Ledger {
 public:
  Ledger(const View& view, Report& report);

  /// The owner's row, once it is allocated.
  void set_row(Rank rank, const std::byte* row) { rows_[rank.value()] = row; }
  /// A sender's ring, if it is split off the row.
  void set_ring(std::uint32_t subgroup, Rank owner, const std::byte* ring) { rings_[{subgroup, owner.value()}] = ring; }
  [[nodiscard]] const std::byte* ring(std::uint32_t subgroup, Rank owner) const;
  /// The owner's place of what lies at that offset of its mirrors.
  [[nodiscard]] const std::byte* own(Rank owner, std::uint64_t offset) const;
  /// A sender's bulk ring.
  void set_bulk(std::uint32_t subgroup, Rank owner, const std::byte* ring) { bulk_[{subgroup, owner.value()}] = ring; }
  [[nodiscard]] const std::byte* bulk(std::uint32_t subgroup, Rank owner) const {
    return bulk_.at({subgroup, owner.value()});
  }
  [[nodiscard]] const std::byte* row(Rank rank) const { return rows_[rank.value()]; }
  [[nodiscard]] const sst::RowLayout& layout(Rank rank) const { return layouts_[rank.value()]; }
  [[nodiscard]] std::uint64_t word(Rank rank, std::uint64_t offset) const;
  [[nodiscard]] const SubgroupView& subgroup(std::uint32_t id) const { return view_.subgroups[id]; }
  [[nodiscard]] Rank rank_of(NodeId node) const { return *view_.rank_of(node); }
  [[nodiscard]] Rank sender_rank_in_view(std::uint32_t subgroup, std::uint32_t sender) const {
    return sender_ranks_[subgroup][sender];
  }
  [[nodiscard]] const std::vector<Rank>& member_ranks(std::uint32_t subgroup) const { return member_ranks_[subgroup]; }

  [[nodiscard]] SenderBook& book(std::uint32_t subgroup, std::uint32_t sender) { return books_[subgroup][sender]; }
  [[nodiscard]] std::vector<SenderBook>& books(std::uint32_t subgroup) { return books_[subgroup]; }

  /// An application got space. Checks R1, R3 and R4; returns its place in `sent`.
  std::size_t on_reserved(std::uint32_t subgroup, std::uint32_t sender, const smc::Reservation& reservation,
                          std::uint64_t seed);
  void on_committed(std::uint32_t subgroup, std::uint32_t sender, std::size_t sent, std::uint64_t after_sequence);
  void on_abandoned(std::uint32_t subgroup, std::uint32_t sender, std::size_t sent);

  /// Reads what the owner published since the last time. Checks R1–R4, M1 at the source, M9, M10.
  void refresh(std::uint32_t subgroup, std::uint32_t sender);

  /// The count that this sender's messages must reach for what the others published to be deliverable.
  [[nodiscard]] std::uint64_t nulls_owed(std::uint32_t subgroup, std::uint32_t sender) const;

  /// Whether the record's bytes in a mirror of the owner's row are what the owner's are.
  [[nodiscard]] bool holds(std::uint32_t subgroup, std::uint32_t sender, const Record& record,
                           const std::byte* mirror) const;

 private:
  void release(std::uint32_t subgroup, std::uint32_t sender);
  bool publish_one(std::uint32_t subgroup, std::uint32_t sender, std::uint64_t committed);
  bool publish_sent(std::uint32_t subgroup, std::uint32_t sender, smc::RecordHeader header, Record& record);
  bool publish_nulls(std::uint32_t subgroup, std::uint32_t sender, smc::RecordHeader header, Record& record);
  void check_piece(std::uint32_t subgroup, std::uint32_t sender, const Sent& sent);
  bool refuse(const char* invariant, std::uint32_t subgroup, std::uint32_t sender, const std::string& what);

  const View& view_;
  Report& report_;
  std::vector<sst::RowLayout> layouts_;
  std::vector<const std::byte*> rows_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, const std::byte*> rings_;  // by subgroup, by rank
  std::map<std::pair<std::uint32_t, std::uint32_t>, const std::byte*> bulk_;   // likewise
  std::vector<std::vector<SenderBook>> books_;
  std::vector<std::vector<Rank>> sender_ranks_;
  std::vector<std::vector<Rank>> member_ranks_;
};

}  // namespace spindrift::sim
