// Behaviors that OMG's tests of interoperability ask of each pair of implementations, of this one with itself: those that no
// other test here has. The table in docs/dds.md says which test has which.
#include <catch2/catch.hpp>

#include <map>

#include "dds_fixture.hpp"

using namespace spindrift::test;
using namespace dds::core::policy;
using dds::core::Duration;
using dds::domain::DomainParticipant;
using dds::pub::DataWriter;
using dds::pub::Publisher;
using dds::sub::DataReader;
using dds::sub::Subscriber;
using dds::sub::status::InstanceState;
using dds::topic::Topic;

namespace shapes {

struct Shape {
  std::string color;
  std::int32_t x;
  std::int32_t y;
  std::int32_t size;
  std::vector<std::uint8_t> more;
};

}  // namespace shapes

template <>
struct dds::topic::topic_key<shapes::Shape> {
  using type = key_fields<&shapes::Shape::color>;
};

namespace {

using shapes::Shape;

Shape shape(const std::string& color, std::int32_t x) { return {color, x, 2 * x, 20, {}}; }

/// Waits until the instance of that color is in that state.
void await_state(DataReader<Shape>& reader, const std::string& color, const InstanceState& state) {
  dds::core::cond::WaitSet waitset;
  waitset += dds::sub::cond::ReadCondition(reader, dds::sub::status::DataState() << state);
  for (;;) {
    for (const auto& each : reader.select().state(dds::sub::status::DataState() << state).read()) {
      Shape key;
      reader.key_value(key, each.info().instance_handle());
      if (key.color == color) return;
    }
    waitset.wait(Duration::from_secs(20));
  }
}

}  // namespace

TEST_CASE("domains are apart, and so are topics of one type with other names") {
  const Domain domain;
  const DomainParticipant zero(0), one(1);
  const Topic<Shape> squares(zero, "Square"), circles(zero, "Circle"), elsewhere(one, "Square");
  DataReader<Shape> reader(Subscriber(zero), squares, all_of()), of_circles(Subscriber(zero), circles, all_of()),
      of_other(Subscriber(one), elsewhere, all_of());
  DataWriter<Shape> writer(Publisher(zero), squares), last(Publisher(one), elsewhere);
  writer.write(shape("BLUE", 1));
  last.write(shape("RED", 2));
  CHECK(take(reader, 1).at(0).data().color == "BLUE");
  CHECK(take(of_other, 1).at(0).data().color == "RED");
  writer.wait_for_acknowledgments(Duration::from_secs(20));
  CHECK(of_circles.take().length() == 0);
  CHECK(reader.subscription_matched_status().total_count() == 1);
  CHECK(of_circles.subscription_matched_status().total_count() == 0);
  CHECK(of_other.subscription_matched_status().total_count() == 1);
}

TEST_CASE(
    "a writer and a reader match whoever is there first, and a reader that asks for less than it is offered gets all") {
  const Domain domain;
  const DomainParticipant one(0), other(0);
  const Topic<Shape> here(one, "Square"), there(other, "Square");
  DataReader<Shape> early(Subscriber(other), there, all_of());
  DataWriter<Shape> writer(Publisher(one), here);
  DataReader<Shape> late(Subscriber(other), there,
                         dds::sub::qos::DataReaderQos() << Reliability::BestEffort() << History::KeepAll());
  await(writer, [&] { return writer.publication_matched_status().current_count() == 2; });
  for (std::int32_t x = 0; x < 50; ++x) writer.write(shape("BLUE", x));
  for (DataReader<Shape>* const reader : {&early, &late}) {
    const auto taken = take(*reader, 50);
    for (std::int32_t x = 0; x < 50; ++x) CHECK(taken[static_cast<std::size_t>(x)].data().x == x);
  }
}

TEST_CASE("each color is an instance with a history of its own, of as many as the reader keeps") {
  const Domain domain;
  const DomainParticipant one(0), other(0);
  const Topic<Shape> here(one, "Square"), there(other, "Square");
  DataReader<Shape> last_three(Subscriber(other), there, dds::sub::qos::DataReaderQos() << History::KeepLast(3)),
      all(Subscriber(other), there, all_of());
  DataWriter<Shape> writer(Publisher(one), here);
  for (std::int32_t x = 0; x < 10; ++x) {
    for (const char* const color : {"BLUE", "RED", "GREEN"}) writer.write(shape(color, x));
  }
  CHECK(take(all, 30).size() == 30);
  const auto kept = last_three.take();
  REQUIRE(kept.length() == 9);
  for (const auto& each : kept) CHECK(each.data().x >= 7);
  CHECK(kept[0].info().instance_handle() != kept[1].info().instance_handle());
}

