// The type that all demonstrations of DDS draw: a shape of some color, which is its key.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dds/dds.hpp>

struct ShapeType {
  std::string color;
  std::int32_t x;
  std::int32_t y;
  std::int32_t shapesize;
  std::vector<std::uint8_t> additional_payload_size;  // as many bytes as somebody asks for
};

template <>
struct dds::topic::topic_key<ShapeType> {
  using type = key_fields<&ShapeType::color>;
};
template <>
struct dds::topic::topic_type_name<ShapeType> {
  static std::string value() { return "ShapeType"; }
};
template <>
struct dds::topic::topic_field_names<ShapeType> {
  static constexpr std::array names{"color", "x", "y", "shapesize", "additional_payload_size"};
};
