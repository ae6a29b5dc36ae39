// The ways in which samples are written and read: in place, as loans, into iterators, by conditions and instances.
#include <catch2/catch.hpp>

#include <iterator>
#include <list>

#include "dds_fixture.hpp"

using namespace spindrift::test;
using namespace dds::core::policy;
using Catch::Matchers::Contains;
using dds::core::Duration;
using dds::core::InstanceHandle;
using dds::domain::DomainParticipant;
using dds::pub::DataWriter;
using dds::pub::Publisher;
using dds::sub::DataReader;
using dds::sub::Sample;
using dds::sub::Subscriber;
using dds::sub::status::DataState;
using dds::topic::Topic;

namespace {

/// A participant with one topic, its writer and its reader.
struct Readings {
  Domain domain{};
  DomainParticipant participant{0};
  Topic<Reading> topic{participant, "readings"};
  DataWriter<Reading> writer{Publisher(participant), topic};
  DataReader<Reading> reader{Subscriber(participant), topic, all_of()};

  void write(std::int32_t sensor, std::int64_t value) { writer.write({sensor, value}); }
  void settle() { writer.wait_for_acknowledgments(Duration::from_secs(20)); }
};

using Values = std::vector<std::int64_t>;
template <class Samples>
Values values(const Samples& samples) {
  Values all;
  for (const Sample<Reading>& each : samples) all.push_back(each.data().value);
  return all;
}

}  // namespace

TEST_CASE("a sample that is made in place begins empty, has its instance, and is not sent where making it fails") {
  Readings of;
  of.writer.write_in_place([](Reading& sample) {
    CHECK(sample.value == 0);
    sample = {3, 30};
  });
  CHECK_THROWS_AS(of.writer.write_in_place([](Reading&) { throw std::runtime_error("no"); }), std::runtime_error);
  of.writer.write_in_place([](Reading& sample) { sample = {4, 40}; });
  const auto taken = take(of.reader, 2);
  CHECK(values(taken) == Values{30, 40});
  CHECK(taken.at(0).info().instance_handle() == of.writer.lookup_instance({3, 0}));
  Reading key{};
  CHECK(of.writer.key_value(key, taken.at(1).info().instance_handle()).sensor == 4);
  CHECK(key.sensor == 4);
  CHECK_THROWS_AS(of.writer.key_value(key, InstanceHandle::nil()), dds::core::PreconditionNotMetError);
  of.writer.dispose_instance(taken.at(0).info().instance_handle());
  of.settle();
  CHECK(of.reader.select().instance(taken.at(0).info().instance_handle()).read().length() == 1);
}

TEST_CASE("a loan is filled, written once, and over then") {
  Readings of;
  auto loan = of.writer.loan_sample();
  CHECK(loan->value == 0);
  loan->sensor = 5;
  (*loan).value = 50;
  of.writer.write(std::move(loan));
  CHECK(values(take(of.reader, 1)) == Values{50});
  CHECK_THAT(words_of<dds::core::InvalidArgumentError>([&] { of.writer.write(std::move(loan)); }),
             Contains("the loan is over"));
}

TEST_CASE("samples are read and taken into memory that is there, at most so much, and by inserters") {
  Readings of;
  for (std::int64_t value : {1, 2, 3}) of.write(1, value);
  of.settle();
  std::vector<Sample<Reading>> two(2);
  CHECK_FALSE(two[0].info().valid());
  CHECK(of.reader.read(two.begin(), 2) == 2);
  CHECK(values(two) == Values{1, 2});
  std::list<Sample<Reading>> all;
  CHECK(of.reader.read(std::back_inserter(all)) == 3);
  CHECK(values(all) == Values{1, 2, 3});
  CHECK(of.reader.select().state(DataState(dds::sub::status::SampleState::not_read())).take(std::back_inserter(all)) == 0);
  CHECK(of.reader.take(two.begin(), 1) == 1);
  CHECK(of.reader.select().take(two.begin(), 2) == 2);
  CHECK(values(two) == Values{2, 3});
  CHECK(of.reader.take(std::back_inserter(all)) == 0);
}

TEST_CASE("the samples of a condition are those for which it holds, and it is of one reader") {
  Readings of;
  const dds::sub::cond::QueryCondition large(of.reader, [](const Reading& each) { return each.value > 1; },
                                             DataState(dds::sub::status::SampleState::not_read()));
  for (std::int64_t value : {1, 2, 3}) of.write(1, value);
  of.settle();
  CHECK(of.reader.select().max_samples(1).condition(large).read().length() == 1);
  CHECK(values(of.reader.read_w_condition(large)) == Values{3});
  CHECK(of.reader.take_w_condition(large).length() == 0);
  const dds::sub::cond::ReadCondition any(of.reader, DataState::any());
  CHECK(values(of.reader.take_w_condition(any)) == Values{1, 2, 3});
  DataReader<Reading> other(Subscriber(of.participant), of.topic, all_of());
  CHECK_THROWS_AS(other.read_w_condition(any), dds::core::PreconditionNotMetError);
}

TEST_CASE("instances are gone through one behind the other, each once, and those without such samples are passed over") {
  Readings of;
  for (std::int32_t sensor : {1, 2, 3, 4}) of.write(sensor, sensor * 10);
  of.settle();
  CHECK(of.reader.select().instance(of.writer.lookup_instance({2, 0})).take().length() == 1);
  Values seen;
  InstanceHandle last = InstanceHandle::nil();
  for (;;) {
    const auto next = of.reader.select().next_instance(last).read();
    if (next.length() == 0) break;
    REQUIRE(next.length() == 1);
    seen.push_back(next[0].data().value);
    last = next[0].info().instance_handle();
  }
  std::sort(seen.begin(), seen.end());
  CHECK(seen == Values{10, 30, 40});
}
