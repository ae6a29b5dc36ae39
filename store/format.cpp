// The bytes of heads, marks and entries. Each part is digested with what it must not be mistaken for.
#include <spindrift/store/format.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>
#include <vector>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/check.hpp>

namespace spindrift::store {
namespace {

using Words = std::array<std::uint64_t, 2>;

constexpr std::uint64_t head_magic = 0x31'47'45'53'4e'52'50'53;  // "SPRNSEG1"
constexpr std::uint64_t mark_magic = 0x31'4b'52'4d'4e'52'50'53;  // "SPRNMRK1"
constexpr std::uint64_t reserve_magic = 0x31'56'53'52'4e'52'50'53;  // "SPRNRSV1"
constexpr std::string_view segment_suffix = ".segment";
constexpr std::size_t number_digits = 16;
constexpr std::uint16_t last_of_batch = 1;

/// An entry's own part, as it lies on the disk.
struct EntryFields {
  Digest checksum;
  Digest before;
  std::uint64_t position = 0;
  std::uint64_t version = 0;
  std::uint64_t view = 0;
  std::uint64_t sequence = 0;
  std::uint64_t time = 0;
  std::uint64_t batch = 0;
  std::uint32_t subgroup = 0;
  std::uint32_t sender = 0;
  std::uint32_t length = 0;
  std::uint16_t kind = 0;
  std::uint16_t flags = 0;
};
static_assert(sizeof(EntryFields) == entry_head_bytes && std::has_unique_object_representations_v<EntryFields>);

bool is_kind(std::uint16_t kind) noexcept {
  return kind >= static_cast<std::uint16_t>(EntryKind::message) && kind <= static_cast<std::uint16_t>(EntryKind::checkpoint);
}

/// The link covers the rest of the entry, but a base's, which is given to it.
Digest checksum_of(const EntryFields& fields, const Digest& link, const SegmentSeal& seal) noexcept {
  EntryFields rest = fields;
  rest.checksum = {};
  return digest_of(field_bytes(link.words, seal.journal.words, seal.number, seal.incarnation, rest));
}

/// The fields, their digest, and zeros.
template <class... Fields>
Blocks digested_block(const Fields&... fields) {
  const auto bytes = field_bytes(fields...);
  const Digest digest = digest_of(bytes);
  Blocks block(block_bytes);
  static_assert(sizeof bytes + sizeof digest.words <= block_bytes);
  std::memcpy(block.data(), bytes.data(), bytes.size());
  std::memcpy(block.data() + bytes.size(), digest.words.data(), sizeof digest.words);
  return block;
}

/// Whether the block is `fields_bytes` bytes with their digest and zeros behind it.
bool is_digested(std::span<const std::byte> block, std::size_t fields_bytes) noexcept {
  ByteReader reader(block.subspan(fields_bytes));
  return digest_of(block.first(fields_bytes)).words == reader.get<std::array<std::uint64_t, 2>>() && all_zero(reader.rest());
}

/// Whether a segment can be as large as its head says, with that many ends of logs: the digest is one that anybody can make.
// No process is later than the last incarnation that there could be, so none has it.
bool is_possible(const SegmentHead& head) noexcept {
  if (head.seal.incarnation == 0 || head.seal.incarnation == ~std::uint64_t{0}) return false;
  return head.logs <= logs_max && head.bytes % block_bytes == 0 && head.bytes >= entries_at(head.logs);
}

}  // namespace

bool all_zero(std::span<const std::byte> bytes) noexcept {
  return bytes.empty() || (bytes[0] == std::byte{0} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

Blocks log_ends_blocks(const LogEnds& ends) {
  ByteWriter writer;
  for (const LogEnd& end : ends.all())
    writer.put(std::uint64_t{end.subgroup.value()}, end.version, end.view, end.sequence, end.link.words);
  const std::vector<std::byte> bytes = writer.take();
  CHECK(bytes.size() == ends.all().size() * log_end_bytes);
  Blocks blocks(log_ends_bytes(ends.all().size()));
  std::ranges::copy(bytes, blocks.begin());
  return blocks;
}

Digest log_ends_digest(const LogEnds& ends) { return digest_of(log_ends_blocks(ends)); }

std::optional<LogEnds> read_log_ends(std::span<const std::byte> copy, const SegmentHead& head) {
  if (copy.size() != log_ends_bytes(head.logs) || digest_of(copy) != head.log_ends) return std::nullopt;
  ByteReader reader(copy);
  std::vector<LogEnd> ends(head.logs);
  for (LogEnd& end : ends) {
    end.subgroup = SubgroupId(static_cast<std::uint32_t>(reader.get<std::uint64_t>()));
    end.version = reader.get<LogVersion>();
    end.view = reader.get<ViewId>();
    end.sequence = reader.get<SequenceNumber>();
    end.link.words = reader.get<Words>();
  }
  return LogEnds(std::move(ends));
}

Blocks head_block(const SegmentHead& head) {
  return digested_block(head_magic, static_cast<std::uint32_t>(head.format), head.owner.node, head.seal.journal.words,
                        head.owner.group.words, head.seal.number, head.seal.incarnation, head.bytes, head.oldest, head.first,
                        head.logs, head.log_ends.words);
}

HeadReading read_head(std::span<const std::byte> block) noexcept {
  HeadReading reading;
  if (all_zero(block)) {
    reading.state = BlockState::blank;
    return reading;
  }
  ByteReader reader(block);
  const auto magic = reader.get<std::uint64_t>();
  reading.version = reader.get<std::uint32_t>();
  SegmentHead& head = reading.head;
  head.owner.node = reader.get<NodeId>();
  head.seal.journal.words = reader.get<Words>();
  head.owner.group.words = reader.get<Words>();
  head.seal.number = reader.get<std::uint64_t>();
  head.seal.incarnation = reader.get<std::uint64_t>();
  head.bytes = reader.get<std::uint64_t>();
  head.oldest = reader.get<std::uint64_t>();
  head.first = reader.get<JournalPosition>();
  head.logs = reader.get<std::uint64_t>();
  head.log_ends.words = reader.get<Words>();
  if (magic != head_magic || !reader.ok()) return reading;
  if (reading.version == 0 || reading.version > latest_format) {
    reading.state = BlockState::unknown;
    return reading;
  }
  head.format = static_cast<SegmentFormat>(reading.version);
  const bool whole = is_digested(block, block.size() - reader.rest().size()) && is_possible(head);
  if (whole) reading.state = BlockState::whole;
  return reading;
}

Blocks mark_block(const SegmentSeal& seal, const SegmentMark& mark) {
  return digested_block(mark_magic, seal.journal.words, seal.number, seal.incarnation, mark.number, mark.durable,
                        mark.oldest);
}

MarkReading read_mark(std::span<const std::byte> block, const SegmentSeal& seal) noexcept {
  MarkReading reading;
  if (all_zero(block)) {
    reading.state = BlockState::blank;
    return reading;
  }
  ByteReader reader(block);
  const auto magic = reader.get<std::uint64_t>();
  SegmentSeal own;
  own.journal.words = reader.get<Words>();
  own.number = reader.get<std::uint64_t>();
  own.incarnation = reader.get<std::uint64_t>();
  reading.mark.number = reader.get<std::uint64_t>();
  reading.mark.durable = reader.get<JournalPosition>();
  reading.mark.oldest = reader.get<std::uint64_t>();
  const bool whole = reader.ok() && magic == mark_magic && own == seal &&
                     is_digested(block, block.size() - reader.rest().size());
  if (whole) reading.state = BlockState::whole;
  return reading;
}

Blocks reserve_block(const Digest& journal, const ReserveHead& head) {
  return digested_block(reserve_magic, reserve_version, head.bytes, journal.words, head.number, head.position,
                        head.payload.words, head.before.words);
}

ReserveReading read_reserve_head(std::span<const std::byte> block) noexcept {
  ReserveReading reading;
  if (all_zero(block)) {
    reading.state = BlockState::blank;
    return reading;
  }
  ByteReader reader(block);
  const auto magic = reader.get<std::uint64_t>();
  reading.version = reader.get<std::uint32_t>();
  reading.head.bytes = reader.get<std::uint32_t>();
  reading.journal.words = reader.get<Words>();
  reading.head.number = reader.get<std::uint64_t>();
  reading.head.position = reader.get<JournalPosition>();
  reading.head.payload.words = reader.get<Words>();
  reading.head.before.words = reader.get<Words>();
  if (magic != reserve_magic || !reader.ok()) return reading;
  if (reading.version != reserve_version) reading.state = BlockState::unknown;
  else if (is_digested(block, block.size() - reader.rest().size())) reading.state = BlockState::whole;
  return reading;
}

LogEnd seal_entry(std::span<std::byte> to, const Entry& entry, const LogEnd& before, const SegmentSeal& seal,
                  EntryPlace place) {
  CHECK(to.size() == entry_bytes(entry.payload.size()));
  const LogEnd end = end_behind(before, entry.head, entry.version, entry.payload);
  EntryFields fields;
  fields.before = before.link;
  fields.position = entry.position.value();
  fields.version = entry.version.value();
  fields.view = entry.head.view.value();
  fields.sequence = entry.head.sequence.value();
  fields.time = entry.head.time;
  fields.batch = place.batch.value();
  fields.subgroup = entry.head.subgroup.value();
  fields.sender = entry.head.sender.value();
  fields.length = static_cast<std::uint32_t>(entry.payload.size());
  fields.kind = static_cast<std::uint16_t>(entry.head.kind);
  fields.flags = place.last ? last_of_batch : 0;
  fields.checksum = checksum_of(fields, end.link, seal);
  std::memcpy(to.data(), &fields, sizeof fields);
  return end;
}

std::optional<FoundEntry> read_entry(std::span<const std::byte> bytes, const SegmentSeal& seal) noexcept {
  if (bytes.size() < entry_head_bytes) return std::nullopt;
  EntryFields fields;
  std::memcpy(&fields, bytes.data(), sizeof fields);
  // The cheap checks go first: a search for entries makes them at every place.
  if (!is_kind(fields.kind) || fields.flags > last_of_batch || fields.batch > fields.position) return std::nullopt;
  const std::uint64_t whole = entry_bytes(fields.length);
  if (fields.length > payload_bytes_max || whole > bytes.size()) return std::nullopt;
  FoundEntry found;
  Entry& entry = found.entry;
  entry.position = JournalPosition(fields.position);
  entry.version = LogVersion(fields.version);
  entry.head = {static_cast<EntryKind>(fields.kind), SubgroupId(fields.subgroup), NodeId(fields.sender),
                ViewId(fields.view), SequenceNumber(fields.sequence), fields.time};
  entry.payload = bytes.subspan(entry_head_bytes, fields.length);
  if (entry.head.kind == EntryKind::base && fields.length != sizeof(Words)) return std::nullopt;
  found.link_before = fields.before;
  LogEnd before;
  before.link = fields.before;
  found.end = end_behind(before, entry.head, entry.version, entry.payload);
  if (fields.checksum != checksum_of(fields, found.end.link, seal)) return std::nullopt;
  if (!all_zero(bytes.subspan(entry_head_bytes + fields.length, whole - entry_head_bytes - fields.length)))
    return std::nullopt;
  found.place = {JournalPosition(fields.batch), fields.flags == last_of_batch};
  found.bytes = whole;
  return found;
}

std::string segment_name(std::uint64_t number) {
  std::array<char, number_digits> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16);
  CHECK(error == std::errc());
  const auto count = static_cast<std::size_t>(end - digits.data());
  return std::string(number_digits - count, '0').append(digits.data(), count).append(segment_suffix);
}

bool is_journal_file(std::string_view name) noexcept {
  return name == begun_name || name == reserve_name || name == unfinished_segment_name ||
         name == unfinished_reserve_name || segment_number(name);
}

std::optional<std::uint64_t> segment_number(std::string_view name) noexcept {
  if (name.size() != number_digits + segment_suffix.size() || !name.ends_with(segment_suffix)) return std::nullopt;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + number_digits, number, 16);
  if (error != std::errc() || end != name.data() + number_digits || segment_name(number) != name) return std::nullopt;
  return number;
}

}  // namespace spindrift::store
