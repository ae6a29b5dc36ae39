// A participant of one: a typed sample goes out and comes back, with the includes and the link line of a DDS user.
#include <dds/dds.hpp>
#include <dds/sub/ddssub.hpp>

#include <array>
#include <filesystem>
#include <iostream>
#include <string>

#include <stdlib.h>

struct Attitude {
  std::int64_t time;
  std::array<float, 4> rotation;
  std::string frame;
};

int main() {
  std::string directory = (std::filesystem::temp_directory_path() / "spindrift-hello-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) return 1;
  ::setenv("SPINDRIFT_RUNTIME_DIRECTORY", directory.c_str(), 1);
  bool came = false;
  {
    dds::domain::DomainParticipant participant(0);
    dds::topic::Topic<Attitude> topic(participant, "vehicle_attitude");
    dds::sub::DataReader<Attitude> reader(dds::sub::Subscriber(participant), topic);
    dds::pub::DataWriter<Attitude> writer(dds::pub::Publisher(participant), topic);
    writer.write({1, {1, 0, 0, 0}, "body"});
    writer.wait_for_acknowledgments(dds::core::Duration::from_secs(20));
    for (const auto& sample : reader.take()) came = came || (sample.info().valid() && sample.data().frame == "body");
  }
  std::filesystem::remove_all(directory);
  std::cout << (came ? "the sample came back" : "no sample came") << '\n';
  return came ? 0 : 1;
}
