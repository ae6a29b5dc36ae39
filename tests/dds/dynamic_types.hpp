// Dynamic types for tests: by their description, or by a C++ type; and the bytes of a sample.
#pragma once

#include <catch2/catch.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/dds/dynamic_type.hpp>
#include <spindrift/dds/type_support.hpp>

namespace spindrift::topics {

inline std::shared_ptr<const DynamicType> type_of(const std::string& description) {
  auto type = DynamicType::parse(description);
  if (!type) FAIL(type.error().to_string());
  return std::make_shared<const DynamicType>(std::move(type).value());
}
/// As participants announce it: with the names of its fields, if it has them.
template <class T>
std::shared_ptr<const DynamicType> dynamic_of() {
  const TypeSupport& support = type_support<T>();
  return type_of(support.named.empty() ? support.description : support.named);
}
template <class T>
std::vector<std::byte> encoded(const T& value) {
  return with_encoded(value, [](std::span<const std::byte> bytes) { return std::vector(bytes.begin(), bytes.end()); });
}

}  // namespace spindrift::topics
