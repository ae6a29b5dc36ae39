// A type of samples as OMG's IDL, for programs that read what `portable_bytes` makes of its samples.
#pragma once

#include <string>

#include <spindrift/dds/dynamic_type.hpp>

namespace spindrift::topics {

struct TypeIdl {
  std::string name;  ///< of the struct that a sample is, with its modules: "sensors::Reading"
  std::string text;  ///< all declarations that it needs, each before its use
};

/// Names are the type's, where IDL allows them. What a sequence is of that IDL has no name for is a struct around it, which
/// has no bytes of its own; fields that hold nothing are left out.
[[nodiscard]] TypeIdl idl_of(const DynamicType& type);

}  // namespace spindrift::topics
