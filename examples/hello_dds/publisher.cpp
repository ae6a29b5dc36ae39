// Writes greetings until a reader has taken note of them: hello_publisher [COUNT].
#include <cstdlib>
#include <iostream>
#include <string>

#include <dds/dds.hpp>

#include "greeting.hpp"

int main(int argc, char** argv) try {
  const int count = argc > 1 ? std::atoi(argv[1]) : 10;
  dds::domain::DomainParticipant participant(0);
  dds::topic::Topic<Greeting> topic(participant, "greetings");
  dds::pub::Publisher publisher(participant);
  dds::pub::qos::DataWriterQos qos;
  qos << dds::core::policy::Reliability::Reliable(dds::core::Duration::from_secs(10));
  dds::pub::DataWriter<Greeting> writer(publisher, topic, qos);

  // Until somebody reads.
  dds::core::cond::StatusCondition matched(writer);
  matched.enabled_statuses(dds::core::status::StatusMask::publication_matched());
  dds::core::cond::WaitSet waitset;
  waitset.attach_condition(matched);
  while (writer.publication_matched_status().current_count() == 0) waitset.wait(dds::core::Duration::from_secs(30));

  for (int number = 0; number < count; ++number) writer.write(Greeting{number, "hello, world"});
  writer.wait_for_acknowledgments(dds::core::Duration::from_secs(10));
  std::cout << "wrote " << count << " greetings\n";
} catch (const dds::core::Exception& thrown) {
  std::cerr << thrown.what() << "\n";
  return 1;
}
