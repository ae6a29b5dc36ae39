// Reading one record: one load per header, then only the validated copy.
#include <spindrift/smc/ring_reader.hpp>

#include <spindrift/core/check.hpp>

namespace spindrift::smc {

std::optional<RecordHeader> RingReader::header_here() noexcept {
  auto header = RecordHeader::decode(read_word(ring_ + offset_), record_);
  if (!header) fault_ = "a record header of unknown kind or wrong number";
  return header;
}

std::optional<RingReader::Message> RingReader::next_record(std::uint64_t committed) noexcept {
  CHECK(fault_ == nullptr && count_ < committed);
  auto header = header_here();
  if (!header) return std::nullopt;
  if (header->kind == RecordKind::padding) {
    if (offset_ == 0 || header->length != ring_bytes_ - offset_) {
      fault_ = "padding that does not end at the ring's end";
      return std::nullopt;
    }
    offset_ = 0;
    header = header_here();
    if (!header) return std::nullopt;
  }

  Message message;
  std::uint64_t bytes = header_bytes;
  switch (header->kind) {
    case RecordKind::data:
    case RecordKind::abandoned:
      bytes = record_bytes(header->length);
      if (header->length > message_bytes_max_ || bytes > ring_bytes_ - offset_) {
        fault_ = "a record longer than the ring or the largest message";
        return std::nullopt;
      }
      message.null = header->kind == RecordKind::abandoned;
      message.payload = {ring_ + offset_ + header_bytes, header->length};
      break;
    case RecordKind::null_run:
      if (header->length == 0 || header->length > committed - count_) {
        fault_ = "a null run longer than what was committed";
        return std::nullopt;
      }
      nulls_left_ = header->length - 1;
      message.null = true;
      break;
    case RecordKind::padding:
      fault_ = "padding behind padding";
      return std::nullopt;
  }
  offset_ += bytes;
  if (offset_ == ring_bytes_) offset_ = 0;
  ++record_;
  ++count_;
  return message;
}

}  // namespace spindrift::smc
