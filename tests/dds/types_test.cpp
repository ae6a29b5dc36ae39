// Types of samples: what identifies them, how they travel, and which bytes are none of theirs.
#include <catch2/catch.hpp>

#include <limits>

#include <spindrift/dds/assignable.hpp>
#include <spindrift/dds/type_support.hpp>

#include "dynamic_types.hpp"

using Catch::Matchers::Contains;

namespace sensors {

enum class Mode : std::uint8_t { off, on };
struct Position {
  double latitude;
  double longitude;
};
struct Reading {
  std::int32_t sensor;
  Mode mode;
  bool valid;
  std::array<float, 3> values;
  Position where;
};
struct Note {
  std::int64_t number;
  std::string text;
  std::vector<std::string> words;
  std::optional<Position> where;
  std::vector<Position> track;
};
struct LongNote {
  long long number;
};
struct Flat {
  std::int64_t number;
};
struct OfBase : Flat {
  std::int32_t more;
};
struct HoldsOfBase {
  std::vector<OfBase> all;
};
struct OfC {
  std::int32_t number;
  float values[3];
  std::string text;
};
struct HoldsOfC {
  std::optional<OfC> one;
};
struct Branch;
struct Tree {
  std::int64_t number;
  std::vector<Branch> branches;
};
struct Branch {
  std::optional<std::vector<Tree>> trees;
};

}  // namespace sensors
namespace others {
struct Reading {
  std::int32_t sensor;
};
}  // namespace others

template <>
struct dds::topic::topic_key<sensors::Reading> {
  using type = key_fields<&sensors::Reading::sensor, &sensors::Reading::mode>;
};
template <>
struct dds::topic::topic_key<sensors::Note> {
  using type = key_fields<&sensors::Note::text>;
};
template <>
struct dds::topic::topic_type_name<others::Reading> {
  static std::string value() { return "sensors::Reading"; }
};

