// Writes back what ping writes, until that is gone.
#include <iostream>

#include <dds/dds.hpp>

#include "roundtrip.hpp"

using RoundTripModule::DataType;
using namespace dds::core::policy;

namespace {

class Returner : public dds::sub::NoOpDataReaderListener<DataType> {
 public:
  explicit Returner(const dds::pub::DataWriter<DataType>& writer) : writer_(writer) {}
  void on_data_available(dds::sub::DataReader<DataType>& reader) override {
    const dds::sub::LoanedSamples<DataType> samples = reader.take();
    for (dds::sub::LoanedSamples<DataType>::const_iterator sample = samples.begin(); sample < samples.end(); ++sample) {
      if (sample->info().valid()) writer_.write(sample->data(), sample->info().timestamp());
    }
  }

 private:
  dds::pub::DataWriter<DataType> writer_;
};

}  // namespace

int main() try {
  dds::domain::DomainParticipant participant(0);
  dds::topic::Topic<DataType> topic(
      participant, "RoundTrip", dds::topic::qos::TopicQos() << Reliability::Reliable(dds::core::Duration::from_secs(10)));
  dds::pub::Publisher publisher(participant, dds::pub::qos::PublisherQos() << Partition("pong"));
  dds::sub::Subscriber subscriber(participant, dds::sub::qos::SubscriberQos() << Partition("ping"));
  dds::pub::DataWriter<DataType> writer(publisher, topic, dds::pub::qos::DataWriterQos(topic.qos()));
  Returner listener(writer);
  dds::sub::DataReader<DataType> reader(subscriber, topic, dds::sub::qos::DataReaderQos(topic.qos()), &listener,
                                        dds::core::status::StatusMask::data_available());
  dds::core::cond::StatusCondition matched(reader);
  matched.enabled_statuses(dds::core::status::StatusMask::subscription_matched());
  dds::core::cond::WaitSet waitset;
  waitset += matched;
  for (;;) {
    const auto status = reader.subscription_matched_status();
    if (status.total_count() > 0 && status.current_count() == 0) break;
    waitset.wait(dds::core::Duration::from_secs(30));
  }
  reader.listener(nullptr, dds::core::status::StatusMask::none());
} catch (const dds::core::Exception& thrown) {
  std::cerr << thrown.what() << "\n";
  return 1;
}
