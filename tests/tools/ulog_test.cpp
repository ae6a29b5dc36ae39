// The ULog reader on right, damaged and hostile files.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <catch2/catch.hpp>

#include <spindrift/core/file_descriptor.hpp>

#include "ulog.hpp"
#include "ulog_builder.hpp"

using namespace spindrift;
using test::small_recording;
using test::UlogBuilder;
using ulog::Recording;

namespace {

Recording parse(UlogBuilder file) {
  auto recording = Recording::parse(std::move(file.bytes()), "test.ulg");
  REQUIRE(recording.ok());
  return std::move(*recording);
}

std::string damage_of(UlogBuilder file) {
  const Recording recording = parse(std::move(file));
  REQUIRE(recording.damage());
  CHECK(recording.damage()->kind() == ErrorKind::bad_input);
  CHECK(recording.damage()->place() == "test.ulg");
  CHECK_FALSE(recording.damage()->fix().empty());
  return recording.damage()->message();
}

std::string text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// A file with the format of a topic "t" of one byte, and a subscription to it as 3.
UlogBuilder with_topic() {
  UlogBuilder file;
  file.format("t:uint64_t timestamp;uint8_t value;").subscribe(3, "t");
  return file;
}

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

}  // namespace

TEST_CASE("a valid recording gives its topics and samples in the order of the file") {
  const Recording recording = parse(small_recording());
  CHECK_FALSE(recording.damage());
  CHECK(recording.start_us() == 1000);
  REQUIRE(recording.topics().size() == 2);
  CHECK(recording.topics()[0].name == "speed");
  CHECK(recording.topics()[0].samples == 4);
  CHECK(recording.topics()[0].bytes_max == 4);
  CHECK(recording.topics()[1].name == "pose");
  CHECK(recording.topics()[1].samples == 2);
  CHECK(recording.topics()[1].bytes == 34);
  REQUIRE(recording.samples().size() == 6);
  CHECK(recording.samples()[2].instance == 1);
  CHECK(recording.samples()[2].timestamp_us == 1002);
  CHECK(text_of(recording.samples()[2].fields) == "bbbb");
  CHECK(recording.samples()[4].topic == 1);
}

TEST_CASE("a file cut off at any byte gives the samples before the cut and says where it ends") {
  const UlogBuilder whole = small_recording();
  const Recording complete = parse(whole);
  std::size_t most = 0;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    UlogBuilder file = whole;
    file.bytes().resize(length);
    auto recording = Recording::parse(std::move(file.bytes()), "test.ulg");
    if (length < 16) {
      REQUIRE_FALSE(recording.ok());
      CHECK_THAT(recording.error().message(), Contains("header"));
      continue;
    }
    REQUIRE(recording.ok());
    REQUIRE(recording->samples().size() >= most);  // a longer file never holds less
    most = recording->samples().size();
    REQUIRE(most < complete.samples().size());
    for (std::size_t i = 0; i < most; ++i)
      REQUIRE(text_of(recording->samples()[i].fields) == text_of(complete.samples()[i].fields));
    if (!recording->damage()) continue;  // cut between two messages
    REQUIRE_THAT(recording->damage()->message(), StartsWith("byte ") && Contains("the file ends within"));
  }
  CHECK(most == 5);
}

TEST_CASE("a file that is no ULog file is refused") {
  UlogBuilder file;
  file.bytes()[0] = std::byte{'X'};
  CHECK_THAT(Recording::parse(std::move(file.bytes()), "x").error().to_string(), Contains("magic") && Contains("fix:"));
  UlogBuilder newer;
  newer.bytes()[7] = std::byte{2};
  CHECK_THAT(Recording::parse(std::move(newer.bytes()), "x").error().message(), Contains("version 2"));
}

TEST_CASE("a large file that is no recording is not read into memory, nor one of more than two GiB that begins as one") {
  std::string path = (std::filesystem::temp_directory_path() / "spindrift-ulog-XXXXXX").string();
  const FileDescriptor file(::mkstemp(path.data()));
  const auto resident_kib = [] {
    rusage used{};
    REQUIRE(::getrusage(RUSAGE_SELF, &used) == 0);
    return used.ru_maxrss;
  };
  const auto before = resident_kib();
  REQUIRE(::ftruncate(file.get(), off_t{1} << 30) == 0);
  CHECK_THAT(Recording::read(path).error().to_string(), Contains("magic"));
  REQUIRE(::pwrite(file.get(), UlogBuilder().bytes().data(), 16, 0) == 16);
  REQUIRE(::ftruncate(file.get(), off_t{3} << 30) == 0);
  CHECK_THAT(Recording::read(path).error().to_string(), Contains("3221225472 bytes") && Contains("fix:"));
  CHECK(resident_kib() - before < 100 * 1024);
  std::filesystem::remove(path);
}

