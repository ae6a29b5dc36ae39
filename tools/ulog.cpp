// The message loop of the ULog reader. A file is a header and messages {u16 size, u8 type, payload}, little-endian; only
// the types that lead to samples are interpreted, the others are skipped.
#include "ulog.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <unordered_map>

#include <spindrift/core/file_descriptor.hpp>

namespace spindrift::ulog {
namespace {

static_assert(std::endian::native == std::endian::little, "ULog is read in place");

constexpr std::array<unsigned char, 7> magic{'U', 'L', 'o', 'g', 0x01, 0x12, 0x35};
constexpr std::array<unsigned char, 8> sync_magic{0x2f, 0x73, 0x13, 0x20, 0x25, 0x0c, 0xbb, 0x12};
constexpr std::size_t header_bytes = 16;
constexpr std::uint64_t file_bytes_max = std::uint64_t{2} << 30;
constexpr std::size_t message_header_bytes = 3;
constexpr std::size_t flag_bits_bytes = 40;
constexpr unsigned char flag_data_appended = 0x01;  // the one incompatible flag that this reader knows
constexpr unsigned char version_max = 1;

template <class Number>
Number read(std::span<const std::byte> bytes, std::size_t at) {
  Number value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Error bad(std::string message) { return {ErrorKind::bad_input, std::move(message)}; }

/// Appends the next bytes of the file, at most so many; fewer: it ends there.
Result<void> append(std::vector<std::byte>& bytes, const FileDescriptor& file, std::size_t most, const std::string& path) {
  std::size_t filled = bytes.size();
  bytes.resize(filled + most);
  while (filled < bytes.size()) {
    const auto count = ::read(file.get(), bytes.data() + filled, bytes.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("read " + path, errno);
    if (count == 0) break;  // it became shorter meanwhile; the parser sees where it ends
    filled += static_cast<std::size_t>(count);
  }
  bytes.resize(filled);
  return {};
}

}  // namespace

/// One pass over a recording's bytes.
class Parser {
 public:
  explicit Parser(Recording& recording)
      : recording_(recording), bytes_(recording.bytes_), formats_(recording.formats_) {}

  [[nodiscard]] Result<void> header();
  void messages();

 private:
  struct Subscription {
    std::uint16_t message_id = 0;
    std::uint8_t instance = 0;
    SampleSize size;
    std::string topic;
    std::optional<std::uint16_t> topic_index;  // given with the first sample
  };
  using Payload = std::span<const std::byte>;

  [[nodiscard]] Result<void> message(unsigned char type, Payload payload);
  [[nodiscard]] Result<void> flag_bits(Payload payload);
  [[nodiscard]] Result<void> subscribe(Payload payload);
  [[nodiscard]] Result<void> unsubscribe(Payload payload);
  [[nodiscard]] Result<void> data(Payload payload);
  [[nodiscard]] std::uint16_t topic_index(const std::string& name);
  [[nodiscard]] std::size_t segment_end() const;
  void report(std::string message, std::string fix);

  Recording& recording_;
  Payload bytes_;
  std::size_t offset_ = 0;
  std::size_t messages_ = 0;
  std::vector<std::uint64_t> appended_;  // ascending: where appended data begins; a message before it may be cut off
  FormatTable& formats_;
  std::unordered_map<std::uint16_t, Subscription> subscriptions_;
  std::unordered_map<std::string, std::uint16_t> topic_indices_;
};

Result<void> Parser::header() {
  const auto place = recording_.name_;
  const char* const fix = "give a ULog file (.ulg) as PX4 records it";
  if (bytes_.size() < header_bytes) {
    return bad("byte " + std::to_string(bytes_.size()) + ": the file ends within the 16-byte header of a ULog file")
        .at(place)
        .fix(fix);
  }
  if (std::memcmp(bytes_.data(), magic.data(), magic.size()) != 0) {
    return bad("byte 0: this is no ULog file: it does not begin with ULog's magic bytes").at(place).fix(fix);
  }
  if (const auto version = read<std::uint8_t>(bytes_, magic.size()); version > version_max) {
    return bad("byte 7: ULog version " + std::to_string(version) + " is newer than this reader (0 and 1)")
        .at(place)
        .fix("convert the recording to version 1");
  }
  recording_.start_us_ = read<std::uint64_t>(bytes_, 8);
  offset_ = header_bytes;
  return {};
}

std::size_t Parser::segment_end() const {
  const auto next = std::upper_bound(appended_.begin(), appended_.end(), offset_);
  return next == appended_.end() ? bytes_.size() : std::min<std::size_t>(*next, bytes_.size());
}

void Parser::report(std::string message, std::string fix) {
  recording_.damage_ =
      bad("byte " + std::to_string(offset_) + ": " + std::move(message)).at(recording_.name_).fix(std::move(fix));
}

void Parser::messages() {
  while (offset_ < bytes_.size()) {
    const std::size_t end = segment_end();
    const std::size_t left = end - offset_;
    const std::size_t size = left < message_header_bytes ? 0 : read<std::uint16_t>(bytes_, offset_);
    if (left < message_header_bytes + size) {
      if (end < bytes_.size()) {  // the writer stopped here and appended at `end` later, as the flag bits announced
        offset_ = end;
        continue;
      }
      const std::string what = left < message_header_bytes
                                   ? "the file ends within a message's header"
                                   : "the file ends within a message: " + std::to_string(size) + " bytes announced, " +
                                         std::to_string(left - message_header_bytes) + " there";
      return report(what, "copy the file again, or accept that the recording ends here");
    }
    const auto type = read<std::uint8_t>(bytes_, offset_ + 2);
    if (auto result = message(type, bytes_.subspan(offset_ + message_header_bytes, size)); !result) {
      return report(result.error().message(), "copy the file again, or cut it off at this byte");
    }
    offset_ += message_header_bytes + size;
    ++messages_;
  }
}

Result<void> Parser::message(unsigned char type, Payload payload) {
  switch (type) {
    case 'B': return flag_bits(payload);
    case 'F': return formats_.define(text_of(payload));
    case 'A': return subscribe(payload);
    case 'R': return unsubscribe(payload);
    case 'D': return data(payload);
    case 'S':
      if (payload.size() != sync_magic.size() || std::memcmp(payload.data(), sync_magic.data(), sync_magic.size()) != 0) {
        return bad("a synchronization message does not hold ULog's synchronization bytes");
      }
      return {};
    default:
      // Information, parameters, log lines, dropouts, and what later writers may add under another type.
      if (type >= 'A' && type <= 'Z') return {};
      return bad("a message has the impossible type " + std::to_string(type));
  }
}

Result<void> Parser::flag_bits(Payload payload) {
  if (messages_ != 0) return bad("flag bits stand behind the first message");
  if (payload.size() < flag_bits_bytes) return bad("flag bits take 40 bytes, not " + std::to_string(payload.size()));
  constexpr std::size_t incompatible_at = 8;
  constexpr std::size_t offsets_at = 16;
  for (std::size_t i = incompatible_at; i < offsets_at; ++i) {
    const unsigned known = i == incompatible_at ? flag_data_appended : 0U;
    if ((read<std::uint8_t>(payload, i) & ~known) != 0) {
      return bad("the file uses a feature that this reader does not know, and says that it must not be ignored");
    }
  }
  if ((read<std::uint8_t>(payload, incompatible_at) & flag_data_appended) == 0) return {};
  std::uint64_t least = offset_ + message_header_bytes + payload.size();
  for (std::size_t i = 0; i < 3; ++i) {
    const auto at = read<std::uint64_t>(payload, offsets_at + i * sizeof(std::uint64_t));
    if (at == 0) break;
    if (at < least) return bad("appended data cannot begin at byte " + std::to_string(at));
    appended_.push_back(at);
    least = at + 1;
  }
  return {};
}

Result<void> Parser::subscribe(Payload payload) {
  constexpr std::size_t name_at = 3;
  if (payload.size() <= name_at) return bad("a subscription is too short to name a topic");
  const std::string_view topic = text_of(payload.subspan(name_at));
  SPINDRIFT_TRY_ASSIGN(const auto size, formats_.sample_size(topic));
  Subscription subscription{.message_id = read<std::uint16_t>(payload, 1),
                            .instance = read<std::uint8_t>(payload, 0),
                            .size = size,
                            .topic = std::string(topic),
                            .topic_index = {}};
  const auto id = subscription.message_id;
  if (!subscriptions_.emplace(id, std::move(subscription)).second) {
    return bad("message id " + std::to_string(id) + " is subscribed twice");
  }
  return {};
}

Result<void> Parser::unsubscribe(Payload payload) {
  if (payload.size() != sizeof(std::uint16_t)) return bad("the end of a subscription has the wrong size");
  if (subscriptions_.erase(read<std::uint16_t>(payload, 0)) == 0) return bad("a subscription ends that never began");
  return {};
}

std::uint16_t Parser::topic_index(const std::string& name) {
  const auto next = static_cast<std::uint16_t>(recording_.topics_.size());  // one per live message id at most
  const auto [at, fresh] = topic_indices_.emplace(name, next);
  if (fresh) recording_.topics_.push_back(Topic{.name = name});
  return at->second;
}

Result<void> Parser::data(Payload payload) {
  constexpr std::size_t id_bytes = sizeof(std::uint16_t);
  if (payload.size() < id_bytes) return bad("a sample is too short for its message id");
  const auto found = subscriptions_.find(read<std::uint16_t>(payload, 0));
  if (found == subscriptions_.end()) {
    return bad("a sample has the message id " + std::to_string(read<std::uint16_t>(payload, 0)) +
               ", which no subscription has");
  }
  Subscription& subscription = found->second;
  const std::size_t size = payload.size() - id_bytes;
  if (size < subscription.size.least || size > subscription.size.most) {
    return bad("a sample of " + subscription.topic + " has " + std::to_string(size) + " bytes; its format takes " +
               std::to_string(subscription.size.most));
  }
  if (!subscription.topic_index) {
    constexpr std::size_t topics_max = 0xffff;
    if (recording_.topics_.size() == topics_max) return bad("more than 65535 topics");
    subscription.topic_index = topic_index(subscription.topic);
  }
  const auto fields = payload.subspan(id_bytes + sizeof(std::uint64_t));
  Topic& topic = recording_.topics_[*subscription.topic_index];
  ++topic.samples;
  topic.bytes += fields.size();
  topic.bytes_max = std::max<std::uint64_t>(topic.bytes_max, fields.size());
  recording_.samples_.push_back(Sample{.timestamp_us = read<std::uint64_t>(payload, id_bytes),
                                       .topic = *subscription.topic_index,
                                       .instance = subscription.instance,
                                       .fields = fields});
  return {};
}

void Recording::repeat(std::uint32_t rounds, std::uint64_t period_us) {
  const std::size_t once = samples_.size();
  samples_.reserve(once * rounds);
  for (std::uint32_t round = 1; round < rounds; ++round) {
    for (std::size_t at = 0; at < once; ++at) {
      samples_.push_back(samples_[at]);
      samples_.back().timestamp_us += round * period_us;
    }
  }
  for (Topic& topic : topics_) {
    topic.samples *= rounds;
    topic.bytes *= rounds;
  }
}

Result<Recording> Recording::parse(std::vector<std::byte> bytes, std::string name) {
  Recording recording(std::move(bytes), std::move(name));
  Parser parser(recording);
  SPINDRIFT_TRY(parser.header());
  parser.messages();
  return recording;
}

// Its beginning first: a file that is none is not read into memory.
Result<Recording> Recording::read(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return system_error("open " + path, errno).fix("name a readable ULog file");
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return system_error("stat " + path, errno);
  if (!S_ISREG(status.st_mode)) {
    return bad("not a regular file; every member reads the recording by itself").at(path).fix("name a file on disk");
  }
  std::vector<std::byte> bytes;
  SPINDRIFT_TRY(append(bytes, file, std::min<std::size_t>(header_bytes, static_cast<std::size_t>(status.st_size)), path));
  {
    Recording beginning(bytes, path);
    SPINDRIFT_TRY(Parser(beginning).header());
  }
  if (static_cast<std::uint64_t>(status.st_size) > file_bytes_max) {
    return bad("it has " + std::to_string(status.st_size) + " bytes, more than the " + std::to_string(file_bytes_max) +
               " of a recording that is read")
        .at(path)
        .fix("cut the recording into shorter ones");
  }
  SPINDRIFT_TRY(append(bytes, file, static_cast<std::size_t>(status.st_size) - bytes.size(), path));
  return parse(std::move(bytes), path);
}

}  // namespace spindrift::ulog
