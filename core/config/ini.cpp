// The parser of the INI form. One pass over the text; a line that is wrong is reported and passed over, so that one run
// reports everything.
#include <spindrift/core/config/ini.hpp>

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include <spindrift/core/config/text.hpp>

namespace spindrift::config {
namespace {

constexpr std::size_t word_length_max = 49;  // of a section or a key

bool is_blank(char c) { return c == ' ' || c == '\t'; }

bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= word_length_max && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '/';
  });
}

bool is_comment_or_empty(std::string_view rest) {
  rest = trimmed(rest);
  return rest.empty() || rest.front() == '#' || rest.front() == ';';
}

unsigned newlines(std::string_view text) { return static_cast<unsigned>(std::count(text.begin(), text.end(), '\n')); }

std::string_view without_comment(std::string_view value) {
  for (std::size_t i = 0; i < value.size(); ++i) {
    if ((value[i] == '#' || value[i] == ';') && (i == 0 || is_blank(value[i - 1]))) return trimmed(value.substr(0, i));
  }
  return trimmed(value);
}

/// Walks over the text, one section's header or one key with its value at a time.
class IniParser {
 public:
  IniParser(std::string_view text, std::string_view file, std::vector<Error>& problems)
      : text_(text), file_(file), problems_(problems) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
  }

  IniText parse() {
    while (at_ < text_.size()) {
      ++line_;
      const std::string_view line = trimmed(take_line());
      if (is_comment_or_empty(line)) continue;
      if (line.front() == '[') {
        header(line);
      } else {
        assignment(line);
      }
    }
    return std::move(result_);
  }

 private:
  std::string_view take_line() {
    const std::size_t begin = at_;
    const std::size_t end = std::min(text_.find('\n', begin), text_.size());
    at_ = std::min(end + 1, text_.size());
    return text_.substr(begin, end - begin);
  }

  void problem(unsigned line, std::string message, std::string fix) {
    problems_.push_back(Error(ErrorKind::bad_config, std::move(message)).at(place_of(file_, line)).fix(std::move(fix)));
  }

  void header(std::string_view line) {
    const auto end = line.find(']');
    if (end == std::string_view::npos || !is_comment_or_empty(line.substr(end + 1))) {
      return problem(line_, fmt::format("{} is not a section", in_quotes(line)),
                     "write [SECTION] alone on its line; a value of several lines stands between single quotes");
    }
    const std::string_view name = trimmed(line.substr(1, end - 1));
    if (!is_word(name)) {
      return problem(line_, fmt::format("{} is not the name of a section", in_quotes(name)),
                     "use A-Z, a-z, 0-9, _, - and /, at most 49; a value of several lines stands between single quotes");
    }
    result_.sections.push_back({std::string(name), line_});
  }

  void assignment(std::string_view line) {
    const auto equals = line.find('=');
    const std::string_view key = trimmed(line.substr(0, equals));
    if (equals == std::string_view::npos || !is_word(key)) {
      return problem(line_, fmt::format("{} is not of the form key = value", in_quotes(line)),
                     "write key = value, or start a comment with #; a value of several lines stands between single quotes");
    }
    const std::string section = result_.sections.empty() ? "" : result_.sections.back().name;
    IniEntry entry{.section = section, .key = std::string(key), .value = {}, .line = line_, .value_line = line_};
    const std::string_view value = trimmed(line.substr(equals + 1));
    if (value.starts_with('\'') || value.starts_with('"')) return quoted_value(std::move(entry), value);
    entry.value = without_comment(value);
    add(std::move(entry));
  }

  /// `value` begins with the quote; it points into the text, where the closing quote is sought.
  void quoted_value(IniEntry entry, std::string_view value) {
    const char quote = value.front();
    const auto first = static_cast<std::size_t>(value.data() - text_.data()) + 1;
    const std::size_t end = text_.find(quote, first);
    const bool closed = end != std::string_view::npos && (quote == '\'' || end < at_);
    if (!closed) {
      return problem(line_, fmt::format("the value of {} has no closing quote", entry.key),
                     fmt::format("close it with {}", quote));
    }
    entry.value = text_.substr(first, end - first);
    const std::size_t blank = std::min(entry.value.find_first_not_of(" \t\r\n"), entry.value.size());
    entry.value_line += newlines(std::string_view(entry.value).substr(0, blank));
    line_ += newlines(entry.value);
    at_ = end + 1;
    if (!is_comment_or_empty(take_line())) {
      return problem(line_, fmt::format("text follows the closing quote of {}", entry.key),
                     "remove it, or start a comment with #");
    }
    add(std::move(entry));
  }

  void add(IniEntry entry) {
    for (const char c : entry.value) {
      const auto byte = static_cast<unsigned char>(c);
      if ((byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7f) {
        return problem(entry.line, fmt::format("the value of {} has a control character", entry.key), "remove it");
      }
    }
    result_.entries.push_back(std::move(entry));
  }

  std::string_view text_;
  std::string_view file_;
  std::vector<Error>& problems_;
  IniText result_;
  std::size_t at_ = 0;
  unsigned line_ = 0;
};

}  // namespace

std::string place_of(std::string_view file, unsigned line) { return fmt::format("{}:{}", file, line); }

IniText parse_ini(std::string_view text, std::string_view file, std::vector<Error>& problems) {
  return IniParser(text, file, problems).parse();
}

}  // namespace spindrift::config