TEST_CASE("a header alone is a recording without samples") {
  const Recording recording = parse(UlogBuilder());
  CHECK_FALSE(recording.damage());
  CHECK(recording.samples().empty());
}

TEST_CASE("a sample without subscription, or after its end, is damage") {
  CHECK_THAT(damage_of(with_topic().sample(4, 1, "v")), Contains("message id 4"));
  CHECK_THAT(
      damage_of(with_topic().sample(3, 1, "v").message('R', UlogBuilder::bytes_of<std::uint16_t>(3)).sample(3, 2, "v")),
      Contains("message id 3"));
  CHECK_THAT(damage_of(with_topic().message('R', UlogBuilder::bytes_of<std::uint16_t>(5))), Contains("never began"));
  CHECK_THAT(damage_of(with_topic().message('D', "x")), Contains("too short"));
}

TEST_CASE("a sample's size must be its format's, with or without the padding at its end") {
  CHECK_THAT(damage_of(with_topic().sample(3, 1, "")), Contains("8 bytes; its format takes 9"));
  CHECK_THAT(damage_of(with_topic().sample(3, 1, "vv")), Contains("10 bytes; its format takes 9"));
  const auto padded = [](std::size_t bytes) {
    UlogBuilder file;
    file.format("p:uint64_t timestamp;uint8_t v;uint8_t[7] _padding0;")
        .subscribe(0, "p")
        .sample(0, 1, std::string(bytes, 'v'));
    return parse(std::move(file)).samples().size();
  };
  CHECK(padded(0) == 0);
  CHECK(padded(1) == 1);
  CHECK(padded(8) == 1);
  CHECK(padded(9) == 0);
}

TEST_CASE("a size that lies is noticed and what came before is kept") {
  UlogBuilder beyond = with_topic();
  beyond.sample(3, 1, "v").message_claiming('D', "short", 60000);
  const Recording recording = parse(beyond);
  CHECK(recording.samples().size() == 1);
  REQUIRE(recording.damage());
  CHECK_THAT(recording.damage()->message(), Contains("60000 bytes announced, 5 there"));

  UlogBuilder within = with_topic();
  within.sample(3, 1, "v").message_claiming('I', "a longer text than said", 4).sample(3, 2, "w");
  const Recording shifted = parse(within);
  CHECK(shifted.samples().size() == 1);
  CHECK(shifted.damage());
}

TEST_CASE("formats that cannot be are damage where they are used") {
  const auto subscribed = [](std::string_view definition) {
    return damage_of(UlogBuilder().format(definition).subscribe(0, "t"));
  };
  CHECK_THAT(damage_of(UlogBuilder().subscribe(0, "t")), Contains("\"t\" has no format"));
  CHECK_THAT(subscribed("t:uint64_t timestamp;nowhere x;"), Contains("\"nowhere\" is not defined"));
  CHECK_THAT(subscribed("t:uint64_t timestamp;t again;"), Contains("contains itself"));
  CHECK_THAT(subscribed("t:uint64_t timestamp;double[65535] x;"), Contains("larger than a message"));
  CHECK_THAT(subscribed("t:uint32_t x;"), Contains("does not begin with uint64_t timestamp"));
  CHECK_THAT(subscribed("t:"), Contains("no fields"));
  CHECK_THAT(subscribed("t:uint64_t"), Contains("not \"type name\""));
  CHECK_THAT(subscribed("t:uint64_t timestamp;float[ x;"), Contains("array length"));
  CHECK_THAT(subscribed("t:uint64_t timestamp;float[99999999999999999999] x;"), Contains("array length"));
  CHECK_THAT(subscribed("no colon"), Contains("colon"));
  CHECK_THAT(damage_of(with_topic().format("t:uint64_t timestamp;")), Contains("defined twice"));
  CHECK_THAT(damage_of(with_topic().subscribe(3, "t")), Contains("subscribed twice"));
}

