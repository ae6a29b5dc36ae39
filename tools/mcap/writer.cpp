// Chunks, and the end of the file.
#include "writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace spindrift::mcap {
namespace {

/// The content of a chunk before its records, with no compression.
constexpr std::size_t chunk_head_bytes = 40;
constexpr std::size_t pending_bytes_max = std::size_t{1} << 20;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

}  // namespace

Result<McapWriter> McapWriter::create(const std::string& path, const std::string& library) {
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file && errno == EEXIST) {
    return Error(ErrorKind::bad_argument, "the file is there already, and is not overwritten")
        .at(path)
        .fix("name another one, or remove it");
  }
  if (!file) return system_error("open", errno).at(path).fix("name a file in a directory that you may write to");
  McapWriter writer(path, std::move(file));
  RecordWriter header, begin;
  header.text("");  // no profile: the format's own rules hold, and no others
  header.text(library);
  begin.bytes(bytes_of(magic));
  begin.record(Opcode::header, header.written());
  SPINDRIFT_TRY(writer.append(begin.written()));
  return writer;
}

Error McapWriter::failed(const char* call, int error_number) const {
  const bool full = error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
  return Error(full ? ErrorKind::disk_full : ErrorKind::resource,
               "the recording ends here, and the file has what was recorded before")
      .at(path_)
      .fix(full ? "make room on its disk, or record on another one" : "look after its disk, or record on another one")
      .because(system_error(call, error_number));
}

Result<void> McapWriter::append(std::string_view bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto count = ::pwrite(file_.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(end_ + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int why = count < 0 ? errno : ENOSPC;
      // Half of a record would be damage to whoever reads it. If this fails, it is said to be cut off there.
      [[maybe_unused]] const int cut = ::ftruncate(file_.get(), static_cast<off_t>(end_));
      return failed("write", why);
    }
    done += static_cast<std::size_t>(count);
  }
  end_ += bytes.size();
  data_crc_ = crc32(data_crc_, bytes_of(bytes));
  summary_crc_ = crc32(summary_crc_, bytes_of(bytes));
  return {};
}

Result<void> McapWriter::add(const McapSchema& schema) {
  schemas_.insert_or_assign(schema.id, schema);
  chunk_.records.record(Opcode::schema, content_of(schema));
  return {};
}

Result<void> McapWriter::add(const McapChannel& channel) {
  channels_.insert_or_assign(channel.id, channel);
  counts_.messages.try_emplace(channel.id, 0);
  chunk_.records.record(Opcode::channel, content_of(channel));
  return {};
}

Result<void> McapWriter::add(const McapMessage& message) {
  if (message.data.size() > record_bytes_max / 2) {
    return Error(ErrorKind::bad_argument, "a message has " + std::to_string(message.data.size()) + " bytes, more than 2^27")
        .at("channel " + channels_[message.channel_id].topic)
        .fix("record other topics alone");
  }
  if (chunk_.records.size() + message.data.size() > chunk_bytes) SPINDRIFT_TRY(flush());
  chunk_.places[message.channel_id].push_back({message.log_time, chunk_.records.size()});
  RecordWriter& to = chunk_.records;
  to.number(static_cast<std::uint8_t>(Opcode::message));
  to.number(std::uint64_t{message_head_bytes + message.data.size()});
  to.number(message.channel_id);
  to.number(message.sequence);
  to.number(message.log_time);
  to.number(message.publish_time);
  to.bytes(message.data);
  chunk_.first_time = std::min(chunk_.first_time, message.log_time);
  chunk_.last_time = std::max(chunk_.last_time, message.log_time);
  return {};
}

