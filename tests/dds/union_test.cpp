// Unions in samples: std::variant, and classes as `spindrift idl` makes them; their bytes, as JSON, and which are none.
#include <catch2/catch.hpp>

#include <algorithm>

#include <fastcdr/Cdr.h>

#include <spindrift/dds/assignable.hpp>
#include <spindrift/dds/core.hpp>
#include <spindrift/dds/portable_sample.hpp>
#include <spindrift/dds/type_idl.hpp>

#include "dds_fixture.hpp"
#include "dynamic_types.hpp"

using Catch::Matchers::Contains;

namespace unions {

enum class Mode : std::int32_t { off = -1, on = 7, other = 9 };
struct Point {
  double x;
  float y;
};
struct Nothing {};
class Value : public dds::topic::union_value<std::uint8_t, dds::topic::union_case<double, 1, 2>,
                                             dds::topic::union_case<std::vector<Point>, 5>,
                                             dds::topic::union_default<std::string, 0>> {
 public:
  Value() = default;
};
class Maybe : public dds::topic::union_value<Mode, dds::topic::union_case<std::int16_t, Mode::on>> {
 public:
  Maybe() = default;
};
struct Sent {
  std::uint8_t before;
  Value value;
  std::variant<std::int32_t, std::string, Nothing> either;
  std::vector<Maybe> all;
  std::map<std::string, Value> named;
  std::optional<std::variant<Point>> point;
};
class Level : public dds::topic::union_value<std::int32_t, dds::topic::union_case<std::int16_t, 1>> {
 public:
  Level() = default;
};
struct FromElsewhere {
  std::uint8_t before;
  Value a, b, c;
  std::vector<Level> levels;
  char last;
};
struct Tree;
struct Branch {
  std::variant<std::int32_t, std::vector<Tree>> trees;
};
struct Tree {
  std::vector<Branch> branches;
};
struct Small {
  std::uint8_t before;
  std::variant<std::uint8_t, double, std::string> value;
};

}  // namespace unions

template <>
struct dds::topic::topic_field_names<unions::Value> {
  static constexpr std::array names{"number", "track", "text"};
};
template <>
struct dds::topic::topic_field_names<unions::Sent> {
  static constexpr std::array names{"before", "value", "either", "all", "named", "point"};
};

