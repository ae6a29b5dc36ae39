// A copy is a head and the payload behind it, written at once; the digest of the payload tells one that is torn.
#include <spindrift/store/reserve.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include <spindrift/store/segment_file.hpp>

namespace spindrift::store {
namespace {

/// A reader beside the writer may meet one copy after the other in the middle of a put.
constexpr int readings_max = 3;

struct Copy {
  BlockState state = BlockState::damaged;
  ReserveReading reading;
  std::vector<std::byte> payload;
};

Result<Copy> read_copy(StoredFile& file, std::uint64_t at) {
  SPINDRIFT_TRY_ASSIGN(const Blocks bytes, read_blocks(file, at, Reserve::file_bytes / 2));
  Copy copy;
  copy.reading = read_reserve_head(std::span(bytes).first(block_bytes));
  copy.state = copy.reading.state;
  if (copy.state != BlockState::whole) return copy;
  const ReserveHead& head = copy.reading.head;
  const auto rest = std::span(bytes).subspan(block_bytes);
  const bool fits = head.bytes <= rest.size();
  if (!fits || digest_of(rest.first(head.bytes)) != head.payload) copy.state = BlockState::damaged;
  else copy.payload.assign(rest.begin(), rest.begin() + head.bytes);
  return copy;
}

Error damaged(const std::string& place) {
  return Error(ErrorKind::bad_input, "both copies in the reserve of the journal are damaged, and what it had may be needed")
      .at(place)
      .fix("see what else has happened to that disk; if this node may forget its last view, and others have its logs, have "
           "it forget both: spindrift group forget --config FILE NODE");
}

Error misplaced(const std::string& place) {
  return Error(ErrorKind::refused, "it is the reserve of another journal than the segments beside it")
      .at(place)
      .fix("move what does not belong there out of the directory, or name the right directory ([PERS] file_path)");
}

Error unknown_version(const std::string& place, std::uint32_t version) {
  return Error(ErrorKind::unsupported, "the reserve has version " + std::to_string(version) + " of the format, and this " +
                                           "program knows " + std::to_string(reserve_version))
      .at(place)
      .fix("use the program that wrote it, or a later one");
}

Result<bool> is_there(Storage& storage) {
  SPINDRIFT_TRY_ASSIGN(const auto names, storage.names());
  return std::ranges::find(names, reserve_name) != names.end();
}

}  // namespace

// It has its name when it is whole, so one of another size is damaged.
Result<std::unique_ptr<StoredFile>> Reserve::make(Storage& storage) {
  SPINDRIFT_TRY_ASSIGN(auto file, storage.create(unfinished_reserve_name, file_bytes));
  SPINDRIFT_TRY(file->sync());
  SPINDRIFT_TRY(storage.rename(unfinished_reserve_name, reserve_name));
  SPINDRIFT_TRY(storage.sync_names());
  return file;
}

// No put is reported before both copies have it: of two, one of which is damaged, the other has what was reported last.
Result<Reserve::Found> Reserve::find(StoredFile& file, const Digest& journal, const std::string& place) {
  if (file.bytes() != file_bytes) return damaged(place);
  for (int reading = 0; reading < readings_max; ++reading) {
    Found found;
    std::size_t lost = 0;
    for (std::size_t i = 0; i < copy_at.size(); ++i) {
      SPINDRIFT_TRY_ASSIGN(Copy copy, read_copy(file, copy_at[i]));
      if (copy.state == BlockState::unknown) return unknown_version(place, copy.reading.version);
      if (copy.state == BlockState::damaged) ++lost;
      if (copy.state != BlockState::whole) continue;
      if (copy.reading.journal != journal) return misplaced(place);
      if (copy.reading.head.number >= found.head.number) found = {copy.reading.head, std::move(copy.payload), i};
    }
    if (lost < copy_at.size()) return found;
  }
  return damaged(place);
}

Result<Reserve> Reserve::open(Storage& storage, const Digest& journal, Journal is) {
  SPINDRIFT_TRY_ASSIGN(const bool was_there, is_there(storage));
  if (!was_there || is == Journal::begins) {
    SPINDRIFT_TRY_ASSIGN(auto made, make(storage));
    return Reserve(journal, std::move(made), {});
  }
  SPINDRIFT_TRY_ASSIGN(auto file, storage.open(reserve_name));
  SPINDRIFT_TRY_ASSIGN(const Found found, find(*file, journal, storage.place(reserve_name)));
  return Reserve(journal, std::move(file), found);
}

Result<std::optional<ReservedPayload>> Reserve::read(Storage& storage, const Digest& journal) {
  SPINDRIFT_TRY_ASSIGN(const bool was_there, is_there(storage));
  if (!was_there) return std::optional<ReservedPayload>();
  SPINDRIFT_TRY_ASSIGN(auto file, storage.open(reserve_name));
  SPINDRIFT_TRY_ASSIGN(Found found, find(*file, journal, storage.place(reserve_name)));
  if (found.head.bytes == 0) return std::optional<ReservedPayload>();
  return std::optional(ReservedPayload{found.head.position, std::move(found.payload), found.head.before});
}

Result<void> Reserve::put(JournalPosition position, std::span<const std::byte> payload) {
  if (payload.size() > payload_bytes_max) {
    return Error(ErrorKind::bad_argument, "the reserve of a journal has room for " + std::to_string(payload_bytes_max) +
                                              " bytes, and these are " + std::to_string(payload.size()));
  }
  ReserveHead head;
  head.position = position;
  head.bytes = static_cast<std::uint32_t>(payload.size());
  return write(head, payload);
}

Result<void> Reserve::forget_earlier() {
  if (!earlier_) return {};
  return write({}, {});
}

Result<void> Reserve::write(ReserveHead head, std::span<const std::byte> payload) {
  head.number = last_.number + 1;
  head.payload = digest_of(payload);
  head.before = last_.payload;
  Blocks blocks = reserve_block(journal_, head);
  blocks.resize(block_bytes + whole_blocks(payload.size()));
  std::ranges::copy(payload, blocks.begin() + block_bytes);
  for (const std::size_t copy : {1 - copy_, copy_}) SPINDRIFT_TRY(file_->write_durably(copy_at[copy], blocks));
  last_ = head;
  copy_ = 1;
  earlier_ = false;
  return {};
}

}  // namespace spindrift::store
