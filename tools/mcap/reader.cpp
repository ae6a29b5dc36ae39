// Records of MCAP files, one after the other.
#include "reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/file_descriptor.hpp>

namespace spindrift::mcap {
namespace {

/// Bytes of schemas, channels and texts, all of which stay in memory.
constexpr std::size_t told_bytes_max = std::size_t{1} << 26;
constexpr std::size_t piece_bytes = std::size_t{1} << 20;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

}  // namespace

Result<McapReader> McapReader::open(const std::string& path) {
  const auto file = std::make_shared<FileDescriptor>(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!*file) return system_error("open", errno).at(path).fix("name a recording that you may read");
  struct stat facts {};
  if (::fstat(file->get(), &facts) != 0) return system_error("fstat", errno).at(path).fix("name a file");
  if (!S_ISREG(facts.st_mode))
    return Error(ErrorKind::bad_argument, "it is no regular file").at(path).fix("name a recording that is a file");
  const auto source = [file, path](std::uint64_t offset, std::span<std::byte> into) -> Result<std::size_t> {
    std::size_t done = 0;
    while (done < into.size()) {
      const auto got = ::pread(file->get(), into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return system_error("read", errno).at(path).fix("look after its disk");
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  };
  return over(source, static_cast<std::uint64_t>(facts.st_size), path);
}

Result<McapReader> McapReader::over(ReadAt source, std::uint64_t size, std::string name) {
  McapReader reader(std::move(source), size, std::move(name));
  SPINDRIFT_TRY(reader.begin());
  return reader;
}

Error McapReader::damage(std::uint64_t at, const std::string& what) const {
  return Error(ErrorKind::bad_input, what)
      .at(name_ + ": byte " + std::to_string(at))
      .fix("take a copy that is whole; --to ends a replay before the damage");
}

Result<void> McapReader::read(std::uint64_t offset, std::vector<std::byte>& into) const {
  SPINDRIFT_TRY_ASSIGN(const std::size_t got, source_(offset, into));
  if (got == into.size()) return {};
  return damage(offset + got, "the file became shorter while it was read");
}

Result<void> McapReader::begin() {
  std::vector<std::byte> head(magic.size());
  const auto holds = [&] { return std::ranges::equal(head, bytes_of(magic)); };
  if (size_ >= magic.size()) SPINDRIFT_TRY(read(0, head));
  if (size_ < magic.size() || !holds()) {
    return Error(ErrorKind::bad_input, "it is no MCAP file").at(name_).fix("name a file that spindrift topic record made");
  }
  data_crc_ = crc32(0, head);
  offset_ = magic.size();
  if (size_ >= 2 * magic.size()) {
    SPINDRIFT_TRY(read(size_ - magic.size(), head));
    has_end_ = holds();
  }
  return {};
}

Result<std::optional<McapMessage>> McapReader::next() {
  for (;;) {
    if (chunk_at_ < record_.size()) {
      SPINDRIFT_TRY_ASSIGN(std::optional<McapMessage> found, next_in_chunk());
      if (found) return found;
      continue;
    }
    if (done_) return std::optional<McapMessage>();
    SPINDRIFT_TRY(next_record());
    if (alone_) return std::exchange(alone_, std::nullopt);
  }
}

void McapReader::cut_off() {
  done_ = true;
  record_.clear();
  chunk_at_ = 0;
  cut_ = Error(ErrorKind::bad_input,
               "the recording ends here without an end: whoever wrote it was killed, writes it still, or it was copied in "
               "part; what came behind the last whole chunk is not in it")
             .at(name_ + ": byte " + std::to_string(offset_))
             .fix("nothing: all before that is whole");
}

Result<void> McapReader::next_record() {
  const std::uint64_t end = has_end_ ? size_ - magic.size() : size_;
  const std::uint64_t at = offset_;
  if (end - at < record_head_bytes) {
    if (has_end_) return damage(at, "a record is cut off by the end of the file");
    cut_off();
    return {};
  }
  std::vector<std::byte> head(record_head_bytes);
  SPINDRIFT_TRY(read(at, head));
  RecordReader from(head);
  const auto opcode = static_cast<Opcode>(from.number<std::uint8_t>());
  const auto bytes = from.number<std::uint64_t>();
  if (bytes > end - at - record_head_bytes) {
    if (has_end_) return damage(at, "a record of " + std::to_string(bytes) + " bytes reaches beyond the end of the file");
    cut_off();
    return {};
  }
  if (bytes > record_bytes_max) return damage(at, "a record has " + std::to_string(bytes) + " bytes, more than 2^28");
  record_.resize(bytes);
  chunk_at_ = record_.size();
  record_at_ = at + record_head_bytes;
  SPINDRIFT_TRY(read(record_at_, record_));
  offset_ = record_at_ + bytes;
  if (opcode != Opcode::data_end) data_crc_ = crc32(crc32(data_crc_, head), record_);
  return take(opcode, at);
}

Result<void> McapReader::take(Opcode opcode, std::uint64_t at) {
  switch (opcode) {
    case Opcode::schema:
    case Opcode::channel:
    case Opcode::metadata: return define(opcode, record_, at);
    case Opcode::message: {
      SPINDRIFT_TRY_ASSIGN(alone_, message(record_, at));
      return {};
    }
    case Opcode::chunk: return open_chunk(at);
    case Opcode::footer: return damage(at, "the footer is there before the end of the data");
    case Opcode::data_end: {
      RecordReader content(record_);
      const auto crc = content.number<std::uint32_t>();
      if (!content.ok() || (crc != 0 && crc != data_crc_)) return damage(at, "the checksum of all data is another one");
      done_ = true;
      return check_end();
    }
    default: break;
  }
  if (static_cast<std::uint8_t>(opcode) == 0) return damage(at, "there is no record");
  return {};  // indexes, attachments, and what later versions have
}

Result<void> McapReader::open_chunk(std::uint64_t at) {
  RecordReader content(record_);
  content.number<std::uint64_t>();
  content.number<std::uint64_t>();
  const auto size = content.number<std::uint64_t>();
  const auto crc = content.number<std::uint32_t>();
  const std::string compression = content.text();
  const auto bytes = content.number<std::uint64_t>();
  if (!content.ok() || bytes != content.left()) return damage(at, "a chunk has other bytes than it says");
  if (!compression.empty()) {
    return Error(ErrorKind::unsupported, "a chunk is compressed by " + printable(bytes_of(compression)))
        .at(name_ + ": byte " + std::to_string(at))
        .fix("make a copy that is not: mcap compress --compression none");
  }
  if (size != bytes) return damage(at, "a chunk has other bytes than it says");
  if (crc != 0 && crc != crc32(0, content.rest())) return damage(at, "the checksum of a chunk is another one");
  chunk_at_ = record_.size() - bytes;
  return {};
}

Result<std::optional<McapMessage>> McapReader::next_in_chunk() {
  const std::uint64_t at = record_at_ + chunk_at_;
  RecordReader from(std::span<const std::byte>(record_).subspan(chunk_at_));
  const auto opcode = static_cast<Opcode>(from.number<std::uint8_t>());
  const auto bytes = from.number<std::uint64_t>();
  const auto content = from.bytes(bytes);
  if (!from.ok()) return damage(at, "a record within a chunk reaches beyond it");
  chunk_at_ += record_head_bytes + bytes;
  if (opcode == Opcode::message) return message(content, at);
  if (opcode == Opcode::schema || opcode == Opcode::channel) SPINDRIFT_TRY(define(opcode, content, at));
  return std::optional<McapMessage>();
}

Result<void> McapReader::define(Opcode opcode, std::span<const std::byte> content, std::uint64_t at) {
  constexpr std::size_t overhead = 100;
  const std::size_t bytes = content.size() + overhead;
  told_bytes_ += bytes;
  const std::string again = "it is told again, and otherwise";
  if (opcode == Opcode::schema) {
    const auto schema = schema_of(content);
    if (!schema) return damage(at, "a schema is none");
    const auto [known, added] = schemas_.try_emplace(schema->id, *schema);
    if (!added) told_bytes_ -= bytes;
    if (*schema != known->second) return damage(at, "schema " + std::to_string(schema->id) + ": " + again);
  } else if (opcode == Opcode::channel) {
    const auto channel = channel_of(content);
    if (!channel) return damage(at, "a channel is none");
    if (channel->schema_id != 0 && !schemas_.contains(channel->schema_id))
      return damage(at, "a channel is of schema " + std::to_string(channel->schema_id) + ", which did not come");
    const auto [known, added] = channels_.try_emplace(channel->id, *channel);
    if (!added) told_bytes_ -= bytes;
    if (*channel != known->second) return damage(at, "channel " + std::to_string(channel->id) + ": " + again);
  } else {
    auto metadata = metadata_of(content);
    if (!metadata) return damage(at, "a record of metadata is none");
    metadata_.push_back(std::move(*metadata));
  }
  if (told_bytes_ > told_bytes_max) return damage(at, "there are more than 2^26 bytes of schemas, channels and metadata");
  return {};
}

Result<std::optional<McapMessage>> McapReader::message(std::span<const std::byte> content, std::uint64_t at) const {
  const auto found = message_of(content);
  if (!found) return damage(at, "a message is cut off");
  if (!channels_.contains(found->channel_id))
    return damage(at, "a message is of channel " + std::to_string(found->channel_id) + ", which did not come");
  return found;
}

Result<void> McapReader::check_end() {
  record_.clear();
  chunk_at_ = 0;
  constexpr std::uint64_t tail = record_head_bytes + footer_bytes;
  if (!has_end_) {
    cut_off();
    return {};
  }
  const std::uint64_t footer = size_ - magic.size() - tail;
  if (size_ < offset_ + tail + magic.size()) return damage(offset_, "there is no footer");
  std::vector<std::byte> bytes(tail);
  SPINDRIFT_TRY(read(footer, bytes));
  RecordReader content(bytes);
  const auto opcode = static_cast<Opcode>(content.number<std::uint8_t>());
  const auto size = content.number<std::uint64_t>();
  const auto summary = content.number<std::uint64_t>();
  content.number<std::uint64_t>();
  const auto crc = content.number<std::uint32_t>();
  if (opcode != Opcode::footer || size != footer_bytes) return damage(footer, "there is no footer");
  if (crc == 0) return {};
  std::uint64_t at = summary == 0 ? footer : summary;
  if (at > footer || at < offset_) return damage(footer, "the footer names another place than the summary's");
  std::uint32_t found = 0;
  for (const std::uint64_t end = size_ - magic.size() - sizeof crc; at < end; at += bytes.size()) {
    bytes.resize(std::min<std::uint64_t>(piece_bytes, end - at));
    SPINDRIFT_TRY(read(at, bytes));
    found = crc32(found, bytes);
  }
  if (found != crc) return damage(footer, "the checksum of the summary is another one");
  return {};
}

}  // namespace spindrift::mcap
