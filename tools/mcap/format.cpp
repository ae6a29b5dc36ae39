// Numbers, texts and records of MCAP, and its checksum.
#include "format.hpp"

#include <zlib.h>

#include <type_traits>

namespace spindrift::mcap {
namespace {

// The fields of records, which are written and read in this order.
template <class Record, class With, class Fields>
void walk(With& with, Fields& record) {
  if constexpr (std::is_same_v<Record, McapSchema>)
    with(record.id, record.name, record.encoding, record.data);
  else if constexpr (std::is_same_v<Record, McapChannel>)
    with(record.id, record.schema_id, record.topic, record.message_encoding, record.metadata);
  else
    with(record.name, record.texts);
}

template <class Record>
std::string written(const Record& record) {
  RecordWriter content;
  walk<Record>(content, record);
  return content.written();
}

// Anything that a later version puts behind the fields is passed over, as the specification wants it.
template <class Record>
std::optional<Record> read(std::span<const std::byte> content) {
  RecordReader from(content);
  Record record;
  walk<Record>(from, record);
  if (!from.ok()) return std::nullopt;
  return record;
}

}  // namespace

std::uint32_t crc32(std::uint32_t before, std::span<const std::byte> bytes) noexcept {
  if (bytes.empty()) return before;  // where those have no address zlib begins anew
  return static_cast<std::uint32_t>(::crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

void RecordWriter::text(std::string_view text) {
  number(static_cast<std::uint32_t>(text.size()));
  bytes_ += text;
}

void RecordWriter::texts(const Texts& texts) {
  RecordWriter all;
  for (const auto& [name, value] : texts) {
    all.text(name);
    all.text(value);
  }
  text(all.written());
}

void RecordWriter::bytes(std::span<const std::byte> bytes) {
  bytes_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void RecordWriter::record(Opcode opcode, std::string_view content) {
  number(static_cast<std::uint8_t>(opcode));
  number(static_cast<std::uint64_t>(content.size()));
  bytes_ += content;
}

std::string RecordReader::text() {
  const auto from = bytes(number<std::uint32_t>());
  return {reinterpret_cast<const char*>(from.data()), from.size()};
}

Texts RecordReader::texts() {
  RecordReader all(bytes(number<std::uint32_t>()));
  Texts texts;
  while (all.left() > 0 && all.ok()) {
    std::string name = all.text();
    texts.insert_or_assign(std::move(name), all.text());
  }
  ok_ = ok_ && all.ok();
  return texts;
}

std::span<const std::byte> RecordReader::bytes(std::uint64_t count) {
  ok_ = ok_ && count <= rest_.size();
  if (!ok_) return {};
  const auto taken = rest_.first(count);
  rest_ = rest_.subspan(count);
  return taken;
}

std::string content_of(const McapSchema& schema) { return written(schema); }
std::string content_of(const McapChannel& channel) { return written(channel); }
std::string content_of(const McapMetadata& metadata) { return written(metadata); }

std::optional<McapSchema> schema_of(std::span<const std::byte> content) {
  auto schema = read<McapSchema>(content);
  if (schema && schema->id == 0) return std::nullopt;
  return schema;
}
std::optional<McapChannel> channel_of(std::span<const std::byte> content) { return read<McapChannel>(content); }
std::optional<McapMetadata> metadata_of(std::span<const std::byte> content) { return read<McapMetadata>(content); }

std::optional<McapMessage> message_of(std::span<const std::byte> content) {
  RecordReader from(content);
  McapMessage message;
  from(message.channel_id, message.sequence, message.log_time, message.publish_time);
  message.data = from.rest();
  if (!from.ok()) return std::nullopt;
  return message;
}

}  // namespace spindrift::mcap
