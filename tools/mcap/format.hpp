// MCAP, a format of files of messages that are of several topics (its specification is at mcap.dev/spec): the parts of it
// that are used here, and how bytes become numbers and texts.
//
// A file is its magic, records, and its magic again. A record is an opcode, the size of its content in 8 bytes, and that;
// all numbers are little endian. Messages are within chunks, whose records begin anew with an opcode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace spindrift::mcap {

inline constexpr std::string_view magic = "\x89MCAP0\r\n";

enum class Opcode : std::uint8_t {
  header = 0x01,
  footer = 0x02,
  schema = 0x03,
  channel = 0x04,
  message = 0x05,
  chunk = 0x06,
  message_index = 0x07,
  chunk_index = 0x08,
  statistics = 0x0b,
  metadata = 0x0c,
  metadata_index = 0x0d,
  summary_offset = 0x0e,
  data_end = 0x0f,
};

inline constexpr std::size_t record_head_bytes = 9;                        // opcode and size
inline constexpr std::size_t footer_bytes = 20;                            // of its content
inline constexpr std::size_t message_head_bytes = 22;                      // of a message's content, before its data
inline constexpr std::uint64_t record_bytes_max = std::uint64_t{1} << 28;  ///< a larger one is not read here, nor written

using Texts = std::map<std::string, std::string>;

struct McapSchema {
  std::uint16_t id = 0;  ///< from 1 on
  std::string name;
  std::string encoding;
  std::string data;
  bool operator==(const McapSchema&) const = default;
};
struct McapChannel {
  std::uint16_t id = 0;
  std::uint16_t schema_id = 0;  ///< 0: it has none
  std::string topic;
  std::string message_encoding;
  Texts metadata;
  bool operator==(const McapChannel&) const = default;
};
struct McapMessage {
  std::uint16_t channel_id = 0;
  std::uint32_t sequence = 0;
  std::uint64_t log_time = 0;      ///< when it was recorded, in nanoseconds since 1970
  std::uint64_t publish_time = 0;  ///< when it was written
  std::span<const std::byte> data;
};
struct McapMetadata {
  std::string name;
  Texts texts;
};

/// The CRC-32 of zlib, of bytes that come in parts: begins with 0.
[[nodiscard]] std::uint32_t crc32(std::uint32_t before, std::span<const std::byte> bytes) noexcept;

/// Appends.
class RecordWriter {
 public:
  /// Fields in their order, each by its type.
  template <class... Fields>
  void operator()(const Fields&... fields) {
    (put(fields), ...);
  }
  template <class T>
  void number(T value) {
    for (std::size_t at = 0; at < sizeof value; ++at)
      bytes_ += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * at));
  }
  void text(std::string_view text);
  void texts(const Texts& texts);
  void bytes(std::span<const std::byte> bytes);
  /// A record with that content.
  void record(Opcode opcode, std::string_view content);

  [[nodiscard]] const std::string& written() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  void clear() noexcept { bytes_.clear(); }

 private:
  void put(const std::string& field) { text(field); }
  void put(const Texts& field) { texts(field); }
  void put(std::uint16_t field) { number(field); }

  std::string bytes_;
};

/// Takes from the content of a record, which anybody may have written. After something that is not there, nothing is.
class RecordReader {
 public:
  explicit RecordReader(std::span<const std::byte> content) : rest_(content) {}
  /// Fields in their order, each by its type.
  template <class... Fields>
  void operator()(Fields&... fields) {
    (get(fields), ...);
  }
  template <class T>
  T number() {
    std::uint64_t value = 0;
    const auto from = bytes(sizeof(T));
    for (std::size_t at = 0; at < from.size(); ++at) value |= std::to_integer<std::uint64_t>(from[at]) << (8 * at);
    return static_cast<T>(value);
  }
  std::string text();
  Texts texts();
  /// Empty: they are not there.
  std::span<const std::byte> bytes(std::uint64_t count);
  /// All that is left.
  std::span<const std::byte> rest() { return bytes(rest_.size()); }

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] std::size_t left() const noexcept { return rest_.size(); }

 private:
  void get(std::string& field) { field = text(); }
  void get(Texts& field) { field = texts(); }
  template <class Number>
  void get(Number& field) {
    field = number<Number>();
  }

  std::span<const std::byte> rest_;
  bool ok_ = true;
};

[[nodiscard]] std::string content_of(const McapSchema& schema);
[[nodiscard]] std::string content_of(const McapChannel& channel);
[[nodiscard]] std::string content_of(const McapMetadata& metadata);
// Nothing: the content is none of such a record.
[[nodiscard]] std::optional<McapSchema> schema_of(std::span<const std::byte> content);
[[nodiscard]] std::optional<McapChannel> channel_of(std::span<const std::byte> content);
[[nodiscard]] std::optional<McapMetadata> metadata_of(std::span<const std::byte> content);
/// Its data point into the content.
[[nodiscard]] std::optional<McapMessage> message_of(std::span<const std::byte> content);

}  // namespace spindrift::mcap
