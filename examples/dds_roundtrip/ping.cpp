// Writes a sample, waits until pong has written it back, and prints how long that took: roundtrip_ping [BYTES [COUNT]].
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <vector>

#include <dds/dds.hpp>

#include "roundtrip.hpp"

using RoundTripModule::DataType;
using namespace dds::core::policy;

int main(int argc, char** argv) try {
  const std::size_t bytes = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100;
  const std::size_t count = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1000;
  dds::domain::DomainParticipant participant(0);
  dds::topic::Topic<DataType> topic(
      participant, "RoundTrip", dds::topic::qos::TopicQos() << Reliability::Reliable(dds::core::Duration::from_secs(10)));
  dds::pub::Publisher publisher(participant, dds::pub::qos::PublisherQos() << Partition("ping"));
  dds::sub::Subscriber subscriber(participant, dds::sub::qos::SubscriberQos() << Partition("pong"));
  dds::pub::DataWriter<DataType> writer(publisher, topic, dds::pub::qos::DataWriterQos(topic.qos()));
  dds::sub::DataReader<DataType> reader(subscriber, topic, dds::sub::qos::DataReaderQos(topic.qos()));

  dds::core::cond::StatusCondition reads(reader), writes(writer);
  reads.enabled_statuses(dds::core::status::StatusMask::subscription_matched());
  writes.enabled_statuses(dds::core::status::StatusMask::publication_matched());
  dds::core::cond::WaitSet matching, coming;
  matching += reads;
  matching += writes;
  while (reader.subscription_matched_status().current_count() == 0 ||
         writer.publication_matched_status().current_count() == 0)
    matching.wait(dds::core::Duration::from_secs(30));
  coming += dds::sub::cond::ReadCondition(reader, dds::sub::status::DataState::new_data());

  std::vector<double> microseconds;
  const DataType sample{std::vector<std::uint8_t>(bytes, 'a')};
  for (std::size_t trip = 0; trip < count; ++trip) {
    const auto begin = std::chrono::steady_clock::now();
    writer.write(sample);
    std::size_t back = 0;
    while (back == 0) {
      coming.wait(dds::core::Duration::from_secs(30));
      back = reader.take().length();
    }
    microseconds.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(microseconds.begin(), microseconds.end());
  std::cout << count << " round trips of " << bytes << " bytes: median " << microseconds[count / 2]
            << " us, 99th percentile " << microseconds[count * 99 / 100] << " us\n";
} catch (const dds::core::Exception& thrown) {
  std::cerr << thrown.what() << "\n";
  return 1;
}
