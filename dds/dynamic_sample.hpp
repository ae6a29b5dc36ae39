// Samples of a DynamicType: their bytes, in place or CDR, as JSON and back. A peer or a user wrote what is read.
//
// As JSON an aggregate is an object with all its fields, a sequence and an array are arrays, an enum is its number, an
// optional that is empty is null (and may be missing where JSON is read). A map is an object, whose names are the keys: a
// text as it is, a number by its digits, a bool as "true" or "false". A union is an object with its discriminator, "_d",
// and the member that is there; where JSON is read, the member alone will do. A char is a text of one ASCII character, and
// the number of its byte if it is none; a floating-point number that is none, or has no end, is "NaN", "Infinity" or
// "-Infinity".
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <nlohmann/json.hpp>

#include <spindrift/core/digest.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/dds/dynamic_type.hpp>
#include <spindrift/dds/type_support.hpp>

namespace spindrift::topics {

/// Its fields stay in the order of the type's.
using SampleJson = nlohmann::ordered_json;

/// Bytes that are a sample of the type. Immutable.
class DynamicSample {
 public:
  /// Errors: bad_input, with the place of the first fault.
  [[nodiscard]] static Result<DynamicSample> from_bytes(std::shared_ptr<const DynamicType> type,
                                                        std::span<const std::byte> bytes);
  /// Errors: bad_input, with the path of the value ("$.track[2].latitude"): it is missing, unknown, of another kind or out
  /// of the range of its field.
  [[nodiscard]] static Result<DynamicSample> from_json(std::shared_ptr<const DynamicType> type, const SampleJson& json);

  [[nodiscard]] const std::shared_ptr<const DynamicType>& type() const noexcept { return type_; }
  /// As they travel: the same as a C++ type's with such fields, but for what is between fields, which is zero from JSON.
  [[nodiscard]] const std::vector<std::byte>& bytes() const noexcept { return bytes_; }
  [[nodiscard]] SampleJson json() const;
  /// The digest of its keys; of a type without any, nothing's.
  [[nodiscard]] Digest key() const;

 private:
  DynamicSample(std::shared_ptr<const DynamicType> type, std::vector<std::byte> bytes)
      : type_(std::move(type)), bytes_(std::move(bytes)) {}

  std::shared_ptr<const DynamicType> type_;
  std::vector<std::byte> bytes_;
};

/// Whether it is the name, in JSON, of a key of that kind.
[[nodiscard]] bool is_map_key(const DynamicType& type, const DynamicKind& key, std::string_view name);

/// For topics, readers and writers whose samples are DynamicSample. One for each type, which stays as long as the program.
/// Any thread.
[[nodiscard]] const TypeSupport& dynamic_type_support(const DynamicType& type);
/// The type of such a TypeSupport.
[[nodiscard]] std::shared_ptr<const DynamicType> dynamic_type_of(const TypeSupport& support);

}  // namespace spindrift::topics
