// The types that participants of Cyclone DDS announce, as ours.
#pragma once

#include <memory>
#include <string>

#include <dds/dds.h>

#include <spindrift/dds/dynamic_type.hpp>

namespace spindrift::tools::bridge {

/// The type of which an endpoint tells; asks its participant for what is missing, for a second at most. Errors: unsupported:
/// we have no such type, or its samples have other bytes; timed_out: nobody answered.
[[nodiscard]] Result<std::shared_ptr<const topics::DynamicType>> type_of(dds_entity_t participant,
                                                                         const dds_typeinfo_t& told);

/// Errors: unsupported: one that is ours has no counterpart in IDL with the same bytes.
[[nodiscard]] Result<void> check_passes(const topics::DynamicType& type);

/// Nothing: samples of both have the same bytes, whatever they and their fields are called. Otherwise the reason.
[[nodiscard]] std::string difference(const topics::DynamicType& ours, const topics::DynamicType& theirs);

}  // namespace spindrift::tools::bridge
