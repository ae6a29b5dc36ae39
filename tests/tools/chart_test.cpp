// Charts of points, and paths of fields.
#include <catch2/catch.hpp>

#include "chart.hpp"
#include "field_path.hpp"

using namespace spindrift;
using namespace spindrift::tools;

TEST_CASE("points are where their times and values are, in ASCII and in braille") {
  const std::vector<ChartPoint> line{{0, 0}, {1, 1}, {2, 2}, {3, 3}};
  const auto plain = chart_of(line, {20, 5}, false);
  REQUIRE(plain.size() == 5);
  CHECK(plain[0] == "          3        *");
  CHECK(plain[1] == "                 *  ");
  CHECK(plain[3] == "          0 *       ");
  CHECK(plain[4] == "            4 points in 3.000 s");
  const auto dots = chart_of({{0, 0}, {1, 1}}, {20, 5}, true);
  CHECK(dots[0] == "          1 \u2800\u2800\u2800\u2800\u2800\u2800\u2800\u2808");
  CHECK(dots[3] == "          0 \u2840\u2800\u2800\u2800\u2800\u2800\u2800\u2800");
}

TEST_CASE("a chart of no points, or of equal ones, is one") {
  CHECK(chart_of({}, {80, 10}, true)[0] == "no points");
  CHECK(chart_of({{1, 5}, {1, 5}}, {20, 4}, false)[0].substr(0, 12) == "          5 ");
}

TEST_CASE("a path names a number within a sample, and one that does not is refused with what there is") {
  const auto parsed = topics::DynamicType::parse(
      "T{a=i32,p=P{x=f64,name=string},list=sequence<P{x=f64,name=string}>,maybe=optional<bool>,two=u8[2],level=L:i16,"
      "by_name=map<string,P{x=f64,name=string}>,by_number=map<i8,sequence<u8>>,"
      "one=union U:u8 {1:x=f64,2:y=i8}}");
  REQUIRE(parsed.ok());
  const auto type = std::make_shared<const topics::DynamicType>(*parsed);
  const auto sample = topics::DynamicSample::from_json(
      type, topics::SampleJson::parse(
                R"({"a":-4,"p":{"x":1.5,"name":""},"list":[{"x":9,"name":"n"}],"maybe":true,"two":[7,8],"level":3,)"
                R"("by_name":{"left":{"x":2.5,"name":""},"a].b":{"x":3.5,"name":""}},"by_number":{"-1":[1,2]},)"
                R"("one":{"x":4.5}})"));
  REQUIRE(sample.ok());
  const auto value = [&](const std::string& path) { return FieldPath::parse(*type, path).value().value(*sample); };
  CHECK(value("a") == -4);
  CHECK(value("p.x") == 1.5);
  CHECK(value("list[0].x") == 9);
  CHECK_FALSE(value("list[1].x"));
  CHECK(value("maybe") == 1);
  CHECK(value("two[1]") == 8);
  CHECK(value("level") == 3);
  CHECK(value("by_name[left].x") == 2.5);
  CHECK(value("by_name[\"a].b\"].x") == 3.5);
  CHECK_FALSE(value("by_name[right].x"));
  CHECK(value("by_number[-1][1]") == 2);
  CHECK((value("one.x") == 4.5 && value("one._d") == 1));
  CHECK_FALSE(value("one.y"));
  const auto fault = [&](const std::string& path) { return FieldPath::parse(*type, path).error().to_string(); };
  CHECK(fault("p.y") == "field p.y: there is no field \"y\"; fix: name one of x, name");
  CHECK(fault("two[2]") == "field two[2]: there is no such element; fix: name one of its elements, [0] to [1]");
  CHECK(fault("by_number[128][0]") ==
        "field by_number[128][0]: there is no such element; fix: name one of its keys, as [7] or [left]: it is "
        "map<i8,sequence<u8>>");
  CHECK(fault("p") == "field p: it is no number; fix: name one of x, name");
  CHECK(fault("p.name") == "field p.name: it is no number; fix: name a number, a bool or an enum: it is string");
  for (const char* wrong :
       {"", ".", "a.", "a[0]", "two[", "two[x]", "two[0]x", "p..x", "by_name[\"left]", "by_name.left", "by_name[left]"})
    CHECK_FALSE(FieldPath::parse(*type, wrong).ok());
}