namespace spindrift::topics {
namespace {

unions::Value text(const std::string& words, std::uint8_t d) {
  unions::Value made;
  made._set<2>(words, d);
  return made;
}
unions::Value track() {
  unions::Value made;
  made._make<1>(5) = {{1, 2}, {3, 4}};
  return made;
}
unions::Sent sent() {
  unions::Sent made{1, track(), "either", {}, {{"a", text("", 0)}, {"b", text("b", 200)}, {"c", {}}}, unions::Point{5, 6}};
  made.all.resize(2);
  made.all[0]._set<0>(-3, unions::Mode::on);
  made.all[1]._none(unions::Mode::off);
  return made;
}

std::string fault_of(const std::string& description, const std::vector<unsigned char>& bytes) {
  const auto sample = DynamicSample::from_bytes(type_of(description), std::as_bytes(std::span(bytes)));
  REQUIRE_FALSE(sample);
  return sample.error().to_string();
}
std::string json_fault(const std::string& description, const std::string& json) {
  const auto sample = DynamicSample::from_json(type_of(description), SampleJson::parse(json));
  REQUIRE_FALSE(sample);
  CHECK_FALSE(sample.error().fix().empty());
  return sample.error().to_string();
}
/// The JSON of a sample that was read from such JSON.
std::string taken(const std::string& description, const std::string& json) {
  const auto sample = DynamicSample::from_json(type_of(description), SampleJson::parse(json));
  if (!sample) FAIL(sample.error().to_string());
  return sample->json().dump();
}
std::string type_fault(const std::string& description) {
  const auto type = DynamicType::parse(description);
  REQUIRE_FALSE(type);
  return type.error().to_string();
}

}  // namespace

TEST_CASE("unions are described by what tells their members apart, the labels and the members") {
  const TypeSupport& support = type_support<unions::Sent>();
  CHECK(support.description ==
        "unions::Sent{u8,union unions::Value:u8 {1|2:f64,5:sequence<unions::Point{f64,f32}>,*0:string},"
        "variant<i32,string,unions::Nothing{}>,sequence<union unions::Maybe:unions::Mode:i32 {7:i16}>,"
        "map<string,union unions::Value:u8 {1|2:f64,5:sequence<unions::Point{f64,f32}>,*0:string}>,"
        "optional<variant<unions::Point{f64,f32}>>}");
  CHECK_THAT(support.named, Contains("value=union unions::Value:u8 {1|2:number=f64,5:track=sequence<"));
  CHECK_FALSE(support.in_place);
  CHECK(dynamic_of<unions::Sent>()->description() == support.description);
  CHECK(dynamic_of<unions::Sent>()->named() == support.named);
  STATIC_REQUIRE(holds_itself<unions::Tree>());
  STATIC_REQUIRE_FALSE(holds_itself<unions::Sent>());
}

TEST_CASE("a union has one member, which its discriminator tells") {
  unions::Value value;
  CHECK((value._d() == 1 && value._of<0>() == 0));
  value._d(2);
  CHECK(value._d() == 2);
  value._of<0>() = 2.5;
  CHECK_THROWS_AS(value._d(5), dds::core::PreconditionNotMetError);
  CHECK_THROWS_AS(value._of<1>(), dds::core::PreconditionNotMetError);
  CHECK_THROWS_AS(std::as_const(value)._of<2>(), dds::core::PreconditionNotMetError);
  CHECK_THROWS_AS(value._set<0>(1.5, 5), dds::core::InvalidArgumentError);
  CHECK_THROWS_AS(value._make<1>(77), dds::core::InvalidArgumentError);
  CHECK_THROWS_AS(value._none(77), dds::core::InvalidArgumentError);
  CHECK((value._d() == 2 && value._of<0>() == 2.5));
  value._set<2>("text", 77);
  CHECK((value._d() == 77 && value._of<2>() == "text"));
  value._d(99);
  unions::Maybe maybe;
  maybe._none(unions::Mode::other);
  CHECK(maybe._d() == unions::Mode::other);
  CHECK_THROWS_AS(maybe._of<0>(), dds::core::PreconditionNotMetError);
}

TEST_CASE("a union goes from its C++ type to JSON and back, with and without a member") {
  const auto bytes = encoded(sent());
  const auto sample = DynamicSample::from_bytes(dynamic_of<unions::Sent>(), bytes);
  if (!sample) FAIL(sample.error().to_string());
  CHECK(sample->json().dump() == R"({"before":1,"value":{"_d":5,"track":[{"f0":1.0,"f1":2.0},{"f0":3.0,"f1":4.0}]},)"
                                 R"("either":{"_d":1,"f1":"either"},"all":[{"_d":7,"f0":-3},{"_d":-1}],)"
                                 R"("named":{"a":{"_d":0,"text":""},"b":{"_d":200,"text":"b"},"c":{"_d":1,"number":0.0}},)"
                                 R"("point":{"_d":0,"f0":{"f0":5.0,"f1":6.0}}})");
  const auto again = DynamicSample::from_json(sample->type(), sample->json());
  REQUIRE(again);
  CHECK(again->bytes() == bytes);
  const auto decoded = type_support<unions::Sent>().decode(bytes);
  REQUIRE(decoded);
  const auto& back = *static_cast<const unions::Sent*>(decoded->get());
  CHECK((back.value._d() == 5 && back.value._of<1>().at(1).y == 4 && std::get<1>(back.either) == "either"));
  CHECK((back.all.at(0)._of<0>() == -3 && back.all.at(1)._d() == unions::Mode::off));
  CHECK((back.named.at("b")._d() == 200 && std::get<0>(*back.point).x == 5));
  CHECK(encoded(back) == bytes);
  const auto recorded = from_portable_bytes(sample->type(), portable_bytes(*sample));
  REQUIRE(recorded);
  CHECK(recorded->bytes() == bytes);
}

TEST_CASE("the bytes of a union are those that DDS has: the discriminator, and behind it the member") {
  using eprosima::fastcdr::Cdr;
  eprosima::fastcdr::FastBuffer buffer;
  Cdr writer(buffer, Cdr::LITTLE_ENDIANNESS, Cdr::DDS_CDR);
  writer.serialize_encapsulation();
  writer << std::uint8_t{9} << std::int32_t{1} << 2.5;
  const auto bytes = encoded(unions::Small{9, 2.5});
  REQUIRE(bytes.size() == writer.getSerializedDataLength());
  const auto told = std::as_bytes(std::span(buffer.getBuffer(), bytes.size()));
  CHECK(std::get<1>(static_cast<const unions::Small*>(type_support<unions::Small>().decode(told)->get())->value) == 2.5);
  CHECK(DynamicSample::from_bytes(dynamic_of<unions::Small>(), told)->json().dump() == R"({"f0":9,"f1":{"_d":1,"f1":2.5}})");
  const std::vector<unsigned char> big{0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 1, 2};
  const auto type = type_of("T{union U:E:i16 {7:u32,-1:u8}}");
  const auto swapped = from_portable_bytes(type, std::as_bytes(std::span(big)));
  REQUIRE(swapped);
  CHECK(swapped->json().dump() == R"({"f0":{"_d":7,"f0":258}})");
}

TEST_CASE("the bytes that Cyclone DDS writes of unions are a sample, and come out as they went in") {
  // module m { enum Mode { off, on, other }; @final struct Point { double x; float y; };
  //   @final union Value switch (octet) { case 1: case 2: double number; case 5: sequence<Point> track;
  //     default: string text; };
  //   @final union Level switch (Mode) { case on: short level; };
  //   @final struct FromElsewhere { octet before; Value a; Value b; Value c; sequence<Level> levels; char last; }; };
  const std::vector<unsigned char> written{0,  1, 0, 0, 9, 2, 0, 0,  0, 0, 0,   0,   0,   0,  0, 0, 0, 0,  4,  64, 5,  0,
                                           0,  0, 2, 0, 0, 0, 0, 0,  0, 0, 0,   0,   240, 63, 0, 0, 0, 64, 0,  0,  0,  0,
                                           0,  0, 0, 0, 0, 0, 8, 64, 0, 0, 128, 64,  200, 0,  0, 0, 4, 0,  0,  0,  97, 98,
                                           99, 0, 2, 0, 0, 0, 1, 0,  0, 0, 253, 255, 0,   0,  2, 0, 0, 0,  122};
  const auto bytes = std::as_bytes(std::span(written));
  const auto decoded = type_support<unions::FromElsewhere>().decode(bytes);
  if (!decoded) FAIL(decoded.error().to_string());
  const auto& back = *static_cast<const unions::FromElsewhere*>(decoded->get());
  CHECK((back.a._d() == 2 && back.a._of<0>() == 2.5 && back.b._of<1>().at(1).y == 4 && back.c._of<2>() == "abc"));
  CHECK((back.levels.at(0)._of<0>() == -3 && back.levels.at(1)._d() == 2 && back.last == 'z'));
  CHECK(std::ranges::equal(encoded(back), bytes));
  const auto sample = DynamicSample::from_bytes(dynamic_of<unions::FromElsewhere>(), bytes);
  REQUIRE(sample);
  CHECK(std::ranges::equal(portable_bytes(*sample), bytes));
  CHECK(DynamicSample::from_json(sample->type(), sample->json())->bytes() == sample->bytes());
}

TEST_CASE("discriminators of all kinds are taken, and a union as IDL has it is one with the same bytes") {
  CHECK(taken("T{union U:bool {1:i8,0:u16}}", R"({"f0":{"_d":false,"f1":7}})") == R"({"f0":{"_d":false,"f1":7}})");
  CHECK(taken("T{union U:char {65:i8,200:u16}}", R"({"f0":{"f1":7}})") == R"({"f0":{"_d":200,"f1":7}})");
  CHECK(taken("T{union U:char {65:i8}}", R"({"f0":{"_d":"A","f0":7}})") == R"({"f0":{"_d":"A","f0":7}})");
  CHECK(taken("T{union U:u64 {9223372036854775807:i8,*0:u8}}", R"({"f0":{"_d":18446744073709551615,"f1":7}})") ==
        R"({"f0":{"_d":18446744073709551615,"f1":7}})");
  CHECK(taken("T{union U:i8 {-128|3:i8,*4:u8}}", R"({"f0":{"f0":7}})") == R"({"f0":{"_d":-128,"f0":7}})");
  CHECK(taken("T{union U:i8 {-128|3:i8,*4:u8}}", R"({"f0":{"f1":7}})") == R"({"f0":{"_d":4,"f1":7}})");
  CHECK(taken("T{union U:i8 {1:i8}}", R"({"f0":{"_d":2}})") == R"({"f0":{"_d":2}})");
  CHECK(
      idl_of(*type_of("T{a=union m::U:E:i16 {7|8:u8=u32,1:N{},-1:b=string[2],*0:c=sequence<i8>},v=variant<i8,E{}>}")).text ==
      "@final struct Nothing {\n};\nmodule m {\n@final union U switch (int16) {\n  case 7: case 8: uint32 u8;\n"
      "  case 1: Nothing f1;\n  case -1: string b[2];\n  default: sequence<int8> c;\n};\n};\n"
      "@final union variant switch (int32) {\n  case 0: int8 f0;\n  case 1: Nothing f1;\n};\n"
      "@final struct T {\n  m::U a;\n  variant v;\n};\n");
  CHECK_THAT(idl_of(*type_of("T{union U:bool {1:i8,0:u16},union V:char {65:i8,200:f32},union W:i32 {1:N{}}}")).text,
             Contains("  case TRUE: int8 f0;\n  case FALSE: uint16 f1;\n};\n") &&
                 Contains("switch (uint8) {\n  case 65: int8 f0;\n  case 200: float f1;\n") &&
                 Contains("  default: Nothing nothing;\n};\n") &&
                 Contains("  int32 f2;\n"));
  const auto keyed = type_of("T{i32,union U:i16 {-2:string,*0:u8},variant<f64>} key=0");
  const auto sample = DynamicSample::from_json(keyed, SampleJson::parse(R"({"f0":4,"f1":{"f1":1},"f2":{"f0":1}})")).value();
  const auto of_key = from_portable_key(keyed, portable_key(*keyed, portable_bytes(sample)).value());
  REQUIRE(of_key);
  CHECK(of_key->json().dump() == R"({"f0":4,"f1":{"_d":-2,"f0":""},"f2":{"_d":0,"f0":0.0}})");
  CHECK(of_key->key() == sample.key());
}

TEST_CASE("bytes of a union that are cut off, and a std::variant's of no alternative, are refused") {
  CHECK_THAT(fault_of("T{variant<i8,i8>}", {0, 1, 0, 0, 2, 0, 0, 0, 7}), Contains("of none of its alternatives"));
  CHECK_THAT(fault_of("T{union U:bool {1:i8}}", {0, 1, 0, 0, 2, 7}), Contains("of a sample"));
  CHECK_THAT(fault_of("T{union U:i8 {1:i8}}", {0, 1, 0, 0, 2, 7}), Contains("behind the last field"));
  auto bytes = encoded(unions::Small{9, 2.5});
  bytes[8] = std::byte{0xff};
  const auto refused = type_support<unions::Small>().decode(bytes);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().to_string(), Contains("of none of its alternatives"));
  CHECK_FALSE(from_portable_bytes(dynamic_of<unions::Small>(), bytes));
  const auto whole = encoded(sent());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    REQUIRE_FALSE(DynamicSample::from_bytes(dynamic_of<unions::Sent>(), std::span(whole).first(size)));
    REQUIRE_FALSE(type_support<unions::Sent>().decode(std::span(whole).first(size)));
    REQUIRE_FALSE(from_portable_bytes(dynamic_of<unions::Sent>(), std::span(whole).first(size)));
  }
}

