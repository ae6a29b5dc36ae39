// Maps in samples: their bytes, which are those of DDS, as JSON, and which are none.
#include <catch2/catch.hpp>

#include <limits>

#include <fastcdr/Cdr.h>

#include <spindrift/dds/assignable.hpp>
#include <spindrift/dds/portable_sample.hpp>
#include <spindrift/dds/type_idl.hpp>

#include "dynamic_types.hpp"

using Catch::Matchers::Contains;

namespace maps {

enum class Side : std::int16_t { left = -1, right = 300 };
struct Point {
  double x;
  float y;
};
struct Nothing {};
struct Limits {
  std::uint8_t before;
  std::map<std::string, std::int32_t> words;
  std::map<std::int64_t, std::string> numbers;
  std::map<std::uint8_t, double> bytes;
  std::map<bool, std::vector<Point>> sides;
  std::map<Side, std::map<std::string, std::optional<float>>> within;
  std::map<std::uint64_t, Nothing> set;
  std::vector<std::map<std::int8_t, bool>> many;
};
struct Small {
  std::uint8_t before;
  std::map<std::string, std::int32_t> words;
  std::map<std::int32_t, double> numbers;
};
/// The same, where a map is a sequence.
struct Word {
  std::string key;
  std::int32_t value;
};
struct Number {
  std::int32_t key;
  double value;
};
struct SmallAsTold {
  std::uint8_t before;
  std::vector<Word> words;
  std::vector<Number> numbers;
};
struct Made {
  std::vector<std::int32_t> list{1, 2};
  std::map<std::string, std::int32_t> map{{"made", 1}};
  std::optional<std::int32_t> maybe = 3;
};

}  // namespace maps

template <>
struct dds::topic::topic_field_names<maps::Small> {
  static constexpr std::array names{"before", "words", "numbers"};
};

