// A piece says all that tells its checkpoint from others, so that pieces of two of them are never taken for one.
#include <spindrift/store/checkpoint.hpp>

#include <array>
#include <string>
#include <utility>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/check.hpp>

namespace spindrift::store {
namespace {

using Words = std::array<std::uint64_t, 2>;

/// Whether the piece can be one: within its state, and empty only if that is.
bool is_possible(const CheckpointPiece& piece) noexcept {
  if (piece.of != CheckpointOf::present && piece.of != CheckpointOf::coming) return false;
  if (piece.subgroup == no_subgroup || piece.state.size() > checkpoint_piece_bytes_max) return false;
  if (piece.offset > piece.bytes || piece.state.size() > piece.bytes - piece.offset) return false;
  return piece.state.empty() == (piece.bytes == 0);
}

std::optional<CheckpointPiece> piece_in(const Entry& entry) {
  return entry.head.kind == EntryKind::checkpoint ? checkpoint_piece(entry.payload) : std::nullopt;
}

/// The checkpoint whose first piece lies there.
Checkpoint checkpoint_of(const CheckpointPiece& piece, JournalPosition first) noexcept {
  return {piece.subgroup, piece.version, piece.link, piece.bytes, first};
}

Error lacks(Storage& storage, std::span<const FoundSegment> segments, const Checkpoint& checkpoint, std::uint64_t offset) {
  Error error(ErrorKind::bad_input, "byte " + std::to_string(offset) + " of the checkpoint of subgroup " +
                                        std::to_string(checkpoint.subgroup.value()) + " as of version " +
                                        std::to_string(checkpoint.version.value()) + " cannot be read");
  std::string place;  // of the segment with its first piece
  for (const FoundSegment& segment : segments) {
    if (segment.head.first <= checkpoint.position) place = storage.place(segment_name(segment.head.seal.number));
  }
  return std::move(error).at(place).fix("see what is damaged: spindrift log verify");
}

}  // namespace

std::vector<std::byte> checkpoint_payload(const CheckpointPiece& piece) {
  CHECK(is_possible(piece));
  ByteWriter bytes;
  bytes.put(piece.subgroup, static_cast<std::uint32_t>(piece.of), piece.version, piece.link.words);
  bytes.put(piece.bytes, piece.offset).put_bytes(piece.state);
  return bytes.take();
}

std::optional<CheckpointPiece> checkpoint_piece(std::span<const std::byte> payload) {
  ByteReader reader(payload);
  CheckpointPiece piece;
  piece.subgroup = reader.get<SubgroupId>();
  piece.of = CheckpointOf{reader.get<std::uint32_t>()};
  piece.version = reader.get<LogVersion>();
  piece.link.words = reader.get<Words>();
  piece.bytes = reader.get<std::uint64_t>();
  piece.offset = reader.get<std::uint64_t>();
  piece.state = reader.rest();
  if (!reader.ok() || !is_possible(piece)) return std::nullopt;
  return piece;
}

// ---- which count

void CheckpointLedger::begin(const LogEnds& ends) {
  for (const LogEnd& end : ends.all()) logs_[end.subgroup].end = end.version;
}

void CheckpointLedger::note(const Entry& entry) {
  if (const auto piece = piece_in(entry)) {
    note_piece(*piece, entry.position);
  } else if (entry.head.kind == EntryKind::message) {
    Log& log = logs_[entry.head.subgroup];
    log.end = LogVersion(entry.version.value() + 1);
    log.pending.reset();
  } else if (entry.head.kind == EntryKind::base) {
    Log& log = logs_[entry.head.subgroup];
    log.end = entry.version;
    log.counting = std::exchange(log.pending, std::nullopt);
    if (log.counting && log.counting->version < entry.version) log.counting.reset();
    log.begun.reset();
  }
}

void CheckpointLedger::note_piece(const CheckpointPiece& piece, JournalPosition position) {
  Log& log = logs_[piece.subgroup];
  if (piece.offset == 0) {
    log.begun = checkpoint_of(piece, position);
    log.there = 0;
    log.of = piece.of;
  }
  if (!log.begun) return;
  const bool same = checkpoint_of(piece, log.begun->position) == *log.begun && piece.of == log.of;
  if (!same || piece.offset != log.there) return log.begun.reset();
  log.there += piece.state.size();
  if (log.there == piece.bytes) finish(log);
}

void CheckpointLedger::finish(Log& log) {
  const std::optional<Checkpoint> whole = std::exchange(log.begun, std::nullopt);
  if (log.of == CheckpointOf::coming) {
    log.pending = whole;
  } else if (whole->version <= log.end) {
    log.counting = whole;
  }
}

const Checkpoint* CheckpointLedger::of(SubgroupId subgroup) const {
  const auto log = logs_.find(subgroup);
  return log == logs_.end() || !log->second.counting ? nullptr : &*log->second.counting;
}

std::map<SubgroupId, Checkpoint> CheckpointLedger::all() const {
  std::map<SubgroupId, Checkpoint> all;
  for (const auto& entry : logs_) {
    if (entry.second.counting) all.emplace(entry.first, *entry.second.counting);
  }
  return all;
}

// ---- reading

Result<void> read_checkpoint(Storage& storage, std::span<const FoundSegment> segments, const Checkpoint& checkpoint,
                             const std::function<bool(std::span<const std::byte>)>& visitor) {
  std::uint64_t next = 0;  // offset
  bool over = false;
  SPINDRIFT_TRY(visit_entries(storage, segments, checkpoint.position, [&](const Entry& entry) {
    if (next == 0 && entry.position != checkpoint.position) return false;
    const auto piece = piece_in(entry);
    if (!piece || piece->subgroup != checkpoint.subgroup) return true;
    if (piece->offset != next || checkpoint_of(*piece, checkpoint.position) != checkpoint) return false;
    next += piece->state.size();
    over = !visitor(piece->state) || next == checkpoint.bytes;
    return !over;
  }));
  if (!over) return lacks(storage, segments, checkpoint, next);
  return {};
}

}  // namespace spindrift::store
