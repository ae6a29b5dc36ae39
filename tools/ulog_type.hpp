// ULog's formats as types of topics: what a recording defines of a message becomes the type of the topic with its name, and
// each of its samples one of that type. The definitions come from a file; what cannot be such a type is refused.
//
// A format's fields are those of the type, in order, with their names; a format within it is a struct. `char[n] name` is a
// string, up to its first zero, as ULog means it; `_padding0` is left out. Behind them stands the key, `multi_id`: which of
// several equal sensors a sample is of. A name with - or / has _ in their place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/dds/dynamic_type.hpp>

#include "ulog.hpp"

namespace spindrift::ulog {

/// Immutable.
class SampleType {
 public:
  /// The type of a topic whose sample_size the table knows. Errors: bad_input, with the place within the formats: a name
  /// that no language has, or that is there twice; an array without elements; nothing but padding; a description of more
  /// bytes than participants tell each other.
  [[nodiscard]] static Result<SampleType> of(const FormatTable& formats, std::string_view topic);

  [[nodiscard]] const std::shared_ptr<const topics::DynamicType>& type() const noexcept { return type_; }
  /// Most bytes of a sample as it travels.
  [[nodiscard]] std::uint64_t bytes_max() const noexcept { return bytes_max_; }
  /// A sample of that topic as it travels, in place of what is in `to`. Its fields are as long as sample_size says.
  void write(const Sample& sample, std::vector<std::byte>& to) const;

 private:
  friend class TypeMaker;
  /// Fields of one kind that follow each other.
  struct Step {
    enum class Kind : std::uint8_t { number, truth, text, padding };
    Kind kind = Kind::number;
    std::uint8_t size = 1;  ///< bytes of one
    std::uint32_t count = 1;
  };
  SampleType() = default;

  std::shared_ptr<const topics::DynamicType> type_;
  std::vector<Step> steps_;  // behind the timestamp
  std::uint64_t bytes_max_ = 0;
};

}  // namespace spindrift::ulog
