// The options of shapes_dds, which are named as those of OMG's shape_main.
#pragma once

#include <cstdint>
#include <string>

#include <dds/dds.hpp>

struct ShapeOptions {
  bool publish = false;
  std::uint32_t domain = 0;
  std::string topic = "Square";
  std::string color;  ///< of what is published, BLUE where none is given; of what is subscribed, empty: all
  int count = 0;      ///< samples after which it ends; 0: when it is killed
  int period_ms = 33;
  int size = 20;
  int payload = 0;
  char final_state = 0;  ///< u: unregistered, d: disposed of
  std::string partition;
  dds::topic::qos::TopicQos topic_qos;
  dds::pub::qos::DataWriterQos writer_qos;
  dds::sub::qos::DataReaderQos reader_qos;
};

/// Throws std::invalid_argument with the usage.
ShapeOptions options_of(int argc, char** argv);
