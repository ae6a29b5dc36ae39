// Reads greetings and prints them: hello_subscriber [COUNT].
#include <cstdlib>
#include <iostream>

#include <dds/dds.hpp>

#include "greeting.hpp"

int main(int argc, char** argv) try {
  const int count = argc > 1 ? std::atoi(argv[1]) : 10;
  dds::domain::DomainParticipant participant(0);
  dds::topic::Topic<Greeting> topic(participant, "greetings");
  dds::sub::Subscriber subscriber(participant);
  dds::sub::qos::DataReaderQos qos;
  qos << dds::core::policy::Reliability::Reliable() << dds::core::policy::History::KeepAll();
  dds::sub::DataReader<Greeting> reader(subscriber, topic, qos);

  dds::sub::cond::ReadCondition unread(reader, dds::sub::status::DataState::any());
  dds::core::cond::WaitSet waitset;
  waitset += unread;
  for (int read = 0; read < count;) {
    waitset.wait(dds::core::Duration::from_secs(30));
    for (const auto& sample : reader.take()) {
      if (!sample.info().valid()) continue;
      std::cout << sample.data().number << ": " << sample.data().text << std::endl;
      ++read;
    }
  }
} catch (const dds::core::Exception& thrown) {
  std::cerr << thrown.what() << "\n";
  return 1;
}
