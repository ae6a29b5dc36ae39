// A type of samples that no C++ type of this process describes: what participants announce of a topic, taken apart. Peers
// wrote that text: depth, size and counts are bounded, and one that is none is an error with the place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/dds/endpoint.hpp>

namespace spindrift::topics {

enum class FieldKind : std::uint8_t {
  boolean,
  character,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f32,
  f64,  // plain: fixed bytes, aligned to their size
  string,
  sequence,
  map,
  optional,
  enumeration,
  array,
  aggregate,
  choice,  // a union
};
[[nodiscard]] constexpr bool is_plain(FieldKind kind) noexcept { return kind < FieldKind::string; }
/// "u8", "f64"; of other kinds "string", "sequence" and so on.
[[nodiscard]] std::string_view to_string(FieldKind kind) noexcept;

struct DynamicField {
  std::string name;        ///< as announced, or f0, f1 and so on
  std::size_t kind = 0;    ///< its place in DynamicType::kinds
  bool announced = false;  ///< it has a name of its own
  std::vector<std::int64_t> labels{};  ///< of a union's member: the discriminators with which it is there, as numbers
  bool is_default = false;             ///< it is there with all others; the label is the one that it has where none is said
};
/// A kind of value that the type has somewhere. Those that it is made of come before it in DynamicType::kinds.
struct DynamicKind {
  FieldKind kind = FieldKind::boolean;
  std::string name{};       ///< of an aggregate, a union or an enum
  std::size_t element = 0;  ///< of a sequence, a map, an optional, an array, an enum: the place of its elements' kind
  std::size_t key = 0;      ///< of a map: the place of its keys' kind; of a union: of its discriminator's
  bool is_variant = false;  ///< a union that is a std::variant: there always is a member
  std::uint64_t count = 0;             ///< of an array
  std::vector<DynamicField> fields{};  ///< of an aggregate; the members of a union
  bool fixed = false;                  ///< its bytes can lie in place; then `size` and `alignment` are theirs
  std::uint64_t size = 0;
  std::uint64_t alignment = 1;
  std::uint64_t wire_bytes_min = 0;  ///< fewest bytes of one as CDR; 0 of what holds nothing
};

/// The name of the discriminator as JSON.
inline constexpr std::string_view discriminator_name = "_d";
/// The member of a union that is there with that discriminator. Null: none.
[[nodiscard]] const DynamicField* member_of(const DynamicKind& kind, std::int64_t label) noexcept;

/// Bounds of what is taken for a type: levels within each other, and bytes of one value without its strings and sequences.
inline constexpr std::size_t type_depth_max = 64;
inline constexpr std::uint64_t type_bytes_max = std::uint64_t{1} << 30;

/// Immutable.
class DynamicType {
 public:
  /// Errors: bad_input, with the place in the text: it is no description of a type, or one beyond the bounds.
  [[nodiscard]] static Result<DynamicType> parse(std::string_view description);
  /// The type of a topic that a participant announces. Errors: bad_input; the text with names is of another type.
  [[nodiscard]] static Result<DynamicType> of(const EndpointFacts& topic);

  [[nodiscard]] const std::string& name() const noexcept { return root().name; }
  /// Without the names of fields: the identity of the type.
  [[nodiscard]] const std::string& description() const noexcept { return description_; }
  /// With them; empty: none has any.
  [[nodiscard]] const std::string& named() const noexcept { return named_; }
  /// Places of the root's fields that are keys, in the order in which they make the key.
  [[nodiscard]] const std::vector<std::size_t>& keys() const noexcept { return keys_; }
  [[nodiscard]] bool in_place() const noexcept { return in_place_bytes_ > 0; }
  [[nodiscard]] std::uint64_t in_place_bytes() const noexcept { return in_place_bytes_; }
  [[nodiscard]] const std::vector<DynamicKind>& kinds() const noexcept { return kinds_; }
  /// The aggregate that a sample is: the last of the kinds.
  [[nodiscard]] const DynamicKind& root() const noexcept { return kinds_.back(); }
  /// A kind as a description has it, with the names of fields or without.
  [[nodiscard]] std::string text_of(const DynamicKind& kind, bool named) const;

 private:
  [[nodiscard]] std::string text_of_choice(const DynamicKind& kind, bool named) const;

  DynamicType() = default;
  friend class TypeParser;

  std::vector<DynamicKind> kinds_;
  std::vector<std::size_t> keys_;
  std::uint64_t in_place_bytes_ = 0;
  std::string description_;
  std::string named_;
};

/// Names the kind that values of that kind, and discriminators, are written as: of an enum its integer.
[[nodiscard]] inline const DynamicKind& written_kind(const DynamicType& type, const DynamicKind& kind) {
  return kind.kind == FieldKind::enumeration ? type.kinds()[kind.element] : kind;
}

}  // namespace spindrift::topics
