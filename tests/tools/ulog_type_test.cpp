// Formats of ULog as types of topics, and recorded bytes as samples of those.
#include <algorithm>
#include <string>

#include <catch2/catch.hpp>

#include <spindrift/dds/dynamic_sample.hpp>

#include "ulog_builder.hpp"
#include "ulog_type.hpp"

using namespace spindrift;
using Catch::Matchers::Contains;
using test::UlogBuilder;

namespace {

/// The type of topic t, whose format is `definition`; other definitions come before.
Result<ulog::SampleType> type_of(std::vector<std::string> definitions) {
  ulog::FormatTable formats;
  for (const std::string& each : definitions) REQUIRE(formats.define(each).ok());
  const auto size = formats.sample_size("t");
  INFO((size.ok() ? std::string() : size.error().to_string()));
  REQUIRE(size.ok());
  return ulog::SampleType::of(formats, "t");
}

std::string text_of(std::vector<std::string> definitions) {
  const auto made = type_of(std::move(definitions));
  if (!made) return made.error().to_string();
  return made->type()->named();
}

/// The first sample of a recording as JSON, by its type; checked as a reader checks it.
std::string json_of(UlogBuilder& file) {
  const auto recording = ulog::Recording::parse(std::move(file.bytes()), "t.ulg");
  REQUIRE(recording.ok());
  REQUIRE_FALSE(recording->damage());
  const ulog::Topic& topic = recording->topics().at(recording->samples().at(0).topic);
  const auto made = ulog::SampleType::of(recording->formats(), topic.name);
  INFO((made.ok() ? std::string() : made.error().to_string()));
  REQUIRE(made.ok());
  std::vector<std::byte> bytes;
  made->write(recording->samples()[0], bytes);
  CHECK(bytes.size() <= made->bytes_max());
  const auto sample = topics::DynamicSample::from_bytes(made->type(), bytes);
  INFO((sample.ok() ? std::string() : sample.error().to_string()));
  REQUIRE(sample.ok());
  return sample->json().dump();
}

}  // namespace

TEST_CASE("a format's fields are those of the type, behind which is the key, and padding is none of them") {
  CHECK(text_of({"t:uint64_t timestamp;float[4] q;int16_t a;bool b;char c;uint8_t[3] _padding0;"}) ==
        "t{timestamp=u64,q=f32[4],a=i16,b=bool,c=char,multi_id=u8} key=5");
  CHECK(text_of({"t:uint64_t timestamp;int8_t a;uint8_t b;uint16_t c;int32_t d;uint32_t e;int64_t f;double g;"}) ==
        "t{timestamp=u64,a=i8,b=u8,c=u16,d=i32,e=u32,f=i64,g=f64,multi_id=u8} key=8");
}

TEST_CASE("formats within a format are structs, and arrays of them arrays") {
  CHECK(text_of({"point:float x;float y;uint8_t[4] _padding0;", "line:point[2] ends;", "t:uint64_t timestamp;line l;"}) ==
        "t{timestamp=u64,l=line{ends=point{x=f32,y=f32}[2]},multi_id=u8} key=2");
}

TEST_CASE("an array of char is a string, and one of a single number still an array") {
  CHECK(text_of({"t:uint64_t timestamp;char[16] text;float[1] one;"}) ==
        "t{timestamp=u64,text=string,one=f32[1],multi_id=u8} key=3");
}

TEST_CASE("names that no language has are changed, and a key's that is taken") {
  CHECK(text_of({"a/b-c:float x;", "t:uint64_t timestamp;a/b-c x-y;uint8_t multi_id;"}) ==
        "t{timestamp=u64,x_y=a_b_c{x=f32},multi_id=u8,multi_id_=u8} key=3");
}

TEST_CASE("samples have the values that were recorded, whatever lies between them") {
  UlogBuilder file;
  file.format("point:float x;bool known;uint8_t[3] _padding0;")
      .format("t:uint64_t timestamp;double d;uint8_t a;point[2] points;char[4] text;int16_t last;uint8_t[5] _padding0;")
      .subscribe(3, "t", 2)
      .sample(3, 77, UlogBuilder::bytes_of(0.5) + "\x07" + UlogBuilder::bytes_of(1.5F) + std::string("\x01zzz", 4) +
                         UlogBuilder::bytes_of(2.5F) + std::string("\0zzz", 4) + std::string("ab\0?", 4) +
                         UlogBuilder::bytes_of<std::int16_t>(-2));
  CHECK(json_of(file) == R"({"timestamp":77,"d":0.5,"a":7,"points":[{"x":1.5,"known":true},{"x":2.5,"known":false}],)"
                         R"("text":"ab","last":-2,"multi_id":2})");
}

TEST_CASE("a text without a zero is all of it, and a bool of any bit is true") {
  UlogBuilder file;
  file.format("t:uint64_t timestamp;char[3] text;bool b;").subscribe(0, "t").sample(0, 1, "abc\x80");
  CHECK(json_of(file) == R"({"timestamp":1,"text":"abc","b":true,"multi_id":0})");
}

TEST_CASE("formats that are no types are refused with place, cause and fix") {
  CHECK(text_of({"t:uint64_t timestamp;float x;int8_t x;"}) ==
        "format of t: two fields are called x; fix: record them with names of their own");
  CHECK_THAT(text_of({"t:uint64_t timestamp;float x-y;int8_t x/y;"}), Contains("two fields are called x_y"));
  CHECK_THAT(text_of({"t:uint64_t timestamp;float 1st;"}),
             Contains("format of t: field 1st has a name that begins with a digit") && Contains("fix:"));
  CHECK_THAT(text_of({"p:uint8_t[4] _padding0;", "t:uint64_t timestamp;p p;"}),
             Contains("format of p: it has nothing but padding") && Contains("fix:"));
  CHECK_THAT(text_of({"t:uint64_t timestamp;float[0] none;"}), Contains("field none is an array without elements"));
  CHECK_THAT(text_of({"p:int8_t[0] none;float x;", "t:uint64_t timestamp;p[2] p;"}),
             Contains("format of p: field none is an array without elements"));
}

TEST_CASE("a description that grows without end is refused before it is made") {
  std::vector<std::string> formats{"p0:float " + std::string(1000, 'x') + ";"};
  for (int level = 1; level < 12; ++level) {
    const std::string before = "p" + std::to_string(level - 1);
    formats.push_back("p" + std::to_string(level) + ":" + before + " a;" + before + " b;");
  }
  formats.emplace_back("t:uint64_t timestamp;p11 p;");
  CHECK_THAT(text_of(formats), Contains("its description as a type has more than 16384 bytes") && Contains("fix:"));
}

TEST_CASE("every topic of the shipped recording is a type, and every sample one of it") {
  const auto recording = ulog::Recording::read(FLIGHT_DIRECTORY "/sample_log_small.ulg");
  REQUIRE(recording.ok());
  std::vector<ulog::SampleType> types;
  for (const ulog::Topic& topic : recording->topics()) {
    auto type = ulog::SampleType::of(recording->formats(), topic.name);
    INFO((type.ok() ? std::string() : type.error().to_string()));
    REQUIRE(type.ok());
    types.push_back(std::move(type).value());
  }
  std::vector<std::byte> bytes;
  std::size_t good = 0;
  for (const ulog::Sample& sample : recording->samples()) {
    types[sample.topic].write(sample, bytes);
    const auto made = topics::DynamicSample::from_bytes(types[sample.topic].type(), bytes);
    good += made.ok() && bytes.size() <= types[sample.topic].bytes_max() ? 1 : 0;
  }
  CHECK(good == recording->samples().size());
}
