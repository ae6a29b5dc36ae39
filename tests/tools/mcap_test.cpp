// MCAP files that are right, cut off, damaged and hostile.
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>

#include "mcap/reader.hpp"
#include "mcap/writer.hpp"

using Catch::Matchers::Contains;

namespace spindrift::mcap {
namespace {

class ScratchFile {
 public:
  ScratchFile() {
    char name[] = "/tmp/spindrift-mcap-XXXXXX";
    directory_ = ::mkdtemp(name);
  }
  ~ScratchFile() { std::filesystem::remove_all(directory_); }
  [[nodiscard]] std::string path() const { return directory_ + "/a.mcap"; }
  [[nodiscard]] std::string bytes() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string directory_;
};

constexpr std::size_t count = 5;
std::string payload(std::size_t each) { return std::string(100, static_cast<char>('a' + each)); }

McapWriter begun(const std::string& path) {
  auto writer = McapWriter::create(path, "test");
  REQUIRE(writer.ok());
  REQUIRE(writer->add(McapSchema{1, "T", "omgidl", "struct T {};"}).ok());
  REQUIRE(writer->add(McapChannel{1, 1, "one", "cdr", {{"key", "value"}}}).ok());
  REQUIRE(writer->add(McapChannel{2, 1, "two", "cdr", {}}).ok());
  return std::move(writer).value();
}
Result<void> add(McapWriter& writer, std::size_t each) {
  const std::string text = payload(each);
  return writer.add(McapMessage{.channel_id = static_cast<std::uint16_t>(1 + each % 2),
                                .sequence = static_cast<std::uint32_t>(each),
                                .log_time = 1000 + each,
                                .publish_time = each,
                                .data = std::as_bytes(std::span(text.data(), text.size()))});
}
/// A chunk for each message.
std::string small_file() {
  const ScratchFile scratch;
  McapWriter writer = begun(scratch.path());
  for (std::size_t each = 0; each < count; ++each) {
    REQUIRE(add(writer, each).ok());
    REQUIRE(writer.flush().ok());
  }
  REQUIRE(writer.finish({.name = "end", .texts = {{"a", "b"}}}).ok());
  return scratch.bytes();
}

struct Found {
  std::size_t messages = 0;
  std::optional<Error> error{};
  std::optional<Error> cut{};
  std::vector<McapMetadata> metadata{};
};
/// All that is read, each message of which is held against what was written.
Found read(const std::string& bytes) {
  const auto source = [&](std::uint64_t offset, std::span<std::byte> into) -> Result<std::size_t> {
    const std::size_t there = std::min(into.size(), bytes.size() - std::min<std::size_t>(offset, bytes.size()));
    std::memcpy(into.data(), bytes.data() + offset, there);
    return there;
  };
  Found found;
  auto reader = McapReader::over(source, bytes.size(), "test.mcap");
  if (!reader) return {.error = reader.error()};
  for (;;) {
    const auto message = reader->next();
    if (!message) {
      found.error = message.error();
      break;
    }
    if (!*message) break;
    const std::string text = payload((*message)->sequence);
    CHECK(std::string_view(reinterpret_cast<const char*>((*message)->data.data()), (*message)->data.size()) == text);
    CHECK((*message)->log_time == 1000 + (*message)->sequence);
    ++found.messages;
  }
  found.cut = reader->cut();
  found.metadata = reader->metadata();
  return found;
}

}  // namespace

TEST_CASE("a checksum is that of zlib, in parts or at once") {
  const std::string text = "123456789";
  const auto bytes = std::as_bytes(std::span(text));
  CHECK(crc32(0, bytes) == 0xcbf43926);
  CHECK(crc32(crc32(0, bytes.first(4)), bytes.subspan(4)) == 0xcbf43926);
}

TEST_CASE("a recording is read as it was written") {
  const Found found = read(small_file());
  CHECK_FALSE(found.error);
  CHECK_FALSE(found.cut);
  CHECK(found.messages == count);
  REQUIRE(found.metadata.size() == 1);
  CHECK(found.metadata[0].texts == Texts{{"a", "b"}});
}

TEST_CASE("a recording that is cut off anywhere has all chunks before that, and says where it is cut") {
  const std::string whole = small_file();
  std::size_t before = 0;
  for (std::size_t size = 8; size < whole.size(); ++size) {
    const Found found = read(whole.substr(0, size));
    CHECK_FALSE(found.error);
    REQUIRE(found.cut);
    CHECK_THAT(found.cut->place(), Contains("test.mcap: byte "));
    CHECK(found.messages >= before);
    before = found.messages;
  }
  CHECK(before == count);
}

TEST_CASE("no byte of a recording can change unseen, but for what nobody reads") {
  const std::string whole = small_file();
  std::size_t seen = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    const Found found = read(damaged);
    if (!found.error && !found.cut) continue;
    ++seen;
    if (!found.error) continue;
    CHECK(found.error->kind() == ErrorKind::bad_input);
    CHECK_THAT(found.error->place(), Contains("test.mcap"));
    CHECK_FALSE(found.error->fix().empty());
  }
  // The footer's own place of the offsets is covered by its checksum, so only the checksum of nothing is free.
  CHECK(seen == whole.size());
}

TEST_CASE("a damaged chunk is refused with its offset, and what is before it is read") {
  std::string damaged = small_file();
  const std::size_t third = damaged.find(payload(2));
  damaged[third + 3] = '!';
  const Found found = read(damaged);
  REQUIRE(found.error);
  CHECK(found.messages == 2);
  const std::string place = found.error->place();
  const std::size_t offset = std::stoul(place.substr(place.rfind(' ')));
  CHECK(offset < third);
  CHECK(offset + 200 > third);
  CHECK_THAT(found.error->message(), Contains("the checksum of a chunk is another one"));
}

TEST_CASE("a file that is there is not overwritten") {
  const ScratchFile scratch;
  { const McapWriter writer = begun(scratch.path()); }
  const auto again = McapWriter::create(scratch.path(), "test");
  REQUIRE_FALSE(again.ok());
  CHECK(again.error().kind() == ErrorKind::bad_argument);
  CHECK_THAT(again.error().message(), Contains("is not overwritten"));
}

TEST_CASE("a disk that is full ends a recording with an error, and leaves all chunks before that") {
  const ScratchFile scratch;
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  McapWriter writer = begun(scratch.path());
  for (std::size_t each = 0; each < 3; ++each) {
    REQUIRE(add(writer, each).ok());
    REQUIRE(writer.flush().ok());
  }
  const std::uint64_t room = GENERATE(std::uint64_t{20}, std::uint64_t{1000});  // none for an end, or enough
  const rlimit full{.rlim_cur = writer.bytes() + room, .rlim_max = before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &full) == 0);
  for (std::size_t each = 0; each < 10; ++each) REQUIRE(add(writer, each % count).ok());
  const Result<void> flushed = writer.flush();
  const Result<void> finished = writer.finish({.name = "end", .texts = {}});
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  REQUIRE_FALSE(flushed.ok());
  CHECK(flushed.error().kind() == ErrorKind::disk_full);
  CHECK(flushed.error().place() == scratch.path());
  CHECK_THAT(flushed.error().fix(), Contains("make room"));
  CHECK(finished.ok() == (room == 1000));
  const Found found = read(scratch.bytes());
  CHECK_FALSE(found.error);
  CHECK(found.messages == 3);
  CHECK(found.cut.has_value() == (room == 20));
}

}  // namespace spindrift::mcap