TEST_CASE("formats nested without end are refused in bounded time") {
  UlogBuilder file;
  for (int i = 0; i < 1000; ++i) {
    file.format("t" + std::to_string(i) + ":uint64_t timestamp;t" + std::to_string(i + 1) + "[2] x;t" +
                std::to_string(i + 1) + " y;");
  }
  CHECK_THAT(damage_of(file.subscribe(0, "t0")), Contains("nested too deep"));
}

TEST_CASE("a definition with a long or unprintable text is named in a short printable message") {
  const std::string message = damage_of(UlogBuilder().format(std::string(5000, '\x1b')));
  CHECK(message.size() < 300);
  CHECK(message.find('\x1b') == std::string::npos);
}

TEST_CASE("impossible message types and false synchronization are damage") {
  CHECK_THAT(damage_of(with_topic().message('\0', "")), Contains("impossible type 0"));
  CHECK_THAT(damage_of(with_topic().message('S', "12345678")), Contains("synchronization"));
}

TEST_CASE("appended data is read although the message before it was cut off") {
  UlogBuilder probe;
  probe.flag_bits(1, 0)
      .format("t:uint64_t timestamp;uint8_t value;")
      .subscribe(3, "t")
      .sample(3, 1, "a")
      .raw(
          "\x40\x00"
          "D3");
  const std::uint64_t appended_at = probe.size();
  UlogBuilder file;
  file.flag_bits(1, appended_at)
      .format("t:uint64_t timestamp;uint8_t value;")
      .subscribe(3, "t")
      .sample(3, 1, "a")
      .raw(std::string_view("\x40\x00"
                            "D3",
                            4));
  REQUIRE(file.size() >= appended_at);
  while (file.size() > appended_at) file.bytes().pop_back();
  file.sample(3, 2, "b");
  const Recording recording = parse(file);
  CHECK_FALSE(recording.damage());
  REQUIRE(recording.samples().size() == 2);
  CHECK(text_of(recording.samples()[1].fields) == "b");
}

TEST_CASE("flag bits that this reader cannot honor are refused") {
  CHECK_THAT(damage_of(UlogBuilder().flag_bits(2, 0)), Contains("does not know"));
  CHECK_THAT(damage_of(UlogBuilder().flag_bits(1, 20)), Contains("cannot begin at byte 20"));
  CHECK_THAT(damage_of(with_topic().flag_bits(0, 0)), Contains("behind the first message"));
  CHECK_THAT(damage_of(UlogBuilder().message('B', "short")), Contains("40 bytes"));
}

TEST_CASE("no byte of a small file, whatever its value, leads the reader astray") {
  const UlogBuilder whole = small_recording();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const unsigned flip : {0x01U, 0x80U, 0xffU}) {
      UlogBuilder file = whole;
      file.bytes()[at] ^= static_cast<std::byte>(flip);
      const std::size_t size = file.size();
      const auto recording = Recording::parse(std::move(file.bytes()), "test.ulg");
      if (!recording.ok()) {
        REQUIRE(at < 8);
        continue;
      }
      std::size_t bytes = 0;
      for (const ulog::Sample& sample : recording->samples()) {
        REQUIRE(sample.topic < recording->topics().size());
        bytes += sample.fields.size();
      }
      REQUIRE(bytes < size);
    }
  }
}

TEST_CASE("the shipped recording has 55 topics and 14604 samples") {
  const auto recording = Recording::read(FLIGHT_DIRECTORY "/sample_log_small.ulg");
  REQUIRE(recording.ok());
  CHECK_FALSE(recording->damage());
  CHECK(recording->topics().size() == 55);
  CHECK(recording->samples().size() == 14604);
  const auto samples_of = [&](std::string_view name) {
    const auto& topics = recording->topics();
    const auto found =
        std::find_if(topics.begin(), topics.end(), [&](const ulog::Topic& topic) { return topic.name == name; });
    return found == topics.end() ? 0 : found->samples;
  };
  CHECK(samples_of("vehicle_angular_velocity") == 1812);
  CHECK(samples_of("sensor_combined") == 1298);
  CHECK(samples_of("vehicle_angular_acceleration") == 1811);
  CHECK(samples_of("sensor_accel") == 18);  // three instances
  CHECK(samples_of("mission") == 1);
}

TEST_CASE("a path that is no readable file is an error that names it") {
  CHECK_THAT(Recording::read("/nonexistent.ulg").error().to_string(),
             Contains("/nonexistent.ulg") && Contains("No such file"));
  CHECK_THAT(Recording::read("/").error().to_string(), Contains("not a regular file"));
}
