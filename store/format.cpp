// The bytes of heads, marks and entries. Each part is digested with what it must not be mistaken for.
#include <spindrift/store/format.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/check.hpp>

namespace spindrift::store {
namespace {

constexpr std::uint64_t head_magic = 0x31'47'45'53'4e'52'50'53;  // "SPRNSEG1"
constexpr std::uint64_t mark_magic = 0x31'4b'52'4d'4e'52'50'53;  // "SPRNMRK1"
constexpr std::string_view segment_suffix = ".segment";
constexpr std::size_t number_digits = 16;
constexpr std::uint16_t last_of_batch = 1;

/// An entry's own part, as it lies on the disk.
struct EntryFields {
  Digest checksum;
  Digest before;
  std::uint64_t position = 0;
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
  return kind >= static_cast<std::uint16_t>(EntryKind::message) && kind <= static_cast<std::uint16_t>(EntryKind::acceptance);
}

Digest checksum_of(const Digest& link, const SegmentSeal& seal, std::uint64_t batch, std::uint16_t flags) noexcept {
  return digest_of(field_bytes(link.words, seal.journal.words, seal.number, seal.incarnation, batch, flags));
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

using Words = std::array<std::uint64_t, 2>;

}  // namespace

std::string_view to_string(EntryKind kind) noexcept {
  switch (kind) {
    case EntryKind::message: return "message";
    case EntryKind::view: return "view";
    case EntryKind::acceptance: return "acceptance";
  }
  return "unknown";
}

Digest link_of(const Digest& before, JournalPosition position, const EntryHead& head,
               std::span<const std::byte> payload) noexcept {
  const Digest content = digest_of(payload);
  const std::uint64_t length = payload.size();
  const auto kind = static_cast<std::uint16_t>(head.kind);
  return digest_of(field_bytes(before.words, position, head.view, head.sequence, head.time, head.subgroup, head.sender,
                               length, kind, content.words));
}

bool all_zero(std::span<const std::byte> bytes) noexcept {
  return bytes.empty() || (bytes[0] == std::byte{0} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

Blocks head_block(const SegmentHead& head) {
  return digested_block(head_magic, format_version, head.owner.node, head.seal.journal.words, head.owner.group.words,
                        head.seal.number, head.seal.incarnation, head.bytes, head.oldest, head.first, head.before.words);
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
  head.before.words = reader.get<Words>();
  if (magic != head_magic || !reader.ok()) return reading;
  if (reading.version != format_version) {
    reading.state = BlockState::unknown;
    return reading;
  }
  if (is_digested(block, block.size() - reader.rest().size())) reading.state = BlockState::whole;
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

void append_entry(Blocks& to, const Digest& before, JournalPosition position, const EntryHead& head,
                   std::span<const std::byte> payload) {
  CHECK(payload.size() <= payload_bytes_max);
  EntryFields fields;
  fields.before = before;
  fields.position = position.value();
  fields.view = head.view.value();
  fields.sequence = head.sequence.value();
  fields.time = head.time;
  fields.subgroup = head.subgroup.value();
  fields.sender = head.sender.value();
  fields.length = static_cast<std::uint32_t>(payload.size());
  fields.kind = static_cast<std::uint16_t>(head.kind);
  const std::size_t at = to.size();
  to.resize(at + entry_bytes(payload.size()));
  std::memcpy(to.data() + at, &fields, sizeof fields);
  if (!payload.empty()) std::memcpy(to.data() + at + sizeof fields, payload.data(), payload.size());
}

void seal_entry(std::span<std::byte> entry, const Digest& link, const SegmentSeal& seal, EntryPlace place) noexcept {
  EntryFields fields;
  std::memcpy(&fields, entry.data(), sizeof fields);
  fields.batch = place.batch.value();
  fields.flags = place.last ? last_of_batch : 0;
  fields.checksum = checksum_of(link, seal, fields.batch, fields.flags);
  std::memcpy(entry.data(), &fields, sizeof fields);
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
  found.entry.position = JournalPosition(fields.position);
  found.entry.head = {static_cast<EntryKind>(fields.kind), SubgroupId(fields.subgroup), NodeId(fields.sender),
                       ViewId(fields.view), SequenceNumber(fields.sequence), fields.time};
  found.entry.payload = bytes.subspan(entry_head_bytes, fields.length);
  found.before = fields.before;
  found.entry.chain = link_of(fields.before, found.entry.position, found.entry.head, found.entry.payload);
  if (fields.checksum != checksum_of(found.entry.chain, seal, fields.batch, fields.flags)) return std::nullopt;
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

std::optional<std::uint64_t> segment_number(std::string_view name) noexcept {
  if (name.size() != number_digits + segment_suffix.size() || !name.ends_with(segment_suffix)) return std::nullopt;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + number_digits, number, 16);
  if (error != std::errc() || end != name.data() + number_digits || segment_name(number) != name) return std::nullopt;
  return number;
}

}  // namespace spindrift::store
