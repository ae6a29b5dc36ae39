// Samples as people write them: JSON, with each key once, in the order that they have.
#include <catch2/catch.hpp>

#include <string>

#include <spindrift/core/result.hpp>

#include "../../tools/sample_json.hpp"

using Catch::Matchers::Contains;

namespace spindrift::tools {
namespace {

std::string there_and_back(const std::string& text) { return parse_sample_json(text, "sample 1").dump(); }
std::string fault(const std::string& text) {
  try {
    static_cast<void>(parse_sample_json(text, "sample 1"));
  } catch (const Exception& thrown) {
    CHECK(thrown.error().kind() == ErrorKind::bad_input);
    return thrown.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a sample's JSON comes out as it was written, with its keys in their order") {
  for (const char* const each :
       {R"({"z":1,"a":-2,"m":2.5,"t":"x\"y","n":null,"b":[true,false,[],{}],"o":{"z":{"a":1},"b":[[1],[2,3]]}})", "[]", "7",
        "\"\"", R"({"":0,"18446744073709551615":18446744073709551615})"})
    CHECK(there_and_back(each) == each);
}

TEST_CASE("a key that an object has twice is refused with its place, and one that two objects have is not") {
  CHECK(there_and_back(R"([{"a":1},{"a":{"a":2}}])") == R"([{"a":1},{"a":{"a":2}}])");
  CHECK_THAT(fault(R"({"a": 1, "b": 2, "a": 3})"), Contains("sample 1: $.a: the field is there twice"));
  CHECK_THAT(fault(R"({"l": [0, {"x": {"k": 1, "k": 2}}]})"), Contains("sample 1: $.l[1].x.k: the field is there twice"));
}

TEST_CASE("what is no JSON, or has a number beyond all, is refused with its place") {
  CHECK_THAT(fault("{"), Contains("sample 1: it is no JSON: line 1, column 2: syntax error"));
  CHECK_THAT(fault(R"({"a": 1} 2)"), Contains("it is no JSON: line 1, column 10"));
  CHECK_THAT(fault(""), Contains("it is no JSON"));
  CHECK_THAT(fault(R"({"a": [1, 1e999]})"), Contains("sample 1: $.a[1]: a number is beyond all"));
  CHECK_THAT(fault("\xff"), Contains("it is no JSON"));
}

}  // namespace spindrift::tools
