// Types and samples that no C++ type describes, held against the C++ types that do.
#include <catch2/catch.hpp>

#include <limits>

#include <spindrift/dds/dynamic_sample.hpp>

#include "dynamic_types.hpp"

using Catch::Matchers::Contains;

namespace dynamic {

enum class Level : std::int16_t { low = -1, high = 300 };
struct Point {
  double x;
  float y;
};
/// Every kind that lies in place, with gaps between them.
struct Placed {
  bool yes;
  char sign;
  std::int8_t i8;
  std::int16_t i16;
  std::int32_t i32;
  std::int64_t i64;
  std::uint8_t u8;
  std::uint16_t u16;
  std::uint32_t u32;
  std::uint64_t u64;
  float f32;
  double f64;
  Level level;
  std::array<std::array<std::uint16_t, 3>, 2> table;
  std::array<Point, 2> points;
  bool last;
};
/// The same, and what has no fixed size.
struct Sent {
  Placed placed;
  std::string text;
  std::vector<std::string> words;
  std::optional<Point> maybe;
  std::optional<std::int32_t> number;
  std::vector<std::vector<Point>> tracks;
  std::array<std::string, 2> pair;
};
struct Plain {
  std::int32_t number;
  Point where;
};

}  // namespace dynamic

template <>
struct dds::topic::topic_field_names<dynamic::Point> {
  static constexpr std::array names{"x", "y"};
};
template <>
struct dds::topic::topic_field_names<dynamic::Placed> {
  static constexpr std::array names{"yes", "sign", "i8",  "i16", "i32",   "i64",   "u8",     "u16",
                                    "u32", "u64",  "f32", "f64", "level", "table", "points", "last"};
};
template <>
struct dds::topic::topic_field_names<dynamic::Sent> {
  static constexpr std::array names{"placed", "text", "words", "maybe", "number", "tracks", "pair"};
};
template <>
struct dds::topic::topic_key<dynamic::Sent> {
  using type = key_fields<&dynamic::Sent::text, &dynamic::Sent::placed>;
};
template <>
struct dds::topic::topic_key<dynamic::Placed> {
  using type = key_fields<&dynamic::Placed::table, &dynamic::Placed::sign>;
};

