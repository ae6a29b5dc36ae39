// The example file, written from the table: every key with its documentation; keys in use are set, the others are comments.
#include <spindrift/core/config/config.hpp>

#include <string>
#include <string_view>

#include <fmt/format.h>

#include <spindrift/core/config/keys.hpp>

namespace spindrift {
namespace {

using namespace config;

constexpr std::string_view opening =
    R"(# A configuration of Spindrift that names every key. It works as it stands: start it with local_id 0, 1 and 2.
#
# Section and key names are Derecho's where the meaning is the same. A value is taken from the command line
# (--set SECTION/key=value), else from the environment variable named below, else from this file, else it is the default.
# "group" marks what all members must have in common: they compare a digest of it and refuse each other if it differs.
# Comments start with # or ;. A value of several lines stands between single quotes.
)";

/// Words of `text` in lines of comment.
std::string comment(std::string_view text) {
  constexpr std::size_t width = 118;
  std::string lines(1, '#');
  std::size_t line_length = 1;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (line_length + 1 + word.size() > width) {
      lines += "\n#";
      line_length = 1;
    }
    lines += ' ';
    lines += word;
    line_length += 1 + word.size();
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  lines += '\n';
  return lines;
}

std::string used_key(const Key& key) {
  const std::string_view section = key.section == profile_section ? default_profile : key.section;
  std::string text(1, '\n');
  text += comment(key.documentation);
  text += comment(fmt::format("Value: {}. Scope: {}. Environment: {}.", describe_values(key),
                              key.scope == KeyScope::group ? "group" : "node", environment_variable(section, key.name)));
  if (!key.example.empty()) return text + fmt::format("{} = {}\n", key.name, key.example);
  const bool derived = key.default_text.empty();
  return text + fmt::format("{}{} ={}{}\n", derived ? "# " : "", key.name, derived ? "" : " ", key.default_text);
}

std::string unused_key(const Key& key) {
  return comment(fmt::format("{} = {} -- {}", key.name, key.default_text, key.documentation));
}

std::string section_text(std::string_view section) {
  std::string text = fmt::format("\n[{}]\n", section == profile_section ? default_profile : section);
  if (section == profile_section) {
    text += comment(
        "Sizes of the subgroups of one profile. Subgroups that name no profile have this one; another profile is "
        "another section, [SUBGROUP/<profile>], and takes from this one what it does not set.");
  }
  std::string unused;
  for (const Key& key : keys()) {
    if (key.section != section) continue;
    if (key.used) {
      text += used_key(key);
    } else {
      unused += unused_key(key);
    }
  }
  if (!unused.empty())
    text += fmt::format("\n{}{}", comment("Keys of Derecho that are accepted, but not used by this version:"), unused);
  return text;
}

}  // namespace

std::string Config::example() {
  std::string text(opening);
  std::string_view last;
  for (const Key& key : keys()) {
    if (key.section == last) continue;
    last = key.section;
    text += section_text(last);
  }
  return text;
}

}  // namespace spindrift