namespace spindrift::topics {
namespace {

sensors::Note a_note() { return {7, "seven", {"a", "", "bc"}, sensors::Position{1.5, -2}, {{3, 4}, {5, 6}, {7, 8}}}; }

std::string fault_of(const std::vector<std::byte>& bytes) {
  const auto result = type_support<sensors::Note>().decode(bytes);
  REQUIRE_FALSE(result);
  return result.error().to_string();
}

}  // namespace

TEST_CASE("a type is described by its name, its fields in order, its keys, and how it travels") {
  const TypeSupport& reading = type_support<sensors::Reading>();
  CHECK(reading.description ==
        "sensors::Reading{i32,sensors::Mode:u8,bool,f32[3],sensors::Position{f64,f64}} key=0,1 in place, 40 bytes");
  CHECK(reading.keyed);
  CHECK(reading.in_place);
  const TypeSupport& note = type_support<sensors::Note>();
  CHECK(note.description ==
        "sensors::Note{i64,string,sequence<string>,optional<sensors::Position{f64,f64}>,"
        "sequence<sensors::Position{f64,f64}>} key=1");
  CHECK_FALSE(note.in_place);
  CHECK_FALSE(type_support<sensors::Flat>().keyed);
}

TEST_CASE("types of one name with other fields have another identity, and the words of it name both") {
  const TypeSupport& one = type_support<sensors::Reading>();
  const TypeSupport& other = type_support<others::Reading>();
  CHECK(one.name == other.name);
  CHECK(one.identity != other.identity);
  const std::string words = words_of_difference(one.description, other.description);
  CHECK_THAT(words, Contains(one.description) && Contains(other.description));
}

TEST_CASE("the first thing in which types differ is named: a field far within, the number of fields, the keys, the name") {
  using spindrift::topics::first_difference;
  CHECK(first_difference("A{i32,f64}", "A{i32,i64}") == "field 2 is f64 here, and i64 there");
  CHECK(first_difference("A{i32,sequence<B{u8,string}>}", "A{i32,sequence<B{u8,bool}>,i8}") ==
        "of field 2 field 2 is string here, and bool there");
  CHECK(first_difference("A{B{u8}}", "A{C{u8}}") == "field 1 is B{u8} here, and C{u8} there");
  CHECK(first_difference("A{B{u8}}", "A{B{u8,i8}}") == "field 1 is B{u8} here, and B{u8,i8} there");
  CHECK(first_difference("A{string}", "A{string,i32}") == "its fields are 1 here, and 2 there");
  CHECK(first_difference("A{i32,string} key=0", "A{i32,string}") == "its keys are others");
  CHECK(first_difference("A{i32,string}", "B{i32,string}") == "its name is A here, and B there");
  CHECK(first_difference("A{", "A{string}").empty());
}

TEST_CASE("a type that holds itself, over whatever else, is told from one that holds a type twice") {
  using spindrift::topics::holds_itself;
  STATIC_REQUIRE(holds_itself<sensors::Tree>());
  STATIC_REQUIRE(holds_itself<sensors::Branch>());
  STATIC_REQUIRE_FALSE(holds_itself<sensors::Note>());
}

TEST_CASE("a type with a base class or an array of C's, also far within, is told from others") {
  using spindrift::topics::any_base;
  using spindrift::topics::any_c_array;
  STATIC_REQUIRE(any_base<sensors::OfBase>());
  STATIC_REQUIRE(any_base<sensors::HoldsOfBase>());
  STATIC_REQUIRE_FALSE(any_base<sensors::Reading>());
  STATIC_REQUIRE_FALSE(any_base<sensors::Note>());
  STATIC_REQUIRE(any_c_array<sensors::OfC>());
  STATIC_REQUIRE(any_c_array<sensors::HoldsOfC>());
  STATIC_REQUIRE_FALSE(any_c_array<sensors::Reading>());
  STATIC_REQUIRE_FALSE(any_c_array<sensors::Note>());
}

TEST_CASE("integers of one size and sign are one kind, however they are spelled") {
  CHECK_THAT(type_support<sensors::LongNote>().description, Contains("{i64}"));
  CHECK_THAT(type_support<sensors::Flat>().description, Contains("{i64}"));
}

TEST_CASE("samples come out as they went in, in place and as CDR") {
  const sensors::Reading reading{4, sensors::Mode::on, true, {1, 2, 3}, {50, 8}};
  const auto bytes = encoded(reading);
  CHECK(bytes.size() == sizeof reading);
  const auto back = type_support<sensors::Reading>().decode(bytes);
  REQUIRE(back);
  const auto& got = *static_cast<const sensors::Reading*>(back->get());
  CHECK((got.sensor == 4 && got.mode == sensors::Mode::on && got.valid && got.values[2] == 3 && got.where.longitude == 8));

  const auto read = type_support<sensors::Note>().decode(encoded(a_note()));
  REQUIRE(read);
  const auto& note = *static_cast<const sensors::Note*>(read->get());
  CHECK((note.number == 7 && note.text == "seven" && note.words == a_note().words));
  REQUIRE(note.where);
  CHECK(note.where->latitude == 1.5);
  REQUIRE(note.track.size() == 3);
  CHECK(note.track[2].longitude == 8);
}

TEST_CASE("keys alone tell instances apart, and strings of two fields do not run into each other") {
  const auto key = [](const sensors::Reading& of) { return type_support<sensors::Reading>().key(&of); };
  const sensors::Reading one{1, sensors::Mode::on, true, {}, {}};
  sensors::Reading same = one;
  same.values[0] = 5;
  CHECK(key(one) == key(same));
  same.mode = sensors::Mode::off;
  CHECK_FALSE(key(one) == key(same));
  const sensors::Flat flat{3};
  CHECK(type_support<sensors::Flat>().key(&flat) == Digest{});
}

TEST_CASE("bytes of another size, and a bool that is none, are no sample in place") {
  auto bytes = encoded(sensors::Reading{});
  bytes[5] = std::byte{2};
  const auto of_bool = type_support<sensors::Reading>().decode(bytes);
  REQUIRE_FALSE(of_bool);
  CHECK_THAT(of_bool.error().to_string(), Contains("neither false nor true"));
  bytes.pop_back();
  const auto of_size = type_support<sensors::Reading>().decode(bytes);
  REQUIRE_FALSE(of_size);
  CHECK_THAT(of_size.error().to_string(), Contains("39 bytes, and its type 40"));
}

TEST_CASE("CDR that ends early, anywhere, is refused with the place") {
  const auto whole = encoded(a_note());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string fault = fault_of({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    CHECK_THAT(fault, Contains("of a sample"));
  }
  auto longer = whole;
  longer.push_back(std::byte{0});
  CHECK_THAT(fault_of(longer), Contains("behind the last field"));
}

TEST_CASE("a length that the bytes cannot hold is refused before memory is taken for it") {
  auto bytes = encoded(a_note());
  // Behind the encapsulation and the number is the length of the text.
  for (std::size_t at = 12; at < 16; ++at) bytes[at] = std::byte{0xff};
  CHECK_THAT(fault_of(bytes), Contains("a length of 4294967295 is more than"));
}

TEST_CASE("a string without its zero, one with another, and an encapsulation of another kind are refused") {
  auto bytes = encoded(a_note());
  bytes[16 + 5] = std::byte{'x'};
  CHECK_THAT(fault_of(bytes), Contains("does not end where its length says"));
  bytes = encoded(a_note());
  bytes[16 + 1] = std::byte{0};
  CHECK_THAT(fault_of(bytes), Contains("does not end where its length says"));
  bytes = encoded(a_note());
  for (std::size_t at = 12; at < 16; ++at) bytes[at] = std::byte{0};
  CHECK_THAT(fault_of(bytes), Contains("no closing zero"));
  bytes = encoded(a_note());
  bytes[1] = std::byte{3};
  CHECK_THAT(fault_of(bytes), Contains("none of plain CDR"));
}

TEST_CASE("a string with a zero within it is not written") {
  sensors::Note note = a_note();
  note.text = std::string("a\0b", 3);
  try {
    (void)encoded(note);
    FAIL("it was written");
  } catch (const Exception& thrown) {
    CHECK(thrown.error().kind() == ErrorKind::bad_argument);
    CHECK_THAT(thrown.what(), Contains("zero within it"));
  }
}

}  // namespace spindrift::topics
