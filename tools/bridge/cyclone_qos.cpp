// One function for each direction; what they leave out is said.
#include "cyclone_qos.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace spindrift::tools::bridge {
namespace {

using topics::EndpointQos;

constexpr std::uint8_t volatile_kind = 0, transient_local = 1, reliable = 1;

std::int64_t length_of(dds_duration_t length) { return length == DDS_INFINITY ? topics::endless : length; }

CycloneQos made_of(const EndpointQos& of) {
  CycloneQos qos(dds_create_qos());
  dds_qset_reliability(qos.get(), of.reliability == reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT,
                       try_for);
  dds_qset_ownership(qos.get(), of.ownership == 1 ? DDS_OWNERSHIP_EXCLUSIVE : DDS_OWNERSHIP_SHARED);
  dds_qset_ignorelocal(qos.get(), DDS_IGNORELOCAL_PARTICIPANT);
  const dds_data_representation_id_t form = DDS_DATA_REPRESENTATION_XCDR1;
  dds_qset_data_representation(qos.get(), 1, &form);
  if (of.reliability == reliable) {
    dds_qset_history(qos.get(), DDS_HISTORY_KEEP_ALL, DDS_LENGTH_UNLIMITED);
    dds_qset_resource_limits(qos.get(), waiting_max, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED);
  } else {
    dds_qset_history(qos.get(), DDS_HISTORY_KEEP_LAST, waiting_of_instance);
  }
  return qos;
}

}  // namespace

EndpointQos qos_of(const dds_qos_t& qos) {
  EndpointQos made;
  dds_reliability_kind_t reliability{};
  dds_durability_kind_t durability{};
  dds_ownership_kind_t ownership{};
  dds_history_kind_t history{}, service_history{};
  dds_duration_t length = 0;
  dds_liveliness_kind_t liveliness{};
  if (dds_qget_reliability(&qos, &reliability, &length)) made.reliability = reliability == DDS_RELIABILITY_RELIABLE ? 1 : 0;
  if (dds_qget_durability(&qos, &durability)) made.durability = static_cast<std::uint8_t>(durability);
  if (dds_qget_ownership(&qos, &ownership)) made.ownership = ownership == DDS_OWNERSHIP_EXCLUSIVE ? 1 : 0;
  std::int32_t depth = 1;
  if (dds_qget_history(&qos, &history, &depth)) {
    made.kept.history = history == DDS_HISTORY_KEEP_ALL ? 1 : 0;
    made.kept.depth = std::max(depth, 1);
  }
  if (dds_qget_durability_service(&qos, nullptr, &service_history, &depth, nullptr, nullptr, nullptr))
    made.kept.service_depth = service_history == DDS_HISTORY_KEEP_ALL ? waiting_max : std::max(depth, 1);
  if (dds_qget_deadline(&qos, &length)) made.times.deadline = length_of(length);
  if (dds_qget_lifespan(&qos, &length)) made.times.lifespan = length_of(length);
  if (dds_qget_liveliness(&qos, &liveliness, &length)) {
    made.liveliness = static_cast<std::uint8_t>(liveliness);
    made.times.lease = length_of(length);
  }
  std::uint32_t count = 0;
  char** names = nullptr;
  if (dds_qget_partition(&qos, &count, &names)) {
    for (std::uint32_t each = 0; each < count; ++each) {
      made.partitions.emplace_back(names[each]);
      dds_free(names[each]);
    }
    dds_free(names);
  }
  return made;
}

std::string left_out(const EndpointQos& qos) {
  std::string all;
  const auto add = [&](const std::string& what) { all += (all.empty() ? "" : ", ") + what; };
  const auto add_time = [&](const char* name, std::int64_t length) {
    if (length != topics::endless) add(fmt::format("{} {} ms", name, length / 1'000'000));
  };
  add_time("Deadline", qos.times.deadline);
  add_time("Lifespan", qos.times.lifespan);
  add_time("the lease of Liveliness", qos.times.lease);
  for (const std::string& each : qos.partitions) {
    if (!each.empty()) add("Partition " + each);
  }
  return all;
}

EndpointQos least(const EndpointQos& some, const EndpointQos& others) {
  EndpointQos made = some;
  made.reliability = std::min(some.reliability, others.reliability);
  made.durability = std::min(some.durability, others.durability);
  made.kept.depth = std::max(some.kept.depth, others.kept.depth);
  made.kept.service_depth = std::max(some.kept.service_depth, others.kept.service_depth);
  return made;
}

std::string words_of(const EndpointQos& qos) {
  const std::string reliability = topics::reliability_names.at(qos.reliability);
  const std::string durability = topics::durability_names.at(qos.durability);
  if (qos.durability == volatile_kind) return reliability + ", " + durability;
  const auto depth = qos.durability == transient_local ? qos.kept.depth : qos.kept.service_depth;
  return fmt::format("{}, {} of the last {}", reliability, durability, depth);
}

CycloneQos reader_qos(const EndpointQos& of) {
  CycloneQos qos = made_of(of);
  const bool keeps = of.durability >= transient_local && of.reliability == reliable;
  dds_qset_durability(qos.get(), keeps ? DDS_DURABILITY_TRANSIENT_LOCAL : DDS_DURABILITY_VOLATILE);
  dds_qset_partition1(qos.get(), "*");
  return qos;
}

CycloneQos writer_qos(const EndpointQos& of) {
  CycloneQos qos = made_of(of);
  dds_qset_writer_data_lifecycle(qos.get(), false);  // the bridge's end is that of no instance
  if (of.durability == volatile_kind) return qos;
  const std::int32_t depth = of.durability == transient_local ? of.kept.depth : of.kept.service_depth;
  dds_qset_durability(qos.get(), DDS_DURABILITY_TRANSIENT_LOCAL);
  dds_qset_durability_service(qos.get(), 0, DDS_HISTORY_KEEP_LAST, depth, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED,
                              DDS_LENGTH_UNLIMITED);
  return qos;
}

}  // namespace spindrift::tools::bridge
