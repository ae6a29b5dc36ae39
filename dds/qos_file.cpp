// The parser of files of qualities: one pass, line by line; a line that is wrong is reported and passed over.
#include <spindrift/dds/qos_file.hpp>

#include <algorithm>

namespace spindrift::topics {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// The text before a comment, which is a # or ; at the beginning or behind a blank.
std::string_view without_comment(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool begins = at == 0 || text[at - 1] == ' ' || text[at - 1] == '\t';
    if (begins && (text[at] == '#' || text[at] == ';')) return trimmed(text.substr(0, at));
  }
  return trimmed(text);
}

class QosFileParser {
 public:
  explicit QosFileParser(std::vector<QosProblem>& problems) : problems_(problems) {}

  void take(std::string_view line, unsigned number) {
    line = trimmed(line);
    if (line.empty() || line.front() == '#' || line.front() == ';') return;
    if (line.front() == '[')
      take_header(without_comment(line), number);
    else
      take_entry(line, number);
  }
  std::vector<QosSection> sections() { return std::move(sections_); }

 private:
  void take_header(std::string_view line, unsigned number) {
    if (line.back() != ']' || line.size() < 3)
      return problems_.push_back({number, "a section's header has no closing bracket, or no name", "write [QOS/name]"});
    const std::string name(trimmed(line.substr(1, line.size() - 2)));
    const auto same = [&](const QosSection& each) { return each.name == name; };
    if (const auto found = std::find_if(sections_.begin(), sections_.end(), same); found != sections_.end())
      problems_.push_back({number, "section [" + name + "] is there already, on line " + std::to_string(found->line),
                           "put their keys together"});
    sections_.push_back({name, number});
  }

  void take_entry(std::string_view line, unsigned number) {
    const auto equals = line.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return problems_.push_back({number, "this is neither a section nor a key with a value", "write key = value"});
    if (sections_.empty())
      return problems_.push_back(
          {number, "a key stands before the first section", "begin with a line such as [QOS/DEFAULT]"});
    const std::string key(trimmed(line.substr(0, equals)));
    std::string_view value = trimmed(line.substr(equals + 1));
    if (value.starts_with('\'')) {
      const auto closing = value.find('\'', 1);
      const bool ends =
          closing != std::string_view::npos && without_comment(" " + std::string(value.substr(closing + 1))).empty();
      if (!ends) return problems_.push_back({number, "the value of " + key + " has no closing quote", "add a ' at its end"});
      value = value.substr(1, closing - 1);
    } else {
      value = without_comment(value);
    }
    auto& entries = sections_.back().entries;
    if (std::any_of(entries.begin(), entries.end(), [&](const QosEntry& each) { return each.key == key; }))
      problems_.push_back({number, "key " + key + " is there twice in its section", "keep one of them"});
    entries.push_back({key, std::string(value), number});
  }

  std::vector<QosProblem>& problems_;
  std::vector<QosSection> sections_;
};

}  // namespace

std::vector<QosSection> parse_qos_file(std::string_view text, std::vector<QosProblem>& problems) {
  QosFileParser parser(problems);
  for (unsigned line = 1; !text.empty(); ++line) {
    const auto end = text.find('\n');
    parser.take(text.substr(0, end), line);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return parser.sections();
}

}  // namespace spindrift::topics