TEST_CASE("a late reader of VOLATILE samples gets those that follow, and one of TRANSIENT_LOCAL also the last before it") {
  const Domain domain;
  const DomainParticipant one(0);
  const Topic<Shape> here(one, "Square");
  DataWriter<Shape> writer(Publisher(one), here,
                           dds::pub::qos::DataWriterQos() << Durability::TransientLocal() << History::KeepLast(2));
  for (std::int32_t x = 0; x < 5; ++x) writer.write(shape("BLUE", x));
  const DomainParticipant other(0);
  const Topic<Shape> there(other, "Square");
  DataReader<Shape> fresh(Subscriber(other), there, all_of()),
      kept(Subscriber(other), there, all_of() << Durability::TransientLocal());
  await(writer, [&] { return writer.publication_matched_status().current_count() == 2; });
  writer.write(shape("BLUE", 5));
  CHECK(take(fresh, 1).at(0).data().x == 5);
  const auto taken = take(kept, 3);
  for (std::size_t each = 0; each < 3; ++each) CHECK(taken[each].data().x == static_cast<std::int32_t>(3 + each));
}

TEST_CASE("of exclusive writers of a color the strongest is heard, and when it is gone the next, while others own theirs") {
  const Domain domain;
  const DomainParticipant one(0), other(0);
  const Topic<Shape> here(one, "Square"), there(other, "Square");
  DataReader<Shape> reader(Subscriber(other), there, all_of() << Ownership::Exclusive());
  const auto strong = [](std::int32_t strength) {
    return dds::pub::qos::DataWriterQos() << Ownership::Exclusive() << OwnershipStrength(strength);
  };
  DataWriter<Shape> weak(Publisher(one), here, strong(3));
  {
    DataWriter<Shape> stronger(Publisher(one), here, strong(4));
    stronger.write(shape("BLUE", 1));
    weak.write(shape("BLUE", 2));
    weak.write(shape("RED", 3));
    stronger.write(shape("BLUE", 4));
    const auto taken = take(reader, 3);
    CHECK(taken[0].data().x == 1);
    CHECK(taken[1].data().color == "RED");
    CHECK(taken[2].data().x == 4);
  }
  await(reader, [&] { return reader.subscription_matched_status().current_count() == 1; });
  weak.write(shape("BLUE", 5));
  CHECK(take(reader, 1).at(0).data().x == 5);
}

TEST_CASE("the last state of an instance is what its writers did: let go of it, disposed of it, or ended") {
  const Domain domain;
  const DomainParticipant one(0), other(0);
  const Topic<Shape> here(one, "Square"), there(other, "Square");
  DataReader<Shape> reader(Subscriber(other), there, all_of());
  const auto keeping = dds::pub::qos::DataWriterQos() << WriterDataLifecycle::ManuallyDisposeUnregisteredInstances();
  DataWriter<Shape> writer(Publisher(one), here, keeping);
  writer.write(shape("BLUE", 1));
  writer.write(shape("RED", 1));
  writer.unregister_instance(shape("BLUE", 1));
  writer.dispose_instance(shape("RED", 1));
  await_state(reader, "BLUE", InstanceState::not_alive_no_writers());
  await_state(reader, "RED", InstanceState::not_alive_disposed());
  { DataWriter<Shape>(Publisher(one), here, keeping).write(shape("GREEN", 1)); }
  await_state(reader, "GREEN", InstanceState::not_alive_no_writers());
  { DataWriter<Shape>(Publisher(one), here).write(shape("YELLOW", 1)); }
  await_state(reader, "YELLOW", InstanceState::not_alive_disposed());
  writer.write(shape("RED", 2));  // it lives again
  await_state(reader, "RED", InstanceState::alive());
}

TEST_CASE("large samples of several writers come whole, those of each in its order") {
  const Domain domain;
  const DomainParticipant one(0), other(0);
  const Topic<Shape> here(one, "Square"), there(other, "Square");
  DataReader<Shape> reader(Subscriber(other), there, all_of());
  // A machine without time for the receivers holds up the writers.
  const auto patient = dds::pub::qos::DataWriterQos() << Reliability::Reliable(Duration::from_secs(20));
  DataWriter<Shape> blue(Publisher(one), here, patient), red(Publisher(other), there, patient);
  const auto large = [](const std::string& color, std::int32_t x) {
    Shape made = shape(color, x);
    made.more.assign(200'000, static_cast<std::uint8_t>(x));
    return made;
  };
  std::thread beside([&] {
    for (std::int32_t x = 0; x < 20; ++x) red.write(large("RED", x));
  });
  for (std::int32_t x = 0; x < 20; ++x) blue.write(large("BLUE", x));
  beside.join();
  std::map<std::string, std::int32_t> next;
  for (const auto& each : take(reader, 40)) {
    CHECK(each.data().x == next[each.data().color]++);
    CHECK(each.data().more == large("", each.data().x).more);
  }
}
