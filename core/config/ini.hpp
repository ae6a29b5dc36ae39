// The INI form of a configuration: sections, keys, values and the lines they stand on. Knows nothing of what keys mean.
// Any bytes are allowed as input; what is no INI is reported line by line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/result.hpp>

namespace spindrift::config {

struct IniEntry {
  std::string section;
  std::string key;
  std::string value;        ///< without quotes
  unsigned line = 0;        ///< of the key, from 1
  unsigned value_line = 0;  ///< on which the value's first character that is not blank stands
};

struct IniSection {
  std::string name;
  unsigned line = 0;
};

struct IniText {
  std::vector<IniEntry> entries;     ///< in the order of the text
  std::vector<IniSection> sections;  ///< one for each header
};

/// "file:line".
[[nodiscard]] std::string place_of(std::string_view file, unsigned line);

/// Comments start a line with # or ;, or follow an unquoted value after a blank. A value between single quotes may go over
/// several lines. Appends to `problems` what is wrong, each with its place under `file`.
[[nodiscard]] IniText parse_ini(std::string_view text, std::string_view file, std::vector<Error>& problems);

}  // namespace spindrift::config
