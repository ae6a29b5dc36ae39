// Samples as files have them: held against the bytes of a C++ type that has what IDL has no form for as that says.
#include <catch2/catch.hpp>

#include <spindrift/dds/portable_sample.hpp>
#include <spindrift/dds/type_idl.hpp>

#include "dynamic_types.hpp"

using Catch::Matchers::Contains;

namespace portable {

enum class Level : std::int16_t { low = -1, high = 300 };
struct Nothing {};
struct Point {
  double x;
  float y;
};
/// Gaps, what is aligned less where it travels than where it lies, and what has no bytes.
struct Placed {
  bool yes;
  std::int64_t i64;
  Level level;
  std::array<Point, 2> points;
  std::array<std::int32_t, 0> none;
  std::array<std::array<std::uint16_t, 3>, 2> table;
  char last;
};
struct Sent {
  std::string text;
  std::optional<double> number;
  std::optional<Nothing> nothing;
  std::optional<Point> maybe;
  std::vector<std::optional<std::uint8_t>> gaps;
  std::array<std::vector<std::int64_t>, 2> pair;
  std::vector<std::array<Level, 2>> levels;
  std::uint8_t last;
};

}  // namespace portable

/// The same, as the type in IDL has it.
namespace portable_as_told {

struct PlacedAsTold {
  bool yes;
  std::int64_t i64;
  std::int16_t level;
  std::array<portable::Point, 2> points;
  std::array<std::array<std::uint16_t, 3>, 2> table;
  char last;
  std::vector<int> makes_it_travel;
};
struct SentAsTold {
  std::string text;
  std::vector<double> number;
  bool nothing;
  std::vector<portable::Point> maybe;
  std::vector<std::vector<std::uint8_t>> gaps;
  std::array<std::vector<std::int64_t>, 2> pair;
  std::vector<std::array<std::int16_t, 2>> levels;
  std::uint8_t last;
};

}  // namespace portable_as_told

template <>
struct dds::topic::topic_field_names<portable::Sent> {
  static constexpr std::array names{"text", "number", "nothing", "maybe", "gaps", "pair", "levels", "Module"};
};
template <>
struct dds::topic::topic_key<portable::Sent> {
  using type = key_fields<&portable::Sent::text>;
};

namespace spindrift::topics {
namespace {

template <class T>
DynamicSample sample_of(const T& value) {
  auto sample = DynamicSample::from_bytes(dynamic_of<T>(), encoded(value));
  REQUIRE(sample.ok());
  return std::move(sample).value();
}
void check_back(const DynamicSample& sample) {
  const auto back = from_portable_bytes(sample.type(), portable_bytes(sample));
  REQUIRE(back.ok());
  CHECK(back->bytes() == sample.bytes());
}

portable::Placed placed() {
  portable::Placed made;
  std::memset(static_cast<void*>(&made), 0, sizeof made);
  made.yes = true;
  made.i64 = -7;
  made.level = portable::Level::high;
  made.points = {{{1.5, 2.5F}, {3.5, 4.5F}}};
  made.table = {{{1, 2, 3}, {4, 5, 6}}};
  made.last = 'z';
  for (portable::Point& each : made.points) std::memset(reinterpret_cast<char*>(&each) + 12, 0, 4);
  return made;
}
portable::Sent sent() {
  return {"text",
          2.5,
          portable::Nothing{},
          portable::Point{1, 2},
          {1, std::nullopt, 3},
          {{{1, 2}, {}}},
          {{{portable::Level::low, portable::Level::high}}},
          9};
}

}  // namespace

TEST_CASE("a sample that lies in place is CDR in a file, and lies in place again when it comes back") {
  const portable::Placed here = placed();
  const DynamicSample sample = sample_of(here);
  CHECK(sample.type()->in_place());
  auto told = encoded(portable_as_told::PlacedAsTold{here.yes, here.i64, 300, here.points, here.table, here.last, {}});
  // An empty sequence at its end makes that type travel: seven bytes more.
  told.resize(portable_bytes(sample).size());
  CHECK(portable_bytes(sample) == told);
  check_back(sample);
}

TEST_CASE("what IDL has no form for is another type of the same content in a file, and comes back as it was") {
  CHECK(portable_bytes(sample_of(sent())) ==
        encoded(
            portable_as_told::SentAsTold{"text", {2.5}, true, {{1, 2}}, {{1}, {}, {3}}, {{{1, 2}, {}}}, {{{-1, 300}}}, 9}));
  check_back(sample_of(sent()));
  check_back(sample_of(portable::Sent{}));
}

TEST_CASE("bytes in the other order are a sample") {
  const auto type = type_of("T{u16,optional<u32>,string,f64[2]}");
  const std::array<unsigned char, 44> other{0, 0, 0, 0, 1, 2, 0,    0,    0, 0, 0, 1, 1, 2, 3,    4,    0, 0, 0, 2, 'a', 0,
                                            0, 0, 0, 0, 0, 0, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0, 0x40, 0x04, 0, 0, 0, 0, 0,   0};
  const auto sample = from_portable_bytes(type, std::as_bytes(std::span(other)));
  REQUIRE(sample.ok());
  CHECK(sample->json().dump() == R"({"f0":258,"f1":16909060,"f2":"a","f3":[1.5,2.5]})");
}

TEST_CASE("bytes that are cut off, lengthened or none are refused with a place") {
  const DynamicSample sample = sample_of(sent());
  const std::vector<std::byte> whole = portable_bytes(sample);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto cut = from_portable_bytes(sample.type(), std::span(whole).first(size));
    REQUIRE_FALSE(cut.ok());
    CHECK(cut.error().kind() == ErrorKind::bad_input);
    CHECK_FALSE(cut.error().place().empty());
  }
  std::vector<std::byte> wrong = whole;
  wrong.push_back(std::byte{0});
  CHECK_THAT(from_portable_bytes(sample.type(), wrong).error().message(), Contains("1 bytes are behind the last field"));
  wrong = whole;
  wrong[16] = std::byte{2};  // the count of an optional
  CHECK_FALSE(from_portable_bytes(sample.type(), wrong).ok());
  wrong = whole;
  std::fill_n(wrong.begin() + 4, 4, std::byte{0xff});
  CHECK_FALSE(from_portable_bytes(sample.type(), wrong).ok());
}

