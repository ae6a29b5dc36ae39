// Calls by the kind of a plain field with the C++ type that it is.
#pragma once

#include <type_traits>

#include <spindrift/dds/dynamic_type.hpp>

namespace spindrift::topics {

/// `use(std::type_identity<T>())` for the type of a plain kind.
template <class Use>
decltype(auto) with_plain(FieldKind kind, const Use& use) {
  switch (kind) {
    case FieldKind::boolean: return use(std::type_identity<bool>());
    case FieldKind::character: return use(std::type_identity<char>());
    case FieldKind::i8: return use(std::type_identity<std::int8_t>());
    case FieldKind::i16: return use(std::type_identity<std::int16_t>());
    case FieldKind::i32: return use(std::type_identity<std::int32_t>());
    case FieldKind::i64: return use(std::type_identity<std::int64_t>());
    case FieldKind::u16: return use(std::type_identity<std::uint16_t>());
    case FieldKind::u32: return use(std::type_identity<std::uint32_t>());
    case FieldKind::u64: return use(std::type_identity<std::uint64_t>());
    case FieldKind::f32: return use(std::type_identity<float>());
    case FieldKind::f64: return use(std::type_identity<double>());
    default: return use(std::type_identity<std::uint8_t>());
  }
}

}  // namespace spindrift::topics
