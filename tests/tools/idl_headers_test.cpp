// The headers that `spindrift idl` makes of tests/tools/idl: they compile, and samples of their types go round.
#include <catch2/catch.hpp>

#include <demo_msgs/msg/Track.hpp>
#include <sensors.hpp>

#include <spindrift/dds/dynamic_sample.hpp>

namespace spindrift {
namespace {

using topics::DynamicSample;
using topics::DynamicType;

template <class T>
topics::SampleJson there_and_back(const T& value, T& back) {
  const topics::TypeSupport& support = topics::type_support<T>();
  const auto bytes = topics::with_encoded(value, [](auto all) { return std::vector(all.begin(), all.end()); });
  const auto decoded = support.decode(bytes);
  REQUIRE(decoded);
  back = *static_cast<const T*>(decoded->get());
  auto type = DynamicType::parse(support.named);
  REQUIRE(type);
  const auto sample = DynamicSample::from_bytes(std::make_shared<const DynamicType>(std::move(type).value()), bytes);
  REQUIRE(sample);
  CHECK(sample->key() == support.key(&value));
  return sample->json();
}

}  // namespace

TEST_CASE("a struct of IDL lies in place, with the fields of its base first, its keys, names and defaults") {
  sensors::Reading reading;
  CHECK(reading.retries == 5);
  CHECK(reading.wanted == common::Mode::on);
  reading.sensor = 3;
  reading.mode = common::Mode::delete_;
  reading.flags = sensors::Flags_ready | sensors::Flags_failed;
  reading.speeds[1][2] = 2.5;
  reading.sign = 'x';
  sensors::Reading back;
  const auto json = there_and_back(reading, back);
  CHECK(topics::type_support<sensors::Reading>().in_place);
  CHECK(topics::type_support<sensors::Reading>().keyed);
  CHECK(json["sensor"] == 3);
  CHECK(json["mode"] == 8);
  CHECK(json["flags"] == 17);
  CHECK(json["speeds"].dump() == "[[0.0,0.0,0.0],[0.0,0.0,2.5]]");
  CHECK(json["values"].size() == 2);
  CHECK(json["sign"] == "x");
  CHECK(back.speeds[1][2] == 2.5);
}

TEST_CASE("names of IDL mean what they mean there, though modules within have the same") {
  sensors::inner::Hidden hidden, back;
  CHECK(hidden.outer == common::Mode::on);
  CHECK(hidden.inner == sensors::inner::sensors::Mode::shown);
  hidden.either.inner(sensors::inner::sensors::Mode::hidden);
  CHECK(hidden.either._d() == common::Mode::on);
  CHECK(there_and_back(hidden, back)["inner"] == 1);
  CHECK(back.either.inner() == sensors::inner::sensors::Mode::hidden);
}

TEST_CASE("a struct of IDL with texts, sequences and optionals goes as CDR") {
  sensors::Note note;
  CHECK(note.class_ == "none");
  note.words = {"a", "b"};
  note.readings.emplace(2);
  note.readings->at(1).sensor = 9;
  note.large = sensors::units::most;
  note.limits = {{"upper", 2.5F}, {"lower", -1}};
  note.switches[common::Mode::on] = {{{7, true}, {3, false}}, {}};
  sensors::Note back;
  const auto json = there_and_back(note, back);
  CHECK(json["class"] == "none");
  CHECK(json["words"].dump() == R"(["a","b"])");
  CHECK(json["readings"][1]["sensor"] == 9);
  CHECK(json["large"] == 18446744073709551615U);
  CHECK(json["limits"].dump() == R"({"lower":-1.0,"upper":2.5})");
  CHECK(json["switches"].dump() == R"({"7":[{"3":false,"7":true},{}]})");
  REQUIRE(back.readings);
  CHECK(back.readings->at(1).sensor == 9);
  CHECK((back.limits == note.limits && back.switches == note.switches));
}

TEST_CASE("a union of IDL has one member at a time, and goes as CDR") {
  sensors::Note note;
  CHECK((note.command._d() == common::Mode::on && note.command.speed() == 0));
  note.command.words({"a", "b"});
  CHECK(note.command._d() == common::Mode::delete_);
  CHECK_THROWS_AS(note.command.speed(), dds::core::PreconditionNotMetError);
  CHECK_THROWS_AS(note.command.speed(1.5, common::Mode::delete_), dds::core::InvalidArgumentError);
  note.settings.resize(3);
  note.settings[0].number(7, 2);
  note.settings[1].text("text");
  note.settings[2]._default();
  sensors::Note back;
  auto json = there_and_back(note, back);
  CHECK(json["command"].dump() == R"({"_d":8,"words":["a","b"]})");
  CHECK(json["settings"].dump() == R"([{"_d":2,"number":7},{"_d":3,"text":"text"},{"_d":0}])");
  CHECK((back.command.words() == note.command.words() && back.settings.at(0).number() == 7));
  CHECK((back.settings.at(1).text() == "text" && back.settings.at(2)._d() == 0));
  note.command.readings({});
  note.command.readings()[1].sensor = 4;
  json = there_and_back(note, back);
  CHECK(json["command"]["readings"][1]["sensor"] == 4);
  CHECK(back.command.readings()[1].sensor == 4);
}

TEST_CASE("constants of IDL are what their expressions say") {
  static_assert(common::dimensions == 3 && sensors::units::count_max == 19 && sensors::units::scale == 3.0);
  static_assert(sensors::units::usual == common::Mode::on && static_cast<int>(common::Mode::on) == 7);
  static_assert(sensors::units::least == INT64_MIN && sensors::units::most == UINT64_MAX);
  static_assert(sensors::units::called == "name");
  CHECK(sensors::units::greeting == "say \"hi\"\n");
}

TEST_CASE("a message of ROS has its fields, constants and defaults, and those of other files") {
  demo_msgs::msg::Track track;
  CHECK(track.id == -4);
  CHECK(track.name == "a track");
  CHECK(track.closed);
  CHECK(demo_msgs::msg::Track_Constants::SOME == 2);
  CHECK(demo_msgs::msg::Track_Constants::GREETING == "hello there");
  track.points.emplace_back();
  demo_msgs::msg::Track back;
  const auto json = there_and_back(track, back);
  CHECK(json["points"].dump() == R"([{"x":0.0,"y":1.5}])");
  CHECK(json["ends"].size() == 2);
  CHECK(back.points.at(0).y == 1.5);
}

}  // namespace spindrift