TEST_CASE("bytes that fill up a word may be behind a sample where that is asked for") {
  const auto type = type_of("T{string}");
  const std::array<unsigned char, 12> filled{0, 1, 0, 2, 2, 0, 0, 0, 'a', 0, 0, 0};
  const auto bytes = std::as_bytes(std::span(filled));
  CHECK_FALSE(from_portable_bytes(type, bytes).ok());
  CHECK_FALSE(from_portable_bytes(type, bytes, 1).ok());
  const auto sample = from_portable_bytes(type, bytes, 3);
  REQUIRE(sample.ok());
  CHECK(sample->json().dump() == R"({"f0":"a"})");
}

TEST_CASE("the keys of a sample are an aggregate of their own, in the order of its fields, and make a sample again") {
  const auto type = type_of("T{f64,string,u16[2],sequence<u64>,N{i8,string}[2],bool} key=4,1");
  const auto sample = DynamicSample::from_json(
      type,
      SampleJson::parse(R"({"f0":1,"f1":"ab","f2":[1,2],"f3":[7],"f4":[{"f0":1,"f1":"x"},{"f0":-1,"f1":""}],"f5":true})"));
  REQUIRE(sample.ok());
  const auto key = portable_key(*type, portable_bytes(*sample));
  REQUIRE(key.ok());
  const std::array<unsigned char, 31> told{0, 1, 0, 0,   3, 0,    0, 0, 'a', 'b', 0, 1, 2,
                                           0, 0, 0, 'x', 0, 0xff, 0, 1, 0,   0,   0, 0};
  CHECK(std::equal(key->begin(), key->end(), std::as_bytes(std::span(told)).begin()));
  const auto back = from_portable_key(type, *key);
  REQUIRE(back.ok());
  CHECK(back->key().words == sample->key().words);
  CHECK(back->json().dump() ==
        R"({"f0":0.0,"f1":"ab","f2":[0,0],"f3":[],"f4":[{"f0":1,"f1":"x"},{"f0":-1,"f1":""}],"f5":false})");
  for (std::size_t size = 0; size < key->size(); ++size)
    CHECK_FALSE(from_portable_key(type, std::span(*key).first(size)).ok());
  // In the order of bytes of a key's hash.
  const auto number = type_of("T{u8,u32} key=1");
  const auto other = DynamicSample::from_json(number, SampleJson::parse(R"({"f0":1,"f1":258})"));
  const std::vector<std::byte> big{std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0},
                                   std::byte{0}, std::byte{0}, std::byte{1}, std::byte{2}};
  CHECK(portable_key(*number, portable_bytes(*other), ByteOrder::big).value() == big);
}

TEST_CASE("a type as IDL has each declaration before its use, and names that IDL takes") {
  const TypeIdl sent_idl = idl_of(*dynamic_of<portable::Sent>());
  CHECK(sent_idl.name == "portable::Sent");
  CHECK(sent_idl.text ==
        "module portable {\n@final struct Point {\n  double f0;\n  float f1;\n};\n};\n"
        "@final struct Wrapped {\n  sequence<uint8, 1> value;\n};\n"
        "@final struct Wrapped_1 {\n  sequence<int64> value;\n};\n"
        "@final struct Wrapped_2 {\n  int16 value[2];\n};\n"
        "module portable {\n@final struct Sent {\n  @key string text;\n  sequence<double, 1> number;  // there or not\n"
        "  boolean nothing;  // there or not\n  sequence<portable::Point, 1> maybe;  // there or not\n"
        "  sequence<Wrapped> gaps;\n  Wrapped_1 pair[2];\n  sequence<Wrapped_2> levels;\n  uint8 Module_;\n};\n};\n");
  const TypeIdl placed_idl = idl_of(*dynamic_of<portable::Placed>());
  CHECK_THAT(placed_idl.text, Contains("  uint16 f5[2][3];\n") && !Contains("f4") && Contains("int16 f2;  // enum Level"));
  // Templates, namespaces without a name, and two types that would be called alike.
  const TypeIdl odd = idl_of(*type_of("a::{anonymous}::Box<b::C, 3>{a::X{i32},a::x{i64},a{u8},3d{f32}}"));
  CHECK(odd.name == "a::n_anonymous_::Box_b__C__3_");
  CHECK_THAT(odd.text, Contains("struct X {\n  int32 f0;") && Contains("struct a_x_1 {\n  int64 f0;") &&
                           Contains("struct a_1 {\n  uint8 f0;") && Contains("struct n3d {"));
}

}  // namespace spindrift::topics
