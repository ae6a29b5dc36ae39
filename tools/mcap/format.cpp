// Numbers, texts and records of MCAP, and its checksum.
#include "format.hpp"

#include <array>
#include <cstring>

namespace spindrift::mcap {
namespace {

using CrcTables = std::array<std::array<std::uint32_t, 256>, 8>;

/// The tables by which eight bytes are taken at once: the n-th is for a byte with n others behind it.
constexpr CrcTables make_tables() {
  CrcTables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320U : 0U);
    tables[0][byte] = crc;
  }
  for (std::size_t table = 1; table < tables.size(); ++table) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[table - 1][byte];
      tables[table][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}
constexpr CrcTables tables = make_tables();

}  // namespace

std::uint32_t crc32(std::uint32_t before, std::span<const std::byte> bytes) noexcept {
  std::uint32_t crc = ~before;
  const auto at = [&](std::size_t place) { return std::to_integer<std::uint32_t>(bytes[place]); };
  while (bytes.size() >= 8) {
    const std::uint32_t low = crc ^ (at(0) | at(1) << 8 | at(2) << 16 | at(3) << 24);
    crc = tables[7][low & 0xff] ^ tables[6][(low >> 8) & 0xff] ^ tables[5][(low >> 16) & 0xff] ^ tables[4][low >> 24] ^
          tables[3][at(4)] ^ tables[2][at(5)] ^ tables[1][at(6)] ^ tables[0][at(7)];
    bytes = bytes.subspan(8);
  }
  for (const std::byte byte : bytes) crc = (crc >> 8) ^ tables[0][(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
  return ~crc;
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

std::string content_of(const McapSchema& schema) {
  RecordWriter content;
  content.number(schema.id);
  content.text(schema.name);
  content.text(schema.encoding);
  content.text(schema.data);
  return content.written();
}

std::string content_of(const McapChannel& channel) {
  RecordWriter content;
  content.number(channel.id);
  content.number(channel.schema_id);
  content.text(channel.topic);
  content.text(channel.message_encoding);
  content.texts(channel.metadata);
  return content.written();
}

std::string content_of(const McapMetadata& metadata) {
  RecordWriter content;
  content.text(metadata.name);
  content.texts(metadata.texts);
  return content.written();
}

// Anything that a later version puts behind the fields is passed over, as the specification wants it.

std::optional<McapSchema> schema_of(std::span<const std::byte> content) {
  RecordReader from(content);
  McapSchema schema;
  schema.id = from.number<std::uint16_t>();
  schema.name = from.text();
  schema.encoding = from.text();
  schema.data = from.text();
  if (!from.ok() || schema.id == 0) return std::nullopt;
  return schema;
}

std::optional<McapChannel> channel_of(std::span<const std::byte> content) {
  RecordReader from(content);
  McapChannel channel;
  channel.id = from.number<std::uint16_t>();
  channel.schema_id = from.number<std::uint16_t>();
  channel.topic = from.text();
  channel.message_encoding = from.text();
  channel.metadata = from.texts();
  if (!from.ok()) return std::nullopt;
  return channel;
}

std::optional<McapMetadata> metadata_of(std::span<const std::byte> content) {
  RecordReader from(content);
  McapMetadata metadata;
  metadata.name = from.text();
  metadata.texts = from.texts();
  if (!from.ok()) return std::nullopt;
  return metadata;
}

std::optional<McapMessage> message_of(std::span<const std::byte> content) {
  RecordReader from(content);
  McapMessage message;
  message.channel_id = from.number<std::uint16_t>();
  message.sequence = from.number<std::uint32_t>();
  message.log_time = from.number<std::uint64_t>();
  message.publish_time = from.number<std::uint64_t>();
  message.data = from.rest();
  if (!from.ok()) return std::nullopt;
  return message;
}

}  // namespace spindrift::mcap