namespace spindrift::topics {
namespace {

maps::Limits limits() {
  return {1,
          {{"b", 2}, {"", -1}, {"a.b", 3}},
          {{std::numeric_limits<std::int64_t>::max(), "most"}, {-7, "less"}, {10, ""}, {9, "nine"}},
          {{200, 0.5}, {7, -1}},
          {{true, {{1, 2}, {3, 4}}}, {false, {}}},
          {{maps::Side::right, {{"x", 1.5F}, {"y", std::nullopt}}}, {maps::Side::left, {}}},
          {{std::numeric_limits<std::uint64_t>::max(), {}}, {0, {}}},
          {{{-128, true}, {127, false}}, {}}};
}
maps::Small small() { return {9, {{"two", 2}, {"one", 1}}, {{5, 0.5}, {-5, -0.5}}}; }

std::string fault_of(const std::string& description, const std::vector<unsigned char>& bytes) {
  const auto sample = DynamicSample::from_bytes(type_of(description), std::as_bytes(std::span(bytes)));
  REQUIRE_FALSE(sample);
  CHECK(sample.error().kind() == ErrorKind::bad_input);
  return sample.error().to_string();
}
std::string json_fault(const std::string& description, const std::string& json) {
  const auto sample = DynamicSample::from_json(type_of(description), SampleJson::parse(json));
  REQUIRE_FALSE(sample);
  CHECK_FALSE(sample.error().fix().empty());
  return sample.error().to_string();
}
std::string type_fault(const std::string& description) {
  const auto type = DynamicType::parse(description);
  REQUIRE_FALSE(type);
  return type.error().to_string();
}

}  // namespace

TEST_CASE("maps are described by their keys and values, and travel as CDR") {
  const TypeSupport& support = type_support<maps::Limits>();
  CHECK(support.description ==
        "maps::Limits{u8,map<string,i32>,map<i64,string>,map<u8,f64>,map<bool,sequence<maps::Point{f64,f32}>>,"
        "map<maps::Side:i16,map<string,optional<f32>>>,map<u64,maps::Nothing{}>,sequence<map<i8,bool>>}");
  CHECK_FALSE(support.in_place);
  CHECK(dynamic_of<maps::Limits>()->description() == support.description);
  CHECK(dynamic_of<maps::Small>()->named() == "maps::Small{before=u8,words=map<string,i32>,numbers=map<i32,f64>}");
}

TEST_CASE("a map goes from its C++ type to JSON and back, key by key, in the order of std::map") {
  const auto bytes = encoded(limits());
  const auto sample = DynamicSample::from_bytes(dynamic_of<maps::Limits>(), bytes);
  if (!sample) FAIL(sample.error().to_string());
  CHECK(sample->json().dump() ==
        R"({"f0":1,"f1":{"":-1,"a.b":3,"b":2},"f2":{"-7":"less","9":"nine","10":"","9223372036854775807":"most"},)"
        R"("f3":{"7":-1.0,"200":0.5},"f4":{"false":[],"true":[{"f0":1.0,"f1":2.0},{"f0":3.0,"f1":4.0}]},)"
        R"("f5":{"-1":{},"300":{"x":1.5,"y":null}},"f6":{"0":{},"18446744073709551615":{}},)"
        R"("f7":[{"-128":true,"127":false},{}]})");
  const auto again = DynamicSample::from_json(sample->type(), sample->json());
  REQUIRE(again);
  CHECK(again->bytes() == bytes);
  // In another order, as somebody writes it.
  SampleJson json = sample->json();
  json["f2"] = SampleJson::parse(R"({"10":"","9223372036854775807":"most","9":"nine","-7":"less"})");
  json["f5"] = SampleJson::parse(R"({"300":{"y":null,"x":1.5},"-1":{}})");
  const auto other = DynamicSample::from_json(sample->type(), json);
  REQUIRE(other);
  CHECK(other->bytes() == bytes);
  const auto decoded = type_support<maps::Limits>().decode(bytes);
  REQUIRE(decoded);
  const auto& back = *static_cast<const maps::Limits*>(decoded->get());
  CHECK((back.words == limits().words && back.numbers == limits().numbers && back.bytes == limits().bytes));
  CHECK((back.sides.at(true).at(1).x == 3 && back.within == limits().within && back.many == limits().many));
  CHECK(encoded(back) == bytes);
}

TEST_CASE("the bytes of a map are those that Fast-CDR writes and reads") {
  using eprosima::fastcdr::Cdr;
  eprosima::fastcdr::FastBuffer buffer;
  Cdr writer(buffer, Cdr::LITTLE_ENDIANNESS, Cdr::DDS_CDR);
  writer.serialize_encapsulation();
  writer << small().before << small().words << small().numbers;
  auto bytes = encoded(small());
  REQUIRE(bytes.size() == writer.getSerializedDataLength());
  const auto told = std::as_bytes(std::span(buffer.getBuffer(), bytes.size()));
  const auto decoded = type_support<maps::Small>().decode(told);
  REQUIRE(decoded);
  CHECK(static_cast<const maps::Small*>(decoded->get())->numbers == small().numbers);
  const auto dynamic = DynamicSample::from_bytes(dynamic_of<maps::Small>(), told);
  REQUIRE(dynamic);
  CHECK(dynamic->json().dump() == R"({"before":9,"words":{"one":1,"two":2},"numbers":{"-5":-0.5,"5":0.5}})");
  eprosima::fastcdr::FastBuffer given(reinterpret_cast<char*>(bytes.data()), bytes.size());
  Cdr reader(given, Cdr::LITTLE_ENDIANNESS, Cdr::DDS_CDR);
  reader.read_encapsulation();
  maps::Small back{};
  reader >> back.before >> back.words >> back.numbers;
  CHECK((back.before == 9 && back.words == small().words && back.numbers == small().numbers));
}

TEST_CASE("a map has the bytes of a sequence of structs, which it is in files, also in the other order") {
  const auto sample = DynamicSample::from_bytes(dynamic_of<maps::Small>(), encoded(small())).value();
  const auto told = encoded(maps::SmallAsTold{9, {{"one", 1}, {"two", 2}}, {{-5, -0.5}, {5, 0.5}}});
  CHECK(portable_bytes(sample) == told);
  CHECK(from_portable_bytes(sample.type(), told).value().bytes() == sample.bytes());
  CHECK(idl_of(*sample.type()).text ==
        "@final struct Entry {\n  string key;\n  int32 value;\n};\n"
        "@final struct Entry_1 {\n  int32 key;\n  double value;\n};\n"
        "module maps {\n@final struct Small {\n  uint8 before;\n  sequence<Entry> words;  // no key twice\n"
        "  sequence<Entry_1> numbers;  // no key twice\n};\n};\n");
  const auto full = DynamicSample::from_bytes(dynamic_of<maps::Limits>(), encoded(limits())).value();
  CHECK(from_portable_bytes(full.type(), portable_bytes(full)).value().bytes() == full.bytes());
  CHECK_THAT(idl_of(*full.type()).text, Contains("  sequence<Wrapped> f7;\n") && Contains("  uint64 key;\n};"));
  const std::vector<unsigned char> big{0, 0, 0, 0, 0, 0, 0, 2, 1, 2, 0, 5, 0, 1, 0, 6};
  const auto swapped = from_portable_bytes(type_of("T{map<u16,u16>}"), std::as_bytes(std::span(big)));
  REQUIRE(swapped);
  CHECK(swapped->json().dump() == R"({"f0":{"258":5,"1":6}})");
  const auto keyed = type_of("T{i32,map<string,i32>} key=0");
  const auto key = DynamicSample::from_json(keyed, SampleJson::parse(R"({"f0":4,"f1":{"a":1}})")).value();
  const auto of_key = from_portable_key(keyed, portable_key(*keyed, portable_bytes(key)).value());
  REQUIRE(of_key);
  CHECK(of_key->json().dump() == R"({"f0":4,"f1":{}})");
  CHECK(of_key->key() == key.key());
}

TEST_CASE("a key that is there twice, a length beyond the bytes, and maps that are cut off are refused") {
  const std::vector<unsigned char> twice{0, 1, 0, 0, 2, 0, 0, 0, 7, 1, 7, 2};
  CHECK_THAT(fault_of("T{map<u8,u8>}", twice), Contains("a key of a map is there twice") && Contains("byte 11 of a sample"));
  const std::vector<unsigned char> long_one{0, 1, 0, 0, 3, 0, 0, 0, 7, 1, 8, 2};
  CHECK_THAT(fault_of("T{map<u8,u8>}", long_one), Contains("a length of 3 is more than the 4 bytes"));
  CHECK_THAT(fault_of("T{map<bool,u8>}", {0, 1, 0, 0, 1, 0, 0, 0, 2, 1}), Contains("of a sample"));
  CHECK_THAT(fault_of("T{map<string,u8>}", {0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 7}), Contains("no closing zero"));
  auto doubled = encoded(maps::SmallAsTold{9, {{"one", 1}, {"one", 2}}, {}});
  const auto refused = type_support<maps::Small>().decode(doubled);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().to_string(), Contains("a key of a map is there twice"));
  CHECK_FALSE(DynamicSample::from_bytes(dynamic_of<maps::Small>(), doubled));
  CHECK_FALSE(from_portable_bytes(dynamic_of<maps::Small>(), doubled));
  CHECK(type_support<maps::Small>().decode(encoded(maps::SmallAsTold{9, {{"two", 1}, {"one", 2}}, {}})));
  const auto whole = encoded(limits());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    REQUIRE_FALSE(DynamicSample::from_bytes(dynamic_of<maps::Limits>(), std::span(whole).first(size)));
    REQUIRE_FALSE(type_support<maps::Limits>().decode(std::span(whole).first(size)));
  }
}