Result<void> McapWriter::flush() {
  if (chunk_.records.size() == 0) return {};
  const Chunk chunk = std::exchange(chunk_, {});
  const std::string_view records = chunk.records.written();
  RecordWriter made;
  made.number(static_cast<std::uint8_t>(Opcode::chunk));
  made.number(std::uint64_t{chunk_head_bytes + records.size()});
  made.number(chunk.places.empty() ? std::uint64_t{0} : chunk.first_time);
  made.number(chunk.last_time);
  made.number(std::uint64_t{records.size()});
  made.number(crc32(0, bytes_of(records)));
  made.text("");  // not compressed
  made.number(std::uint64_t{records.size()});
  made.bytes(bytes_of(records));
  for (const auto& [channel, places] : chunk.places) {
    RecordWriter index;
    index.number(channel);
    index.number(static_cast<std::uint32_t>(places.size() * sizeof(places.front())));
    for (const auto& [time, offset] : places) {
      index.number(time);
      index.number(offset);
    }
    made.record(Opcode::message_index, index.written());
  }
  SPINDRIFT_TRY(append(made.written()));
  ++counts_.chunks;
  for (const auto& [channel, places] : chunk.places) counts_.messages[channel] += places.size();
  if (chunk.places.empty()) return {};
  counts_.first_time = std::min(counts_.first_time, chunk.first_time);
  counts_.last_time = std::max(counts_.last_time, chunk.last_time);
  return {};
}

std::uint64_t McapWriter::messages() const noexcept {
  std::uint64_t count = 0;
  for (const auto& [channel, messages] : counts_.messages) count += messages;
  return count;
}

Result<void> McapWriter::finish(const McapMetadata& metadata) {
  Result<void> flushed = flush();
  const std::uint64_t whole = end_;
  if (Result<void> ended = write_end(metadata); !ended) {
    [[maybe_unused]] const int cut = ::ftruncate(file_.get(), static_cast<off_t>(whole));
    return flushed ? std::move(ended) : std::move(flushed);
  }
  return flushed;
}

Result<void> McapWriter::write_end(const McapMetadata& metadata) {
  RecordWriter pending;
  const std::uint64_t metadata_at = end_;
  pending.record(Opcode::metadata, content_of(metadata));
  const std::uint64_t metadata_bytes = pending.size();
  SPINDRIFT_TRY(drain(pending));
  const std::uint64_t data_end = end_;
  RecordWriter crc;
  crc.number(data_crc_);
  pending.record(Opcode::data_end, crc.written());
  SPINDRIFT_TRY(drain(pending));

  return write_summary(metadata, {metadata_at, metadata_bytes}, data_end);
}

Result<void> McapWriter::end_group(Opcode opcode, RecordWriter& pending, RecordWriter& offsets) {
  const std::uint64_t from = group_;
  SPINDRIFT_TRY(drain(pending));
  group_ = end_;
  if (end_ == from) return {};
  RecordWriter offset;
  offset.number(static_cast<std::uint8_t>(opcode));
  offset.number(from);
  offset.number(end_ - from);
  offsets.record(Opcode::summary_offset, offset.written());
  return {};
}

Result<void> McapWriter::write_summary(const McapMetadata& metadata, const std::array<std::uint64_t, 2>& place,
                                       std::uint64_t data_end) {
  RecordWriter pending, offsets;
  summary_crc_ = 0;
  const std::uint64_t summary = group_ = end_;
  for (const auto& [id, schema] : schemas_) pending.record(Opcode::schema, content_of(schema));
  SPINDRIFT_TRY(end_group(Opcode::schema, pending, offsets));
  for (const auto& [id, channel] : channels_) pending.record(Opcode::channel, content_of(channel));
  SPINDRIFT_TRY(end_group(Opcode::channel, pending, offsets));
  pending.record(Opcode::statistics, statistics());
  SPINDRIFT_TRY(end_group(Opcode::statistics, pending, offsets));
  SPINDRIFT_TRY(write_chunk_indexes(data_end, pending));
  SPINDRIFT_TRY(end_group(Opcode::chunk_index, pending, offsets));
  RecordWriter index;
  index.number(place[0]);
  index.number(place[1]);
  index.text(metadata.name);
  pending.record(Opcode::metadata_index, index.written());
  SPINDRIFT_TRY(end_group(Opcode::metadata_index, pending, offsets));

  const std::uint64_t offsets_at = end_;
  pending.bytes(bytes_of(offsets.written()));
  pending.number(static_cast<std::uint8_t>(Opcode::footer));
  pending.number(std::uint64_t{footer_bytes});
  pending.number(summary);
  pending.number(offsets_at);
  pending.number(crc32(summary_crc_, bytes_of(pending.written())));
  pending.bytes(bytes_of(magic));
  return drain(pending);
}

