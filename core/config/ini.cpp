// Reads INI with inih. inih cuts lines at 200 bytes and knows neither quotes nor line numbers, so values travel past it:
// this file splits the text into whole lines and gives inih "key = number of the line".
#include <spindrift/core/config/ini.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

#include <fmt/format.h>
#include <ini.h>

#include <spindrift/core/config/text.hpp>

namespace spindrift::config {
namespace {

constexpr std::size_t word_length_max = 49;  // inih holds sections and keys in 50 bytes

/// A whole line: a section's header, or a key and its value.
struct WholeLine {
  std::string header;  // "[section]", or empty
  std::string key;
  std::string value;
  unsigned line = 0;
  unsigned value_line = 0;
};

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

/// Walks over the text, one whole line at a time.
class Splitter {
 public:
  Splitter(std::string_view text, std::string_view file, std::vector<Error>& problems)
      : text_(text), file_(file), problems_(problems) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
  }

  std::vector<WholeLine> split() {
    std::vector<WholeLine> lines;
    while (at_ < text_.size()) {
      ++line_;
      const std::string_view physical = trimmed(take_line());
      if (physical.empty() || physical.front() == '#' || physical.front() == ';') continue;
      auto whole = physical.front() == '[' ? header(physical) : assignment(physical);
      if (whole) lines.push_back(std::move(*whole));
    }
    return lines;
  }

 private:
  std::string_view take_line() {
    line_start_ = at_;
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    at_ = std::min(end + 1, text_.size());
    return text_.substr(line_start_, end - line_start_);
  }

  std::optional<WholeLine> problem(unsigned line, std::string message, std::string fix) {
    problems_.push_back(Error(ErrorKind::bad_config, std::move(message)).at(place_of(file_, line)).fix(std::move(fix)));
    return std::nullopt;
  }

  std::optional<WholeLine> header(std::string_view physical) {
    const auto end = physical.find(']');
    if (end == std::string_view::npos || !is_comment_or_empty(physical.substr(end + 1))) {
      return problem(line_, fmt::format("{} is not a section", in_quotes(physical)),
                     "write [SECTION] alone on its line; a value of several lines stands between single quotes");
    }
    const std::string_view name = trimmed(physical.substr(1, end - 1));
    if (!is_word(name)) {
      return problem(line_, fmt::format("{} is not the name of a section", in_quotes(name)),
                     "use letters, digits, _, - and /, at most 49; a value of several lines stands between single quotes");
    }
    WholeLine whole;
    whole.header = fmt::format("[{}]", name);
    whole.line = line_;
    return whole;
  }

  std::optional<WholeLine> assignment(std::string_view physical) {
    const auto equals = physical.find('=');
    const std::string_view key = trimmed(physical.substr(0, equals));
    if (equals == std::string_view::npos || !is_word(key)) {
      return problem(line_, fmt::format("{} is not of the form key = value", in_quotes(physical)),
                     "write key = value, or start a comment with #; a value of several lines stands between single quotes");
    }
    WholeLine whole;
    whole.key = key;
    whole.line = whole.value_line = line_;
    const std::string_view value = trimmed(physical.substr(equals + 1));
    if (value.starts_with('\'') || value.starts_with('"')) return quoted_value(std::move(whole), value);
    whole.value = without_comment(value);
    return checked(std::move(whole));
  }

  /// `value` begins with the quote; it points into the text, where the closing quote is sought.
  std::optional<WholeLine> quoted_value(WholeLine whole, std::string_view value) {
    const char quote = value.front();
    const auto first = static_cast<std::size_t>(value.data() - text_.data()) + 1;
    const std::size_t end = text_.find(quote, first);
    const bool closed = end != std::string_view::npos && (quote == '\'' || end < at_);
    if (!closed) {
      return problem(line_, fmt::format("the value of {} has no closing quote", whole.key),
                     fmt::format("close it with {}", quote));
    }
    whole.value = text_.substr(first, end - first);
    const std::size_t blank = std::min(whole.value.find_first_not_of(" \t\r\n"), whole.value.size());
    whole.value_line += newlines(std::string_view(whole.value).substr(0, blank));
    line_ += newlines(whole.value);
    at_ = end + 1;
    if (!is_comment_or_empty(take_line())) {
      return problem(line_, fmt::format("text follows the closing quote of {}", whole.key),
                     "remove it, or start a comment with #");
    }
    return checked(std::move(whole));
  }

  std::optional<WholeLine> checked(WholeLine whole) {
    for (const char c : whole.value) {
      const auto byte = static_cast<unsigned char>(c);
      if ((byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7f) {
        return problem(whole.line, fmt::format("the value of {} has a control character", whole.key), "remove it");
      }
    }
    return whole;
  }

  std::string_view text_;
  std::string_view file_;
  std::vector<Error>& problems_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  unsigned line_ = 0;
};

/// What passes through inih: the lines it is given, and the entries it makes of them.
struct Passage {
  std::vector<WholeLine> lines;
  std::size_t next = 0;
  IniText result;
};

char* give_line(char* to, int size, void* user) {
  auto& passage = *static_cast<Passage*>(user);
  if (passage.next == passage.lines.size()) return nullptr;
  const std::size_t number = passage.next++;
  const WholeLine& line = passage.lines[number];
  const std::string text = line.header.empty() ? fmt::format("{}={}\n", line.key, number) : line.header + "\n";
  CHECK(text.size() < static_cast<std::size_t>(size));
  std::memcpy(to, text.c_str(), text.size() + 1);
  return to;
}

int take_entry(void* user, const char* section, const char* key, const char* number) {
  auto& passage = *static_cast<Passage*>(user);
  WholeLine& line = passage.lines.at(std::strtoull(number, nullptr, 10));
  passage.result.entries.push_back({section, key, std::move(line.value), line.line, line.value_line});
  return 1;
}

}  // namespace

std::string place_of(std::string_view file, unsigned line) { return fmt::format("{}:{}", file, line); }

IniText parse_ini(std::string_view text, std::string_view file, std::vector<Error>& problems) {
  Passage passage;
  passage.lines = Splitter(text, file, problems).split();
  for (const WholeLine& line : passage.lines) {
    if (line.header.empty()) continue;
    passage.result.sections.push_back({line.header.substr(1, line.header.size() - 2), line.line});
  }
  CHECK(ini_parse_stream(give_line, &passage, take_entry, &passage) == 0);
  return std::move(passage.result);
}

}  // namespace spindrift::config