TEST_CASE("JSON whose names are no keys of a map is refused with the path") {
  const std::string type = "T{a=map<i8,string>,b=map<bool,u8>,c=map<string,u8>}";
  CHECK_THAT(json_fault(type, R"({"a":{"128":""},"b":{},"c":{}})"),
             Contains("$.a: \"128\" is no key of this map") && Contains("a whole number, -128 to 127"));
  for (const char* each : {"07", "+7", "", " 7", "7.0", "x", "-0"}) {
    SampleJson json = SampleJson::parse(R"({"a":{},"b":{},"c":{}})");
    json["a"][each] = "";
    CHECK_THAT(json_fault(type, json.dump()), Contains("is no key of this map"));
  }
  CHECK_THAT(json_fault(type, R"({"a":{"7":7},"b":{},"c":{}})"), Contains("$.a[\"7\"]: 7 ") && Contains("a text"));
  CHECK_THAT(json_fault(type, R"({"a":{},"b":{"1":1},"c":{}})"), Contains("$.b: \"1\" ") && Contains("true or false"));
  CHECK_THAT(json_fault(type, R"({"a":{},"b":{"true":-1},"c":{}})"), Contains("$.b[\"true\"]: -1 "));
  CHECK_THAT(json_fault(type, R"({"a":[],"b":{},"c":{}})"), Contains("$.a: an array") && Contains("map<i8,string>"));
  CHECK_THAT(json_fault(type, R"({"a":{},"b":{},"c":{"x\u0000":1}})"), Contains("$.c[\"x\\u0000\"]: the text has a zero"));
  CHECK_THAT(json_fault(type, R"({"a":{},"b":{}})"), Contains("$.c: the field is missing"));
  SampleJson twice = SampleJson::parse(R"({"a":{},"b":{},"c":{"x":1}})");
  twice["c"].get_ref<SampleJson::object_t&>().emplace_back("x", 2);
  const auto refused = DynamicSample::from_json(type_of(type), twice);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().to_string(), Contains("$.c[\"x\"]: a key of a map is there twice"));
}

