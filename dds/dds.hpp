// Publish and subscribe in the shape of OMG's ISO C++ API: <dds/dds.hpp> is this.
//
//   struct Attitude { std::int64_t time; std::array<float, 4> rotation; };   // any aggregate
//
//   dds::domain::DomainParticipant participant(0);
//   dds::topic::Topic<Attitude> topic(participant, "vehicle_attitude");
//   dds::pub::DataWriter<Attitude> writer(dds::pub::Publisher(participant), topic);
//   dds::sub::DataReader<Attitude> reader(dds::sub::Subscriber(participant), topic);
//   writer.write(Attitude{1, {1, 0, 0, 0}});
//   for (const auto& sample : reader.take()) if (sample.info().valid()) use(sample.data());
#pragma once

#include <spindrift/dds/discovery.hpp>
#include <spindrift/dds/listeners.hpp>
#include <spindrift/dds/manipulators.hpp>
#include <spindrift/dds/pub.hpp>
#include <spindrift/dds/qos_provider.hpp>
#include <spindrift/dds/sub.hpp>
