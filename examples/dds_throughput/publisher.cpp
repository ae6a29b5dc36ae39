// Writes samples as fast as readers take them: throughput_publisher [BYTES [COUNT]].
#include <cstdlib>
#include <iostream>

#include <dds/dds.hpp>

#include "throughput.hpp"

using ThroughputModule::DataType;
using namespace dds::core::policy;

int main(int argc, char** argv) try {
  const std::size_t bytes = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1024;
  const std::uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100000;
  dds::domain::DomainParticipant participant(0);
  dds::topic::Topic<DataType> topic(participant, "Throughput",
                                    dds::topic::qos::TopicQos()
                                        << Reliability::Reliable(dds::core::Duration::from_secs(10)) << History::KeepAll());
  dds::pub::Publisher publisher(participant, dds::pub::qos::PublisherQos() << Partition("Throughput example"));
  dds::pub::DataWriter<DataType> writer(publisher, topic, dds::pub::qos::DataWriterQos(topic.qos()));

  dds::core::cond::StatusCondition matched(writer);
  matched.enabled_statuses(dds::core::status::StatusMask::publication_matched());
  dds::core::cond::WaitSet waitset;
  waitset += matched;
  while (writer.publication_matched_status().current_count() == 0) waitset.wait(dds::core::Duration::from_secs(30));

  DataType sample{0, std::vector<std::uint8_t>(bytes, 'a')};
  for (; sample.count < count; ++sample.count) writer << sample;
  writer.wait_for_acknowledgments(dds::core::Duration::from_secs(30));
  std::cout << "wrote " << count << " samples\n";
} catch (const dds::core::Exception& thrown) {
  std::cerr << thrown.what() << "\n";
  return 1;
}
