// The format definitions inside a ULog file: how many bytes a sample of a topic takes. Definitions come from the file and
// may be wrong, recursive or absurdly large; every answer is bounded, and computed once per definition.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/result.hpp>

namespace spindrift::ulog {

/// Bytes of one sample. Writers leave out padding at the very end, so a range is right.
struct SampleSize {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

/// A field as a definition has it: "float[4] q".
struct FormatField {
  std::string type;  ///< of one element
  std::uint64_t count = 1;
  bool array = false;  ///< it has a length, be it 1
  std::string name;
};

/// Bytes of one of the types that formats are made of, "float" or "uint64_t"; 0: it is none of them.
[[nodiscard]] std::uint64_t basic_type_bytes(std::string_view type) noexcept;
/// Whether the field is there to align what is behind it, and says nothing.
[[nodiscard]] bool is_padding(const FormatField& field) noexcept;

class FormatTable {
 public:
  /// Takes one definition, "topic:type field;type[n] field;…". Errors: bad_input, without place.
  [[nodiscard]] Result<void> define(std::string_view definition);
  /// The size of that topic's samples, timestamp included. Errors: bad_input: undefined, recursive, too large, or without
  /// a timestamp in front.
  [[nodiscard]] Result<SampleSize> sample_size(std::string_view topic);
  /// The fields of a definition, as it has them; null: there is none of that name. Valid until the next one is taken.
  [[nodiscard]] const std::vector<FormatField>* fields_of(std::string_view name) const;

 private:
  using Field = FormatField;
  struct Format {
    enum class State : std::uint8_t { unresolved, resolving, resolved };
    std::string text;
    std::vector<Field> fields;
    State state = State::unresolved;
    std::uint64_t bytes = 0;
  };

  [[nodiscard]] static Result<Field> parse_field(std::string_view text);
  [[nodiscard]] Result<std::uint64_t> size_of(const Field& field, unsigned depth);
  [[nodiscard]] Result<std::uint64_t> size_of(std::string_view type, unsigned depth);

  std::map<std::string, Format, std::less<>> formats_;
};

}  // namespace spindrift::ulog
