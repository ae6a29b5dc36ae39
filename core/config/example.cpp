// The example file and the reference page, written from the table: every key with its documentation.
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
# Scope "group" marks what all members must have in common: they compare a digest of it and refuse each other if it differs.
# Scope "view" marks what a group has as its view says, which is as its founder's file says, until all members' files say
# something else, or spindrift group change-subgroup does: a member with another value goes by the group's, and logs that.
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

std::string_view name_of(KeyScope scope) {
  switch (scope) {
    case KeyScope::group: return "group";
    case KeyScope::view: return "view";
    case KeyScope::node: return "node";
  }
  return "unknown";
}

std::string used_key(const Key& key) {
  const std::string_view section = key.section == profile_section ? default_profile : key.section;
  std::string text(1, '\n');
  text += comment(key.documentation);
  text += comment(fmt::format("Value: {}. Scope: {}. Environment: {}.", describe_values(key),
                              name_of(key.scope), environment_variable(section, key.name)));
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

constexpr std::string_view page_opening =
    R"(# Configuration

Written by `spindrift config keys`; the table of keys in `core/config/key_table.cpp` is its source.

A value is taken from the command line (`--set SECTION/key=value`), else from the environment, else from the file, else it
is the default. The variable of a key is `SPINDRIFT_SECTION_KEY`, and `SPINDRIFT_KEY` for the section `SPINDRIFT`. All
members must agree on keys of scope *group*: they compare a digest of them and refuse each other if it differs. Keys of scope
*view* a group has as its view says: as its founder's file says, until the files of all members say something else, or
`spindrift group change-subgroup` does; a member with another value goes by the group's, and logs that. Section and key
names are Derecho's where the meaning is the same. [derecho.cfg.example](../derecho.cfg.example) sets every key;
`spindrift config check` finds every mistake of a file, and `spindrift config show --effective` says where each value comes
from.
)";

/// `text` as a cell of a table.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '<' || c == '|' || c == '*') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string key_row(const Key& key) {
  const std::string_view standard = key.default_text;
  return fmt::format("| `{}` | {} | {} | {} | {} |\n", key.name, cell(describe_values(key)),
                     standard.empty() ? "" : fmt::format("`{}`", standard), name_of(key.scope), cell(key.documentation));
}

std::string section_page(std::string_view section) {
  std::string rows;
  std::string unused;
  for (const Key& key : keys()) {
    if (key.section != section) continue;
    if (key.used) {
      rows += key_row(key);
    } else {
      unused += fmt::format("{}`{}`", unused.empty() ? "" : ", ", key.name);
    }
  }
  std::string text = fmt::format("\n## [{}]\n", section == profile_section ? "SUBGROUP/PROFILE" : section);
  if (section == profile_section) {
    text += "\nSizes of the subgroups of one profile. Subgroups that name none have the profile `DEFAULT`, from which the "
            "others take what they do not set.\n";
  }
  if (!rows.empty()) text += "\n| key | values | default | scope | meaning |\n|---|---|---|---|---|\n" + rows;
  if (!unused.empty()) text += fmt::format("\nAccepted for the sake of Derecho's files, without effect: {}.\n", unused);
  return text;
}

/// The opening, and behind it what `write` makes of each section.
template <class Write>
std::string all_sections(std::string_view opening_text, Write write) {
  std::string text(opening_text);
  std::string_view last;
  for (const Key& key : keys()) {
    if (key.section == last) continue;
    last = key.section;
    text += write(last);
  }
  return text;
}

}  // namespace

std::string Config::example() { return all_sections(opening, section_text); }
std::string Config::reference() { return all_sections(page_opening, section_page); }

}  // namespace spindrift
