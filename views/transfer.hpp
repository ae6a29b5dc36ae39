// States under way between members. A source keeps what it saved at the boundary until every newcomer has it; pieces go out
// as earlier ones are acknowledged, so that a slow newcomer costs bounded memory on the way. What a source kept back for an
// application without a handler travels behind the state, see Inbox.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <spindrift/core/ids.hpp>
#include <spindrift/views/upcalls.hpp>

namespace spindrift::views {

/// One subgroup's state and the deliveries behind it, as of the beginning of a view.
struct SavedState {
  std::unique_ptr<StateReader> reader;  ///< null: the application has no state
  std::vector<std::byte> kept;          ///< Inbox::encode

  [[nodiscard]] std::uint64_t state_bytes() const { return reader ? reader->bytes() : 0; }
  [[nodiscard]] std::uint64_t total_bytes() const { return state_bytes() + kept.size(); }
  /// The stream's bytes from `offset` on; `to` ends within the stream.
  void read(std::uint64_t offset, std::span<std::byte> to) const;
};

struct OutgoingState {
  NodeId to;
  ViewId view;
  SubgroupId subgroup;
  std::shared_ptr<const SavedState> state;
  std::uint64_t sent = 0;
  std::uint64_t acknowledged = 0;
  bool begun = false;  ///< a state of no bytes is one empty piece
};

struct IncomingState {
  NodeId from;
  ViewId view;
  SubgroupId subgroup;
  std::unique_ptr<StateWriter> writer;
  std::vector<std::byte> kept;  ///< taken: the deliveries behind the state
  std::uint64_t taken = 0;      ///< of the stream
  std::uint64_t state_bytes = 0;
  std::uint64_t total_bytes = 0;
  bool begun = false;
  std::vector<std::byte> waiting;  ///< arrived, and not taken: the application is not ready. At most a window
};

struct Transfers {
  /// Unacknowledged bytes of one transfer.
  static constexpr std::uint64_t window_bytes = 256U << 10U;
  /// Of one piece, if the fabric's messages allow it.
  static constexpr std::uint64_t piece_bytes = 32U << 10U;

  std::vector<OutgoingState> outgoing;
  std::vector<IncomingState> incoming;
};

}  // namespace spindrift::views
