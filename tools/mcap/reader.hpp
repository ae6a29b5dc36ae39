// Reads MCAP files from their beginning, chunk by chunk. Anybody may have written them: every length is held against the
// bytes that are there, and every checksum is checked. One that was cut off is read up to there.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/result.hpp>

#include "format.hpp"

namespace spindrift::mcap {

/// Fills from an offset; how many bytes there were.
using ReadAt = std::function<Result<std::size_t>(std::uint64_t offset, std::span<std::byte> into)>;

/// Not thread-safe. Memory is bounded by the largest record, 2^28 bytes.
class McapReader {
 public:
  /// Errors: resource; bad_input: it is no MCAP file.
  [[nodiscard]] static Result<McapReader> open(const std::string& path);
  /// The same of bytes that come from elsewhere.
  [[nodiscard]] static Result<McapReader> over(ReadAt source, std::uint64_t size, std::string name);

  /// The next message, in the order of the file, whose data are good until the next call; nothing: there is no more. Errors:
  /// bad_input, with the offset of the damage; unsupported: a chunk is compressed; resource. After one nothing is called.
  [[nodiscard]] Result<std::optional<McapMessage>> next();

  /// Those that came so far.
  [[nodiscard]] const std::map<std::uint16_t, McapSchema>& schemas() const noexcept { return schemas_; }
  [[nodiscard]] const std::map<std::uint16_t, McapChannel>& channels() const noexcept { return channels_; }
  [[nodiscard]] const std::vector<McapMetadata>& metadata() const noexcept { return metadata_; }
  /// Set when there is no more: the file has no end, and what it says was lost.
  [[nodiscard]] const std::optional<Error>& cut() const noexcept { return cut_; }

 private:
  McapReader(ReadAt source, std::uint64_t size, std::string name)
      : source_(std::move(source)), size_(size), name_(std::move(name)) {}
  [[nodiscard]] Result<void> begin();
  [[nodiscard]] Result<void> read(std::uint64_t offset, std::vector<std::byte>& into) const;
  [[nodiscard]] Result<void> next_record();
  [[nodiscard]] Result<void> take(Opcode opcode, std::uint64_t at);
  [[nodiscard]] Result<void> open_chunk(std::uint64_t at);
  /// The next record within the chunk, if that is a message.
  [[nodiscard]] Result<std::optional<McapMessage>> next_in_chunk();
  [[nodiscard]] Result<void> define(Opcode opcode, std::span<const std::byte> content, std::uint64_t at);
  [[nodiscard]] Result<std::optional<McapMessage>> message(std::span<const std::byte> content, std::uint64_t at) const;
  [[nodiscard]] Result<void> check_end();
  void cut_off();
  [[nodiscard]] Error damage(std::uint64_t at, const std::string& what) const;

  ReadAt source_;
  std::uint64_t size_;
  std::string name_;
  bool has_end_ = false;  // the magic at the end
  std::uint64_t offset_ = 0;
  std::uint32_t data_crc_ = 0;
  std::vector<std::byte> record_;     // the content of the last record
  std::uint64_t record_at_ = 0;       // where it begins
  std::size_t chunk_at_ = 0;          // within it
  std::optional<McapMessage> alone_;  // one outside of chunks
  bool done_ = false;
  std::map<std::uint16_t, McapSchema> schemas_;
  std::map<std::uint16_t, McapChannel> channels_;
  std::vector<McapMetadata> metadata_;
  std::size_t told_bytes_ = 0;  // of all of these
  std::optional<Error> cut_;
};

}  // namespace spindrift::mcap
