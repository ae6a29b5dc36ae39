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

class FormatTable {
 public:
  /// Takes one definition, "topic:type field;type[n] field;…". Errors: bad_input, without place.
  [[nodiscard]] Result<void> define(std::string_view definition);
  /// The size of that topic's samples, timestamp included. Errors: bad_input: undefined, recursive, too large, or without
  /// a timestamp in front.
  [[nodiscard]] Result<SampleSize> sample_size(std::string_view topic);

 private:
  struct Field {
    std::string type;
    std::uint64_t count = 1;
    std::string name;
  };
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
