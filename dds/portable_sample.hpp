// Samples as files have them, for programs that are no participants: plain CDR of the type that `idl_of` describes,
// whatever the form in which they travel.
//
// It is CDR as OMG has it, version 1, with its four bytes of encapsulation. Where that has no form for something, or one
// that few read, another type of the same content takes its place: an optional is a sequence of at most one, a map a
// sequence of structs of a key and a value, an enum its integer. What holds nothing has no bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <spindrift/dds/dynamic_sample.hpp>

namespace spindrift::topics {

[[nodiscard]] std::vector<std::byte> portable_bytes(const DynamicSample& sample);
/// The sample that has these bytes. So many more may be behind it, as writers have them that fill up words. Errors:
/// bad_input.
[[nodiscard]] Result<DynamicSample> from_portable_bytes(std::shared_ptr<const DynamicType> type,
                                                        std::span<const std::byte> bytes, std::size_t padding_max = 0);

enum class ByteOrder : std::uint8_t { little, big };
/// The keys alone of a sample of these bytes, in the order of the type's fields: an aggregate of its own, which is what
/// DDS has of an instance whose sample is gone. Without keys it has no fields. Errors: bad_input.
[[nodiscard]] Result<std::vector<std::byte>> portable_key(const DynamicType& type, std::span<const std::byte> bytes,
                                                          ByteOrder order = ByteOrder::little);
/// A sample of those keys, whose other fields are zero or empty. Errors: bad_input.
[[nodiscard]] Result<DynamicSample> from_portable_key(std::shared_ptr<const DynamicType> type,
                                                      std::span<const std::byte> key, std::size_t padding_max = 0);

}  // namespace spindrift::topics
