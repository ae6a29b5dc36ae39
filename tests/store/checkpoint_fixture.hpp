// Checkpoints in tests: cut into pieces, and noted in a ledger from a whole journal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/store/batch.hpp>
#include <spindrift/store/checkpoint.hpp>
#include <spindrift/store/examine.hpp>

namespace spindrift::store {

[[nodiscard]] inline EntryHead piece_head() {
  return {EntryKind::checkpoint, no_subgroup, NodeId(3), ViewId(0), SequenceNumber(0), 7};
}

/// The payloads of the pieces of that state, of at most so many bytes each.
[[nodiscard]] inline std::vector<std::vector<std::byte>> pieces_of(SubgroupId subgroup, std::uint64_t version,
                                                                   std::string_view state, std::size_t most,
                                                                   CheckpointOf of = CheckpointOf::present) {
  std::vector<std::vector<std::byte>> pieces;
  const auto bytes = std::as_bytes(std::span(state));
  std::size_t at = 0;
  do {
    const auto piece = bytes.subspan(at, std::min(most, bytes.size() - at));
    pieces.push_back(checkpoint_payload(
        {subgroup, of, LogVersion(version), digest_of(std::to_string(version)), bytes.size(), at, piece}));
    at += piece.size();
  } while (at < bytes.size());
  return pieces;
}

inline void append_pieces(Batch& batch, SubgroupId subgroup, std::uint64_t version, std::string_view state,
                          std::size_t most) {
  for (const auto& piece : pieces_of(subgroup, version, state, most)) batch.append(piece_head(), piece);
}

/// Those that count in a journal.
[[nodiscard]] inline CheckpointLedger ledger_of(Storage& storage, const JournalFindings& findings) {
  CheckpointLedger ledger;
  if (!findings.segments.empty()) ledger.begin(findings.segments.front().ends);
  value_or_throw(visit_entries(storage, findings, findings.first(), [&](const Entry& entry) {
    ledger.note(entry);
    return true;
  }));
  return ledger;
}

/// The state of that checkpoint. Throws what `read_checkpoint` says.
[[nodiscard]] inline std::string state_of(Storage& storage, const JournalFindings& findings, const Checkpoint& checkpoint) {
  std::string state;
  value_or_throw(read_checkpoint(storage, findings.segments, checkpoint, [&](std::span<const std::byte> piece) {
    state.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    return true;
  }));
  return state;
}

}  // namespace spindrift::store
