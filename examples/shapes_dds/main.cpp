// Publishes a shape that moves, or prints those that others publish, in the form of OMG's tests of interoperability.
#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <thread>

#include "options.hpp"
#include "shape.hpp"

namespace {

void publish(const ShapeOptions& options, const dds::domain::DomainParticipant& participant,
             const dds::topic::Topic<ShapeType>& topic) {
  dds::pub::qos::PublisherQos around;
  if (!options.partition.empty()) around << dds::core::policy::Partition(options.partition);
  dds::pub::Publisher publisher(participant, around);
  dds::pub::DataWriter<ShapeType> writer(publisher, topic, options.writer_qos);
  ShapeType shape{options.color.empty() ? "BLUE" : options.color, 0, 0, options.size, {}};
  shape.additional_payload_size.resize(static_cast<std::size_t>(options.payload));
  for (int written = 0; options.count == 0 || written < options.count; ++written) {
    shape.x = (shape.x + 5) % 240;
    shape.y = (shape.y + 3) % 270;
    writer.write(shape);
    std::printf("%-10s %-10s %03d %03d [%d]\n", options.topic.c_str(), shape.color.c_str(), shape.x, shape.y,
                shape.shapesize);
    std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::milliseconds(options.period_ms));
  }
  if (options.final_state == 'u') writer.unregister_instance(shape);
  if (options.final_state == 'd') writer.dispose_instance(shape);
  writer.wait_for_acknowledgments(dds::core::Duration::from_secs(10));
}

/// The colors of instances, whose end comes without data.
using Colors = std::map<dds::core::InstanceHandle, std::string>;

void print(const ShapeOptions& options, Colors& colors, const dds::sub::Sample<ShapeType>& sample) {
  using dds::sub::status::InstanceState;
  if (sample.info().valid()) {
    const ShapeType& shape = sample.data();
    colors[sample.info().instance_handle()] = shape.color;
    std::printf("%-10s %-10s %03d %03d [%d]\n", options.topic.c_str(), shape.color.c_str(), shape.x, shape.y,
                shape.shapesize);
  } else {
    const bool disposed = sample.info().state().instance_state() == InstanceState::not_alive_disposed();
    std::printf("%-10s %-10s %s\n", options.topic.c_str(), colors[sample.info().instance_handle()].c_str(),
                disposed ? "NOT_ALIVE_DISPOSED_INSTANCE_STATE" : "NOT_ALIVE_NO_WRITERS_INSTANCE_STATE");
  }
  std::fflush(stdout);
}

dds::sub::DataReader<ShapeType> reader_of(const ShapeOptions& options, const dds::domain::DomainParticipant& participant,
                                          const dds::topic::Topic<ShapeType>& topic) {
  dds::sub::qos::SubscriberQos around;
  if (!options.partition.empty()) around << dds::core::policy::Partition(options.partition);
  dds::sub::Subscriber subscriber(participant, around);
  if (options.color.empty()) return {subscriber, topic, options.reader_qos};
  // OMG's filter is a text, "color = 'RED'"; here it is a function.
  const dds::topic::ContentFilteredTopic<ShapeType> filtered(
      topic, "of one color", [color = options.color](const ShapeType& shape) { return shape.color == color; });
  return {subscriber, filtered, options.reader_qos};
}

void subscribe(const ShapeOptions& options, const dds::domain::DomainParticipant& participant,
               const dds::topic::Topic<ShapeType>& topic) {
  dds::sub::DataReader<ShapeType> reader = reader_of(options, participant, topic);
  dds::core::cond::WaitSet waitset;
  waitset += dds::sub::cond::ReadCondition(reader, dds::sub::status::DataState::any());
  Colors colors;
  for (int read = 0; options.count == 0 || read < options.count;) {
    waitset.wait();
    for (const auto& sample : reader.take()) {
      print(options, colors, sample);
      ++read;
    }
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const ShapeOptions options = options_of(argc, argv);
  dds::domain::DomainParticipant participant(options.domain);
  dds::topic::Topic<ShapeType> topic(participant, options.topic, options.topic_qos);
  options.publish ? publish(options, participant, topic) : subscribe(options, participant, topic);
} catch (const std::exception& thrown) {
  std::fprintf(stderr, "%s\n", thrown.what());
  return 1;
}
