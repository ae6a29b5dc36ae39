// Qualities of endpoints, from Cyclone DDS's to ours and back.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <dds/dds.h>

#include <spindrift/dds/dynamic_type.hpp>

namespace spindrift::tools::bridge {

struct DeleteQos {
  void operator()(dds_qos_t* qos) const { dds_delete_qos(qos); }
};
using CycloneQos = std::unique_ptr<dds_qos_t, DeleteQos>;

[[nodiscard]] topics::EndpointQos qos_of(const dds_qos_t& qos);
/// The policies of an endpoint that a mirror does not take over, as people write them: "Deadline 100 ms, Partition a".
[[nodiscard]] std::string left_out(const topics::EndpointQos& qos);
/// The most that all of these writers offer: a reader that asks for it matches each of them.
[[nodiscard]] topics::EndpointQos least(const topics::EndpointQos& some, const topics::EndpointQos& others);
/// "RELIABLE, TRANSIENT_LOCAL of the last 10".
[[nodiscard]] std::string words_of(const topics::EndpointQos& qos);

/// So many samples of a RELIABLE mirror wait in each direction, and the writer behind them.
inline constexpr std::int32_t waiting_max = 256;
/// So many of each instance where it is BEST_EFFORT, of which the oldest are dropped.
inline constexpr std::int32_t waiting_of_instance = 64;
/// How long one try of a write takes.
inline constexpr dds_duration_t try_for = DDS_MSECS(200);

/// For a reader of what such writers write, whatever their partitions.
[[nodiscard]] CycloneQos reader_qos(const topics::EndpointQos& of);
/// For a writer of what such a topic has. For late joiners it is TRANSIENT_LOCAL, for Cyclone DDS keeps nothing otherwise.
[[nodiscard]] CycloneQos writer_qos(const topics::EndpointQos& of);

}  // namespace spindrift::tools::bridge