namespace spindrift::topics {
namespace {

/// The gaps between its fields are zero, as they are where JSON is read.
dynamic::Placed placed() {
  dynamic::Placed made;
  std::memset(static_cast<void*>(&made), 0, sizeof made);
  made.yes = true;
  made.sign = 'a';
  made.i8 = -128;
  made.i16 = std::numeric_limits<std::int16_t>::min();
  made.i32 = std::numeric_limits<std::int32_t>::min();
  made.i64 = std::numeric_limits<std::int64_t>::min();
  made.u8 = 255;
  made.u16 = 65535;
  made.u32 = 4294967295;
  made.u64 = std::numeric_limits<std::uint64_t>::max();
  made.f32 = 0.1F;
  made.f64 = 1e300;
  made.level = dynamic::Level::high;
  made.table = {{{1, 2, 3}, {4, 5, 6}}};
  made.points[1].x = -2.5;
  made.points[1].y = 1e-30F;
  made.last = true;
  return made;
}
dynamic::Sent sent() {
  return {placed(), "text \xC3\xBC", {"", "b"}, dynamic::Point{1, 2}, std::nullopt, {{{1, 2}, {3, 4}}, {}}, {"c", ""}};
}

/// The bytes of the C++ type as JSON, and that as bytes again, which are the same.
template <class T>
SampleJson there_and_back(const T& value) {
  const auto bytes = encoded(value);
  const auto sample = DynamicSample::from_bytes(dynamic_of<T>(), bytes);
  if (!sample) FAIL(sample.error().to_string());
  CHECK(sample->key() == type_support<T>().key(&value));
  const auto again = DynamicSample::from_json(sample->type(), SampleJson::parse(sample->json().dump()));
  if (!again) FAIL(again.error().to_string());
  CHECK(again->bytes() == bytes);
  CHECK(type_support<T>().decode(again->bytes()).ok());
  return sample->json();
}

std::string fault(const std::string& description) {
  const auto type = DynamicType::parse(description);
  REQUIRE_FALSE(type);
  CHECK(type.error().kind() == ErrorKind::bad_input);
  CHECK_THAT(type.error().place(), Contains("of the description of a type"));
  CHECK_FALSE(type.error().fix().empty());
  return type.error().to_string();
}
std::string nested(std::size_t levels, const std::string& open, const std::string& close) {
  std::string text = "T{";
  for (std::size_t each = 0; each < levels; ++each) text += open;
  text += "i8";
  for (std::size_t each = 0; each < levels; ++each) text += close;
  return text + "}";
}

/// The error of the JSON of a Sent whose value at `pointer` is replaced by the text.
std::string json_fault(const std::string& pointer, const std::string& value) {
  SampleJson json = there_and_back(sent());
  json[SampleJson::json_pointer(pointer)] = SampleJson::parse(value);
  const auto made = DynamicSample::from_json(dynamic_of<dynamic::Sent>(), json);
  REQUIRE_FALSE(made);
  CHECK(made.error().kind() == ErrorKind::bad_input);
  CHECK_FALSE(made.error().fix().empty());
  return made.error().to_string();
}

}  // namespace

TEST_CASE("names of fields are announced beside the type, and no part of its identity") {
  const TypeSupport& plain = type_support<dynamic::Plain>();
  CHECK(plain.description == "dynamic::Plain{i32,dynamic::Point{f64,f32}} in place, 24 bytes");
  CHECK(plain.named == "dynamic::Plain{i32,dynamic::Point{x=f64,y=f32}} in place, 24 bytes");
  CHECK(plain.identity == digest_of(plain.description).words[0]);
  const auto type = dynamic_of<dynamic::Plain>();
  CHECK(type->description() == plain.description);
  CHECK(type->named() == plain.named);
  CHECK(dynamic_of<dynamic::Sent>()->description() == type_support<dynamic::Sent>().description);
  static dynamic::Plain value;  // zero between its fields, too
  value.number = 1;
  value.where.y = 3;
  CHECK(there_and_back(value).dump() == R"({"f0":1,"f1":{"x":0.0,"y":3.0}})");
}

TEST_CASE("all kinds of fields go through JSON and back, in place and as CDR, and are what C++ types write") {
  const SampleJson json = there_and_back(placed());
  CHECK(
      json.dump() ==
      R"({"yes":true,"sign":"a","i8":-128,"i16":-32768,"i32":-2147483648,"i64":-9223372036854775808,)"
      R"("u8":255,"u16":65535,"u32":4294967295,"u64":18446744073709551615,"f32":0.1,"f64":1e+300,"level":300,)"
      R"("table":[[1,2,3],[4,5,6]],)"
      R"("points":[{"x":0.0,"y":0.0},{"x":-2.5,"y":1e-30}],"last":true})");
  const SampleJson all = there_and_back(sent());
  CHECK(all["placed"] == json);
  CHECK(all["text"] == "text \xC3\xBC");
  CHECK(all["maybe"]["y"] == 2.0);
  CHECK(all["number"].is_null());
  CHECK(all["tracks"].dump() == R"([[{"x":1.0,"y":2.0},{"x":3.0,"y":4.0}],[]])");
  CHECK(all["pair"].dump() == R"(["c",""])");
}

TEST_CASE("numbers without an end, and chars that are no text, come back") {
  dynamic::Placed value = placed();
  value.f32 = -std::numeric_limits<float>::infinity();
  value.f64 = std::numeric_limits<double>::quiet_NaN();
  value.points[0].x = std::numeric_limits<double>::infinity();
  value.sign = static_cast<char>(0xFE);
  const SampleJson json = there_and_back(value);
  CHECK(json["f32"] == "-Infinity");
  CHECK(json["f64"] == "NaN");
  CHECK(json["points"][0]["x"] == "Infinity");
  CHECK(json["sign"] == 0xFE);
}

TEST_CASE("an optional may be missing in JSON, any other field not") {
  SampleJson json = there_and_back(sent());
  json.erase("number");
  CHECK(DynamicSample::from_json(dynamic_of<dynamic::Sent>(), json).ok());
  json.erase("text");
  const auto made = DynamicSample::from_json(dynamic_of<dynamic::Sent>(), json);
  REQUIRE_FALSE(made);
  CHECK_THAT(made.error().to_string(), Contains("$.text: the field is missing"));
}

TEST_CASE("JSON that does not fit is refused with its path") {
  CHECK_THAT(json_fault("/placed/u8", "256"), Contains("$.placed.u8: 256 is no value") && Contains("0 to 255"));
  CHECK_THAT(json_fault("/placed/u8", "-1"), Contains("$.placed.u8: -1 "));
  CHECK_THAT(json_fault("/placed/i8", "-129"), Contains("$.placed.i8: -129 ") && Contains("-128 to 127"));
  CHECK_THAT(json_fault("/placed/i64", "9223372036854775808"), Contains("$.placed.i64: "));
  CHECK_THAT(json_fault("/placed/i32", "1.5"), Contains("$.placed.i32: 1.5 ") && Contains("a whole number"));
  CHECK_THAT(json_fault("/placed/f32", "1e39"), Contains("$.placed.f32: 1e+39 "));
  CHECK_THAT(json_fault("/placed/yes", "1"), Contains("$.placed.yes: 1 ") && Contains("true or false"));
  CHECK_THAT(json_fault("/placed/sign", R"("ab")"), Contains("$.placed.sign: \"ab\""));
  CHECK_THAT(json_fault("/placed/level", "40000"), Contains("$.placed.level: 40000"));
  CHECK_THAT(json_fault("/placed/table/1", "[1,2]"), Contains("$.placed.table[1]: ") && Contains("an array of 3 values"));
  CHECK_THAT(json_fault("/tracks/0/1/x", "null"), Contains("$.tracks[0][1].x: null "));
  CHECK_THAT(json_fault("/tracks", "{}"), Contains("$.tracks: {} ") && Contains("an array"));
  CHECK_THAT(json_fault("/maybe", "7"), Contains("$.maybe: 7 ") && Contains("an object: dynamic::Point{x=f64,y=f32}"));
  CHECK_THAT(json_fault("/text", "7"), Contains("$.text: 7 ") && Contains("a text"));
  CHECK_THAT(json_fault("/pair/1", R"("a\u0000b")"), Contains("$.pair[1]: the text has a zero within it"));
  CHECK_THAT(json_fault("/maybe/z", "1"), Contains("$.maybe.z: there is no such field"));
  CHECK_THAT(json_fault("", "[]"), Contains("$: an array of 0 values"));
}

TEST_CASE("bytes that are no sample of a dynamic type are refused as those of a C++ type") {
  const auto type = dynamic_of<dynamic::Placed>();
  auto bytes = encoded(placed());
  bytes[0] = std::byte{2};
  const auto of_bool = DynamicSample::from_bytes(type, bytes);
  REQUIRE_FALSE(of_bool);
  CHECK_THAT(of_bool.error().to_string(), Contains("neither false nor true"));
  bytes.pop_back();
  REQUIRE_FALSE(DynamicSample::from_bytes(type, bytes));
  const auto whole = encoded(sent());
  for (std::size_t size = 0; size < whole.size(); ++size)
    REQUIRE_FALSE(DynamicSample::from_bytes(dynamic_of<dynamic::Sent>(), std::span(whole).first(size)));
}

TEST_CASE("names that compilers give to types are read") {
  CHECK(DynamicType::parse("a::{anonymous}::T{a::(anonymous namespace)::U<int, 3>{b::E:u8,char},i8}").ok());
  const auto like_kinds = DynamicType::parse("T{f32{i8},string:i8,i8}");
  REQUIRE(like_kinds);
  CHECK(like_kinds->kinds()[like_kinds->root().fields[0].kind].name == "f32");
}

TEST_CASE("a text that is no description is refused with the place and the cause") {
  CHECK_THAT(fault(""), Contains("character 1 ") && Contains("the name of a type is expected"));
  CHECK_THAT(fault("T"), Contains("character 2 ") && Contains("in braces"));
  CHECK_THAT(fault("T{i32"), Contains("a , is expected"));
  CHECK_THAT(fault("T{i33}"), Contains("character 6 ") && Contains("the kind of a field is expected"));
  CHECK_THAT(fault("T{i32}x"), Contains("character 7 ") && Contains("behind the end"));
  CHECK_THAT(fault("T{i32[}"), Contains("a number"));
  CHECK_THAT(fault("T{i32[03]}"), Contains("a number"));
  CHECK_THAT(fault("T{sequence<i32}"), Contains("a > is expected"));
  CHECK_THAT(fault("T{E:f32}"), Contains("the integer of an enum"));
  CHECK_THAT(fault("T{a=i8,a=i8}"), Contains("two fields are called a"));
  CHECK_THAT(fault("T{f1=i8,i8}"), Contains("two fields are called f1"));
  CHECK_THAT(fault("T{i8} key=1"), Contains("a key is none of the fields"));
  CHECK_THAT(fault("T{sequence<i8>} key=0"), Contains("a key holds a sequence"));
  CHECK_THAT(fault("T{string} in place, 8 bytes"), Contains("does not lie in place"));
  CHECK_THAT(fault("T{i8,i32} in place, 5 bytes"), Contains("take 8 bytes where the sample has 5"));
  CHECK_THAT(fault("T{optional<optional<i8>>}"), Contains("directly within another"));
}

TEST_CASE("a description is bounded in depth, in size and in what its arrays hold") {
  CHECK(DynamicType::parse(nested(60, "sequence<", ">")).ok());
  CHECK_THAT(fault(nested(64, "sequence<", ">")), Contains("more than 64 levels"));
  CHECK_THAT(fault(nested(64, "T{", "}")), Contains("more than 64 levels"));
  CHECK_THAT(fault(nested(64, "", "[1]")), Contains("more than 64 levels"));
  CHECK_THAT(fault("T{i8[1073741824],i8}"), Contains("more than 2^30 bytes"));
  CHECK_THAT(fault("T{i64[134217728][2]}"), Contains("more than 2^30 bytes"));
  CHECK_THAT(fault("T{string[1073741824]}"), Contains("more than 2^30 bytes"));
  CHECK_THAT(fault("T{E{}[1073741824]}"), Contains("hold nothing"));
  CHECK_THAT(fault("T{sequence<E{}>}"), Contains("hold nothing"));
  CHECK_THAT(fault("T{" + std::string(description_bytes_max, 'x')), Contains("more than 16384 bytes"));
}

TEST_CASE("a topic whose names are of another type is refused with both") {
  EndpointFacts topic{.topic = "readings", .type = "T{i32}", .named = "T{a=i64}"};
  const auto other = DynamicType::of(topic);
  REQUIRE_FALSE(other);
  CHECK_THAT(other.error().to_string(), Contains("topic readings") && Contains("\"T{i64}\"") && Contains("\"T{i32}\""));
  topic.named = "T{a=i32}";
  topic.id = {1, 2, 3};
  ByteWriter writer;
  put(writer, topic);
  const auto bytes = writer.take();
  ByteReader reader(bytes);
  CHECK(get_endpoint(reader) == topic);
  REQUIRE(DynamicType::of(topic));
  CHECK(DynamicType::of(topic)->root().fields[0].name == "a");
}

}  // namespace spindrift::topics
