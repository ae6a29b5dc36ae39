// Takes what the publisher writes until that is gone, and prints how much came, how fast, and how many were missing.
#include <chrono>
#include <iostream>

#include <dds/dds.hpp>

#include "throughput.hpp"

using ThroughputModule::DataType;
using namespace dds::core::policy;

int main() try {
  dds::domain::DomainParticipant participant(0);
  dds::topic::Topic<DataType> topic(participant, "Throughput",
                                    dds::topic::qos::TopicQos()
                                        << Reliability::Reliable(dds::core::Duration::from_secs(10)) << History::KeepAll());
  dds::sub::Subscriber subscriber(participant, dds::sub::qos::SubscriberQos() << Partition("Throughput example"));
  dds::sub::qos::DataReaderQos qos(topic.qos());
  qos << ResourceLimits(4000, LENGTH_UNLIMITED, LENGTH_UNLIMITED);
  dds::sub::DataReader<DataType> reader(subscriber, topic, qos);

  dds::core::cond::StatusCondition matched(reader);
  matched.enabled_statuses(dds::core::status::StatusMask::subscription_matched());
  dds::core::cond::WaitSet waitset;
  waitset += matched;
  waitset += dds::sub::cond::ReadCondition(reader, dds::sub::status::DataState::any());
  std::uint64_t samples = 0, bytes = 0, missing = 0;
  std::chrono::steady_clock::time_point first, last;
  for (bool over = false; !over;) {
    waitset.wait(dds::core::Duration::from_secs(30));
    const auto status = reader.subscription_matched_status();
    over = status.total_count() > 0 && status.current_count() == 0;
    for (const auto& sample : reader.take()) {
      if (!sample.info().valid()) continue;
      last = std::chrono::steady_clock::now();
      if (samples == 0) first = last;
      missing += sample.data().count == samples + missing ? 0 : sample.data().count - samples - missing;
      bytes += sample.data().payload.size();
      ++samples;
    }
  }
  const double seconds = std::chrono::duration<double>(last - first).count();
  std::cout << samples << " samples, " << missing << " missing, " << bytes << " bytes";
  if (seconds > 0) std::cout << ", " << static_cast<double>(bytes) * 8 / seconds / 1e6 << " Mbit/s";
  std::cout << "\n";
} catch (const dds::core::Exception& thrown) {
  std::cerr << thrown.what() << "\n";
  return 1;
}
