// Writes MCAP files: chunks that are each vouched for by a checksum and written whole, so that a file that is cut off
// anywhere has all chunks before that; and, when it is finished, the index by which programs find their way.
//
// Memory is bounded: by a chunk and one message while messages come, and the index is made from the file itself.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/result.hpp>

#include "format.hpp"

namespace spindrift::mcap {

/// Not thread-safe. After an error but of `finish`, the file has all chunks before it, and `finish` may be called.
class McapWriter {
 public:
  /// Makes the file, which must not be there. Errors: bad_argument, resource, disk_full.
  [[nodiscard]] static Result<McapWriter> create(const std::string& path, const std::string& library);

  // Errors: disk_full, resource. A channel is added behind its schema, a message behind its channel.
  [[nodiscard]] Result<void> add(const McapSchema& schema);
  [[nodiscard]] Result<void> add(const McapChannel& channel);
  /// Errors: also bad_argument: it is larger than a record is here.
  [[nodiscard]] Result<void> add(const McapMessage& message);
  /// All that was added is in the file when it returns.
  [[nodiscard]] Result<void> flush();
  /// The end of the file, with those texts. On an error the file has all chunks, and no end. Nothing may be called then.
  [[nodiscard]] Result<void> finish(const McapMetadata& metadata);

  [[nodiscard]] std::uint64_t messages() const noexcept;
  /// The size of the file, without the chunk that is not full yet.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return end_; }

  static constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

 private:
  /// The chunk that grows.
  struct Chunk {
    RecordWriter records;
    std::uint64_t first_time = UINT64_MAX;
    std::uint64_t last_time = 0;
    std::map<std::uint16_t, std::vector<std::array<std::uint64_t, 2>>> places;  // time and offset of each message
  };
  /// Counts that the end of the file has.
  struct Counts {
    std::map<std::uint16_t, std::uint64_t> messages;  // by channel
    std::uint32_t chunks = 0;
    std::uint64_t first_time = UINT64_MAX;
    std::uint64_t last_time = 0;
  };

  McapWriter(std::string path, FileDescriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  [[nodiscard]] Result<void> append(std::string_view bytes);
  [[nodiscard]] Error failed(const char* call, int error_number) const;
  [[nodiscard]] Result<void> write_end(const McapMetadata& metadata);
  /// `place`: offset and bytes of the record of metadata.
  [[nodiscard]] Result<void> write_summary(const McapMetadata& metadata, const std::array<std::uint64_t, 2>& place,
                                           std::uint64_t data_end);
  /// All that is pending is of that opcode, and so is what was written since the last group's end.
  [[nodiscard]] Result<void> end_group(Opcode opcode, RecordWriter& pending, RecordWriter& offsets);
  [[nodiscard]] Result<void> write_chunk_indexes(std::uint64_t data_end, RecordWriter& pending);
  [[nodiscard]] Result<std::string> read(std::uint64_t offset, std::size_t count) const;
  [[nodiscard]] Result<void> drain(RecordWriter& pending);
  [[nodiscard]] std::string statistics() const;

  std::string path_;
  FileDescriptor file_;
  std::uint64_t end_ = 0;       // of what is written
  std::uint32_t data_crc_ = 0;  // of all of it
  std::uint32_t summary_crc_ = 0;
  std::uint64_t group_ = 0;  // where the records begin of which the summary has the next group
  Chunk chunk_;
  Counts counts_;
  std::map<std::uint16_t, McapSchema> schemas_;
  std::map<std::uint16_t, McapChannel> channels_;
};

}  // namespace spindrift::mcap