TEST_CASE("descriptions of maps with other keys, as keys, or of too many levels are refused") {
  CHECK_THAT(type_fault("T{map<f64,i8>}"), Contains("the keys of a map are integers, bools, enums or strings"));
  CHECK_THAT(type_fault("T{map<char,i8>}"), Contains("the keys of a map are"));
  CHECK_THAT(type_fault("T{map<E:char,i8>}"), Contains("the keys of a map are"));
  CHECK_THAT(type_fault("T{map<P{i8},i8>}"), Contains("the keys of a map are"));
  CHECK_THAT(type_fault("T{map<string[2],i8>}"), Contains("the keys of a map are"));
  CHECK_THAT(type_fault("T{map<i8>}"), Contains("a , is expected"));
  CHECK_THAT(type_fault("T{map<i8,i8,3>}"), Contains("a > is expected"));
  CHECK_THAT(type_fault("T{map<i8,i8>} key=0"), Contains("a key holds a sequence, a map"));
  CHECK_THAT(type_fault("T{map<i8,i8>} in place, 8 bytes"), Contains("does not lie in place"));
  std::string deep = "i8";
  for (int each = 0; each < 64; ++each) deep = "map<i8," + deep + ">";
  CHECK_THAT(type_fault("T{" + deep + "}"), Contains("more than 64 levels"));
}

TEST_CASE("types are assignable where their maps are the same") {
  CHECK(assignable("N{map<string,i32>}", "N{map<string,i32>,map<u8,u8>}"));
  CHECK_FALSE(assignable("N{map<string,i32>,i8}", "N{map<string,i64>,i8,i8}"));
  CHECK_FALSE(assignable("N{map<string,P{i8}>}", "N{map<string,P{i8,i8}>}"));
}

TEST_CASE("what a type makes its lists, maps and optionals with is gone when a sample is read into them") {
  const auto decoded = type_support<maps::Made>().decode(encoded(maps::Made{{7}, {{"read", 2}}, std::nullopt}));
  REQUIRE(decoded);
  const auto& back = *static_cast<const maps::Made*>(decoded->get());
  CHECK(back.list == std::vector<std::int32_t>{7});
  CHECK(back.map == std::map<std::string, std::int32_t>{{"read", 2}});
  CHECK_FALSE(back.maybe);
}

}  // namespace spindrift::topics