std::string McapWriter::statistics() const {
  RecordWriter content;
  content.number(messages());
  content.number(static_cast<std::uint16_t>(schemas_.size()));
  content.number(static_cast<std::uint32_t>(channels_.size()));
  content.number(std::uint32_t{0});  // attachments
  content.number(std::uint32_t{1});  // metadata
  content.number(counts_.chunks);
  content.number(messages() == 0 ? std::uint64_t{0} : counts_.first_time);
  content.number(counts_.last_time);
  content.number(static_cast<std::uint32_t>(counts_.messages.size() * (sizeof(std::uint16_t) + sizeof(std::uint64_t))));
  for (const auto& [channel, count] : counts_.messages) {
    content.number(channel);
    content.number(count);
  }
  return content.written();
}

Result<void> McapWriter::drain(RecordWriter& pending) {
  SPINDRIFT_TRY(append(pending.written()));
  pending.clear();
  return {};
}

Result<std::string> McapWriter::read(std::uint64_t offset, std::size_t count) const {
  std::string bytes(count, '\0');
  std::size_t done = 0;
  while (done < count) {
    const auto got = ::pread(file_.get(), bytes.data() + done, count - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return failed("read", got < 0 ? errno : EIO);
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

namespace {

/// A chunk that the end of the file is to name.
struct ChunkFacts {
  std::uint64_t at = 0;
  std::uint64_t bytes = 0;
  std::string head{};  ///< first the times of its first and last message, then its size
  std::map<std::uint16_t, std::uint64_t> indexes{};
  std::uint64_t index_bytes = 0;
};

std::string content_of(const ChunkFacts& chunk) {
  RecordReader head(bytes_of(chunk.head));
  RecordWriter content;
  for (int time = 0; time < 2; ++time) content.number(head.number<std::uint64_t>());
  content.number(chunk.at);
  content.number(chunk.bytes);
  content.number(static_cast<std::uint32_t>(chunk.indexes.size() * (sizeof(std::uint16_t) + sizeof(std::uint64_t))));
  for (const auto& [channel, at] : chunk.indexes) {
    content.number(channel);
    content.number(at);
  }
  content.number(chunk.index_bytes);
  content.text("");
  const auto size = head.number<std::uint64_t>();
  content.number(size);
  content.number(size);
  return content.written();
}

}  // namespace

Result<void> McapWriter::write_chunk_indexes(std::uint64_t data_end, RecordWriter& pending) {
  ChunkFacts chunk;
  for (std::uint64_t at = magic.size(); at < data_end;) {
    SPINDRIFT_TRY_ASSIGN(const std::string head, read(at, record_head_bytes + chunk_head_bytes));
    RecordReader from(bytes_of(head));
    const auto opcode = static_cast<Opcode>(from.number<std::uint8_t>());
    const std::uint64_t bytes = record_head_bytes + from.number<std::uint64_t>();
    if (opcode == Opcode::message_index) {
      chunk.indexes[from.number<std::uint16_t>()] = at;
      chunk.index_bytes += bytes;
    } else {
      if (chunk.bytes > 0) pending.record(Opcode::chunk_index, content_of(chunk));
      chunk = {};
      if (opcode == Opcode::chunk) chunk = {.at = at, .bytes = bytes, .head = head.substr(record_head_bytes)};
    }
    if (pending.size() > pending_bytes_max) SPINDRIFT_TRY(drain(pending));
    at += bytes;
  }
  return {};
}

}  // namespace spindrift::mcap
