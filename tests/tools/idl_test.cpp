// IDL and ROS messages: which are taken, and which refused, with file, line, column, cause and fix.
#include <catch2/catch.hpp>

#include <map>

#include "idl/model.hpp"

using Catch::Matchers::Contains;

namespace spindrift::idl {
namespace {

using Files = std::map<std::string, std::string>;

Model model_of(const Files& files, const std::string& first) {
  return parse({first}, [&](const std::string& path) -> std::optional<std::string> {
    const auto found = files.find(path);
    if (found == files.end()) return std::nullopt;
    return found->second;
  });
}
std::string fault_of(const Files& files, const std::string& first) {
  try {
    (void)model_of(files, first);
  } catch (const Exception& thrown) {
    CHECK(thrown.error().kind() == ErrorKind::bad_input);
    CHECK_FALSE(thrown.error().fix().empty());
    return thrown.what();
  }
  FAIL("it was taken");
  return {};
}
std::string fault(const std::string& text) { return fault_of({{"a.idl", text}}, "a.idl"); }
std::string value(const std::string& type, const std::string& expression) {
  return model_of({{"a.idl", "const " + type + " x = " + expression + ";"}}, "a.idl").declarations.at(0).value;
}
std::string nested(const std::string& open, const std::string& close, std::size_t levels) {
  std::string text;
  for (std::size_t each = 0; each < levels; ++each) text += open;
  text += "1";
  for (std::size_t each = 0; each < levels; ++each) text += close;
  return text;
}

}  // namespace

TEST_CASE("a file may begin with a byte order mark, and places count from behind it") {
  CHECK(value("long", "1") == "1");
  CHECK(model_of({{"a.idl", "\xef\xbb\xbfstruct S { long a; };"}}, "a.idl").declarations.size() == 1);
  CHECK_THAT(fault("\xef\xbb\xbfx"), Contains("a.idl:1:1: \"x\" begins no definition"));
}

TEST_CASE("keys that a pragma says are refused, with what is written in its place") {
  CHECK_THAT(fault("struct S { long a; };\n#pragma keylist S a"),
             Contains("a.idl:2:1: keys are said beside their fields, and not by #pragma keylist; fix: write @key before"));
}

TEST_CASE("constant expressions have the precedence and the range of IDL") {
  CHECK(value("long", "1 + 2 * 3 - 4 / 2") == "5");
  CHECK(value("long", "(1 + 2) * 3 % 5") == "4");
  CHECK(value("long", "1 | 6 & 4 ^ 1 << 3") == "13");
  CHECK(value("long", "~0 - -1 + +017 + 0x1F") == "46");
  CHECK(value("float", "1 / 2.0") == "0.5F");
  CHECK(value("boolean", "TRUE") == "true");
  CHECK(value("char", "'\\n'") == "'\\x0a'");
  CHECK(value("string", "\"a\" \"b\\x41\"") == "\"abA\"");
  CHECK_THAT(fault("const octet x = 255 + 1;"), Contains("a.idl:1:17: the value is none of std::uint8_t; fix: "));
  CHECK_THAT(fault("const octet x = -1;"), Contains("the value is none of"));
  CHECK_THAT(fault("const long long x = 9223372036854775808;"), Contains("none of std::int64_t"));
  CHECK_THAT(fault("const unsigned long long x = 0xffffffffffffffff + 1;"), Contains("beyond 64 bits"));
  CHECK_THAT(fault("const unsigned long long x = 0xffffffffffffffff << 63;"), Contains("beyond 64 bits"));
  CHECK_THAT(fault("const long x = 1 / 0;"), Contains("a.idl:1:18: this divides by 0"));
  CHECK_THAT(fault("const long x = 1 << 64;"), Contains("a shift is by 0 to 63"));
  CHECK_THAT(fault("const long x = 1.5 | 1;"), Contains("whole numbers"));
  CHECK_THAT(fault("const long x = y;"), Contains("there is no constant y"));
  CHECK_THAT(fault("const long x = " + nested("(", ")", 100) + ";"), Contains("too many levels"));
}

TEST_CASE("what samples cannot hold is refused with its place and a way out") {
  CHECK_THAT(fault("module m {\n  bitset B { bitfield<3> a; };\n};"),
             Contains("a.idl:2:3: samples hold no bitset; fix: make it a struct, or a bitmask"));
  CHECK_THAT(fault("struct S { map<double, string> m; };"),
             Contains("a.idl:1:16: the keys of a map are integers, booleans, enums or strings; fix: "));
  CHECK_THAT(fault("struct S { map<char, string> m; };"), Contains("the keys of a map are"));
  CHECK_THAT(fault("struct P { long x; }; struct S { map<P, long> m; };"), Contains("the keys of a map are"));
  CHECK_THAT(fault("typedef long A[2]; struct S { map<A, long> m; };"), Contains("the keys of a map are"));
  CHECK_THAT(fault("struct S { map<long> m; };"), Contains("a.idl:1:20: , is expected"));
  CHECK_THAT(fault("struct S { map<long, wchar> m; };"), Contains("samples hold no wchar"));
  CHECK_THAT(fault("struct S { @key map<long, long> m; };"), Contains("a key holds no sequences, maps and optionals"));
  CHECK_THAT(fault("struct S { @default(1) map<long, long> m; };"), Contains("the value is none of std::map<"));
  CHECK_THAT(fault("struct S { sequence<wstring> m; };"), Contains("samples hold no wstring"));
  CHECK_THAT(fault("struct S { long double m; };"), Contains("samples hold no long double"));
  CHECK_THAT(fault("struct S { sequence<S> m; };"), Contains("there is no type S before this"));
  CHECK_THAT(fault("struct S { };"), Contains("a struct without fields"));
  CHECK_THAT(fault("struct S { @key sequence<long> m; };"), Contains("a key holds no sequences"));
  CHECK_THAT(fault("struct S { @key @optional long m; };"), Contains("a key is not optional"));
}

TEST_CASE("what is no IDL is refused with its place") {
  CHECK_THAT(fault("struct S { long a }"), Contains("a.idl:1:19: ; is expected, and \"}\" is there"));
  CHECK_THAT(fault("struct S {"), Contains("a.idl:1:11: "));
  CHECK_THAT(fault("struct S { long a; }"), Contains("; is expected, and the file ends"));
  CHECK_THAT(fault("struct S { long a, a; };"), Contains("the field a is there already"));
  CHECK_THAT(fault("struct S { long a; }; enum S { A };"), Contains("S is there already"));
  CHECK_THAT(fault("struct class { long a; };"), Contains("C++ has the word class"));
  CHECK_THAT(fault("module a { module std { struct S { long a; }; }; };"), Contains("C++ has the word std"));
  CHECK_THAT(fault("enum E { A, A };"), Contains("A is there already"));
  CHECK_THAT(fault("enum E { A, @value(0) B };"), Contains("a.idl:1:23: B has the number of A, 0") && Contains("by @value"));
  CHECK_THAT(fault("enum E { @value(1) A, @value(0) B, C };"), Contains("C has the number of A, 1"));
  CHECK_THAT(fault("bitmask F { @position(3) A, @position(3) B };"), Contains("B has the number of A, 3"));
  CHECK_THAT(fault("@bit_bound(8) enum E { @value(128) A };"), Contains("does not fit its bits"));
  CHECK_THAT(fault("struct S { long a[0]; };"), Contains("from 1 to"));
  CHECK_THAT(fault("struct S { long a[65536][65536]; };"), Contains("the array is too large"));
  CHECK_THAT(fault("struct S { @default(\"x\") long a; };"), Contains("the value is none of std::int32_t"));
  CHECK_THAT(fault("enum E { A }; enum F { B }; struct S { @default(B) E e; };"), Contains("the value is none of ::E"));
  CHECK_THAT(fault("/* "), Contains("a.idl:1:1: a comment has no end"));
  CHECK_THAT(fault("const string x = \"a"), Contains("a.idl:1:18: a text has no end"));
  CHECK_THAT(fault("\n  $"), Contains("a.idl:2:3: this byte begins nothing"));
  CHECK_THAT(fault("}"), Contains("a definition is expected"));
  std::string modules;
  for (int each = 0; each < 100; ++each) modules += "module m {";
  CHECK_THAT(fault(modules), Contains("too deep"));
  std::string fields = "struct S {";
  for (int each = 0; each < 101; ++each) fields += "long a" + std::to_string(each) + ";";
  CHECK_THAT(fault(fields + "};"), Contains("more than 100 fields"));
}

TEST_CASE("includes are found beside their file, once, and not within each other") {
  const Files files = {{"d/a.idl", "#include \"b.idl\"\n#include \"c.idl\"\nstruct A { B b; C c; };"},
                       {"d/b.idl", "#include \"c.idl\"\nstruct B { C c; };"},
                       {"d/c.idl", "struct C { long c; };"}};
  const Model model = model_of(files, "d/a.idl");
  REQUIRE(model.units.size() == 3);
  CHECK(model.units.front().path == "d/c.idl");
  CHECK_THAT(header_of(model, model.units.back()), Contains("#include \"b.hpp\"") && Contains("#include \"c.hpp\""));
  CHECK_THAT(fault_of({{"a.idl", "\n#include \"a.idl\""}}, "a.idl"), Contains("a.idl:2:1: file a.idl includes itself"));
  CHECK_THAT(fault_of({{"a.idl", "#include <x.idl>"}}, "a.idl"), Contains("a.idl:1:1: file x.idl is not there"));
}

TEST_CASE("what is left out is said with its place") {
  const Model model = model_of({{"a.idl", "#pragma once\n@topic(name=\"x\") struct S { string<8> a; };"}}, "a.idl");
  REQUIRE(model.notes.size() == 3);
  CHECK(model.notes[0] == "a.idl:1:1: \"#pragma once\" is left out");
  CHECK(model.notes[1] == "a.idl:2:1: @topic is left out");
  CHECK_THAT(model.notes[2], Contains("a.idl:2:36: the bound is"));
  CHECK_THAT(header_of(model, model.units[0]), Contains("std::string a{};  // at most 8 bytes"));
}

TEST_CASE("a union that is none is refused with its place") {
  const auto of = [](const std::string& cases, const std::string& tells = "long") {
    return fault("enum E { A, B }; enum F { C }; union U switch (" + tells + ") {" + cases + "};");
  };
  CHECK_THAT(of("case 1: long a;", "double"), Contains("a.idl:1:48: what tells members of a union apart is an integer"));
  CHECK_THAT(of("case 1: long a;", "string"), Contains("what tells members of a union apart"));
  CHECK_THAT(of("case 1: long a;", "@key long"), Contains("a union is no key"));
  CHECK_THAT(of(""), Contains("a union without members holds nothing"));
  CHECK_THAT(of("long a;"), Contains("case is expected"));
  CHECK_THAT(of("case 1: long a; case 1: long b;"), Contains("this case is there already"));
  CHECK_THAT(of("case 1: long a; case 2: long a;"), Contains("the field a is there already"));
  CHECK_THAT(of("case 256: long a;", "octet"), Contains("the value is none of std::uint8_t"));
  CHECK_THAT(of("case 0xffffffffffffffff: long a;", "uint64"), Contains("the value is none of std::uint64_t"));
  CHECK_THAT(of("case C: long a;", "E"), Contains("the value is none of ::E"));
  CHECK_THAT(of("case 0: long a;", "E"), Contains("the value is none of ::E"));
  CHECK_THAT(of("case A: long a; case B: long b; default: long c;", "E"), Contains("none is left for the default"));
  CHECK_THAT(of("case TRUE: long a; case FALSE: long b; default: long c;", "boolean"), Contains("none is left"));
  CHECK_THAT(of("default: long a; default: long b;"), Contains("a union has two defaults"));
  CHECK_THAT(of("case 1: @key long a;"), Contains("a member of a union has no @key"));
  CHECK_THAT(of("case 1: @optional long a;"), Contains("a member of a union has no @optional"));
  CHECK_THAT(of("case 1: long _d;"), Contains("no member of a union begins with _"));
  CHECK_THAT(fault("union U switch (long) { case 1: long a; }; struct S { @key U u; };"), Contains("a key holds no union"));
  CHECK_THAT(fault("union U switch (long) { case 1: long a; }; struct S : U { long b; };"), Contains("U is no struct"));
}

TEST_CASE("a union of IDL is a class with a function for each member") {
  const Model model =
      model_of({{"a.idl",
                 "enum E { A, B, C };\nunion U switch (E) { case A: case C: string<4> U; default: long class; };\n"
                 "union V switch (boolean) { case TRUE: double a[2]; };\nunion W switch (char) { case 'x': case 'y': "
                 "default: V v; };"}},
               "a.idl");
  const std::string header = header_of(model, model.units[0]);
  CHECK_THAT(header, Contains("class U : public ::dds::topic::union_value<::E,\n"
                              "    ::dds::topic::union_case<std::string, ::E::A, ::E::C>,\n"
                              "    ::dds::topic::union_default<std::int32_t, ::E::B>> {\n public:\n  U() = default;\n"
                              "  // at most 4 bytes\n"
                              "  [[nodiscard]] const std::string& U_() const { return _of<0>(); }\n"
                              "  [[nodiscard]] std::string& U_() { return _of<0>(); }\n"
                              "  void U_(std::string value, ::E d = ::E::A) { _set<0>(std::move(value), d); }\n"));
  CHECK_THAT(header, Contains("  void class_(std::int32_t value, ::E d = ::E::B) { _set<1>(std::move(value), d); }\n};\n"));
  CHECK_THAT(header,
             Contains("union_case<std::array<double, 2>, true>> {") && Contains("  void _default() { _none(false); }\n"));
  CHECK_THAT(header, Contains("    ::dds::topic::union_default<::V, '\\x78'>> {"));
  CHECK_THAT(
      header,
      Contains("struct dds::topic::topic_field_names<::U> {\n  static constexpr std::array names{\"U\", \"class\"};"));
}

TEST_CASE("a map of IDL is std::map, whatever is within it, and its bounds are comments") {
  const Model model = model_of({{"a.idl",
                                 "enum E { A }; typedef string<4> Name; @bit_bound(8) bitmask M { one };\n"
                                 "struct S { map<Name, sequence<map<E, double, 3>>, 7> a; map<M, boolean> b[2]; };"}},
                               "a.idl");
  const std::string header = header_of(model, model.units[0]);
  CHECK_THAT(header, Contains("#include <map>\n") &&
                         Contains("  std::map<::Name, std::vector<std::map<::E, double>>> a{};  // at most 7 elements, "
                                  "each of at most 3 elements\n") &&
                         Contains("  std::array<std::map<::M, bool>, 2> b{};\n"));
  const Model bounded = model_of({{"a.idl", "struct S { map<string<8>, long> a; map<string<8>, long, 2> b; };"}}, "a.idl");
  CHECK_THAT(header_of(bounded, bounded.units[0]), Contains("a{};  // keys of at most 8 bytes\n") &&
                                                       Contains("b{};  // at most 2 elements, keys of at most 8 bytes\n"));
}

TEST_CASE("a ROS message that is none is refused with its line") {
  const auto ros = [](const std::string& text) { return fault_of({{"p/msg/A.msg", text}}, "p/msg/A.msg"); };
  CHECK_THAT(ros("int32 a\nint33 b"), Contains("p/msg/A.msg:2:1: type int33 is not there; looked for "));
  CHECK_THAT(ros("int32"), Contains("a type and a name are expected"));
  CHECK_THAT(ros("int32 a b"), Contains("there is no constant b"));
  CHECK_THAT(ros("uint8 A=256"), Contains("the value is none of std::uint8_t"));
  CHECK_THAT(ros("int32[0] a"), Contains("no count of elements"));
  CHECK_THAT(ros("int32 a\n---\nint32 b"), Contains("a service or an action"));
  CHECK_THAT(ros("wstring a"), Contains("no wstring"));
  const Model empty = model_of({{"p/msg/A.msg", "# nothing"}}, "p/msg/A.msg");
  CHECK(empty.declarations.at(0).fields.at(0).name == "structure_needs_at_least_one_member");
}

}  // namespace spindrift::idl