TEST_CASE("JSON that is no union is refused with the path") {
  const std::string type = "T{u=union U:u8 {1|2:a=i8,3:b=string},v=variant<i8,i8>}";
  const auto fault = [&](const std::string& of) { return json_fault(type, R"({"u":)" + of + R"(,"v":{"f0":1}})"); };
  CHECK_THAT(fault("7"), Contains("$.u: 7 ") && Contains("an object: union U:u8 {1|2:a=i8,3:b=string}"));
  CHECK_THAT(fault("{}"), Contains("$.u: a union says neither its discriminator nor a member"));
  CHECK_THAT(fault(R"({"a":1,"b":""})"), Contains("$.u: a union has its discriminator, _d, and one of its members"));
  CHECK_THAT(fault(R"({"_d":1,"c":1})"), Contains("$.u: a union has its discriminator"));
  CHECK_THAT(fault(R"({"_d":256,"a":1})"), Contains("$.u._d: 256 ") && Contains("0 to 255"));
  CHECK_THAT(fault(R"({"_d":3,"a":1})"), Contains("$.u._d: with this discriminator there is the member b"));
  CHECK_THAT(fault(R"({"_d":3})"), Contains("$.u._d: with this discriminator there is the member b"));
  CHECK_THAT(fault(R"({"_d":4,"a":1})"), Contains("$.u._d: with this discriminator there is no member"));
  CHECK_THAT(fault(R"({"a":"x"})"), Contains("$.u.a: \"x\" "));
  CHECK_THAT(json_fault(type, R"({"u":{"_d":9},"v":{"_d":2}})"), Contains("$.v._d: with this discriminator there is no"));
}

TEST_CASE("descriptions of unions that are none are refused") {
  CHECK_THAT(type_fault("T{union U:f32 {1:i8}}"), Contains("a discriminator is an integer, a bool, a char or an enum"));
  CHECK_THAT(type_fault("T{union U:string {1:i8}}"), Contains("a discriminator is"));
  CHECK_THAT(type_fault("T{union U:i8[2] {1:i8}}"), Contains("a discriminator is"));
  CHECK_THAT(type_fault("T{union U:i8}"), Contains("the members of a union, in braces"));
  CHECK_THAT(type_fault("T{union U:i8 {}}"), Contains("a union has no members"));
  CHECK_THAT(type_fault("T{union U:i8 {i8}}"), Contains("a number that the discriminator can have"));
  CHECK_THAT(type_fault("T{union U:i8 {128:i8}}"), Contains("a number that the discriminator can have"));
  CHECK_THAT(type_fault("T{union U:bool {2:i8}}"), Contains("a number that the discriminator can have"));
  CHECK_THAT(type_fault("T{union U:char {-1:i8}}"), Contains("a number that the discriminator can have"));
  CHECK_THAT(type_fault("T{union U:i8 {01:i8}}"), Contains("a number that the discriminator can have"));
  CHECK_THAT(type_fault("T{union U:i8 {1|1:i8}}"), Contains("a label is there twice"));
  CHECK_THAT(type_fault("T{union U:i8 {1:i8,1:i8}}"), Contains("a label is there twice"));
  CHECK_THAT(type_fault("T{union U:i8 {*1:i8,*2:i8}}"), Contains("two defaults"));
  CHECK_THAT(type_fault("T{union U:i8 {1:a=i8,2:a=i8}}"), Contains("two fields are called a"));
  CHECK_THAT(type_fault("T{union U:i8 {1:_d=i8}}"), Contains("a member of a union is called _d"));
  CHECK_THAT(type_fault("T{union :i8 {1:i8}}"), Contains("the name of a type"));
  CHECK_THAT(type_fault("T{variant<>}"), Contains("the name of a type"));
  CHECK_THAT(type_fault("T{variant<i8>} key=0"), Contains("a key holds a sequence, a map, an optional or a union"));
  CHECK_THAT(type_fault("T{P{union U:i8 {1:i8}}} key=0"), Contains("a key holds"));
  CHECK_THAT(type_fault("T{variant<i8>} in place, 8 bytes"), Contains("does not lie in place"));
  std::string deep = "i8";
  for (int each = 0; each < 64; ++each) deep = "variant<" + deep + ">";
  CHECK_THAT(type_fault("T{" + deep + "}"), Contains("more than 64 levels"));
  std::string long_one = "T{";
  for (int each = 0; each < 1000; ++each) long_one += "union U:";
  CHECK_THAT(type_fault(long_one), Contains("more than 64 levels"));
}

TEST_CASE("types are assignable where their unions are the same") {
  CHECK(assignable("N{variant<i8,string>}", "N{variant<i8,string>,u8}"));
  CHECK_FALSE(assignable("N{variant<i8,string>,u8}", "N{variant<i8,string,f32>,u8,u8}"));
  CHECK_FALSE(assignable("N{union U:i8 {1:i8},u8}", "N{union U:i8 {2:i8},u8,u8}"));
}

TEST_CASE("samples with unions and maps go from a writer to the readers of another participant") {
  const test::Domain domain;
  const dds::domain::DomainParticipant writes(0), reads(0);
  const dds::topic::Topic<unions::Sent> here(writes, "choices"), there(reads, "choices");
  dds::sub::DataReader<unions::Sent> reader(dds::sub::Subscriber(reads), there, test::all_of());
  dds::pub::DataWriter<unions::Sent> writer(dds::pub::Publisher(writes), here);
  writer.write(sent());
  const auto taken = test::take(reader, 1);
  CHECK(encoded(taken.at(0).data()) == encoded(sent()));
}

}  // namespace spindrift::topics
