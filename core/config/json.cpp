// Parsing JSON and reading single values of it. Nothing here throws for bad input: the library's exceptions end here.
#include <spindrift/core/config/json.hpp>

#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include <spindrift/core/config/ini.hpp>
#include <spindrift/core/config/keys.hpp>
#include <spindrift/core/config/nearest.hpp>
#include <spindrift/core/config/text.hpp>
#include <spindrift/core/ids_text.hpp>

namespace spindrift::config {
namespace {

constexpr int depth_max = 16;
constexpr std::uint64_t node_id_max = 0xffff'fffe;
constexpr std::uint64_t count_max = 1024;

/// Leaves the library's parser; never leaves this file.
struct Refused {
  std::string message;
  std::string fix;
};

/// Watches the parser: no nesting beyond depth_max, no field twice in one object.
class JsonWatcher {
 public:
  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    if (depth > depth_max) throw Refused{"the JSON is nested too deeply", "a layout needs no more than five levels"};
    if (event == Json::parse_event_t::object_start) fields_.emplace_back();
    if (event == Json::parse_event_t::object_end) fields_.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto& name = parsed.get_ref<const std::string&>();
      if (!fields_.back().insert(name).second) {
        throw Refused{fmt::format("the field {} is given twice in one object", in_quotes(name)), "remove one of the two"};
      }
    }
    return true;
  }

 private:
  std::vector<std::set<std::string>> fields_;
};

/// The first reason in the library's words: "syntax error while parsing value - unexpected ']'".
std::string reason(const Json::parse_error& error) {
  const std::string_view text = error.what();
  const auto at = text.find("syntax error");
  std::string words(at == std::string_view::npos ? "the text is not JSON" : text.substr(at));
  std::replace_if(
      words.begin(), words.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return words;
}

std::optional<std::uint64_t> unsigned_number(const Json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::string place_in(const LayoutSource& source, std::string_view path) {
  const std::string place = place_of(source.file, source.line);
  return path.empty() ? place : fmt::format("{}, layout{}", place, path);
}

std::string element(std::string_view path, std::size_t index) { return fmt::format("{}[{}]", path, index); }
std::string field(std::string_view path, std::string_view name) { return fmt::format("{}.{}", path, name); }

Result<Json> parse_json(const LayoutSource& source) {
  JsonWatcher watcher;
  try {
    return Json::parse(source.text, std::ref(watcher));
  } catch (const Json::parse_error& error) {
    const std::string_view before = source.text.substr(0, error.byte == 0 ? 0 : error.byte - 1);
    const auto lines = static_cast<unsigned>(std::count(before.begin(), before.end(), '\n'));
    return Error(ErrorKind::bad_config, "the layout is not JSON: " + reason(error))
        .at(place_of(source.file, source.line + lines))
        .fix("write a JSON list of subgroups, as derecho.cfg.example shows");
  } catch (const Refused& refused) {
    return Error(ErrorKind::bad_config, refused.message).at(place_in(source)).fix(refused.fix);
  } catch (const Json::exception& error) {  // a number that fits no type
    return Error(ErrorKind::bad_config, "the layout is not usable JSON").at(place_in(source)).fix("use node ids as numbers");
  }
}

void JsonReader::problem(std::string_view path, std::string message, std::string fix) {
  problems_.push_back(Error(ErrorKind::bad_config, std::move(message)).at(place_in(source_, path)).fix(std::move(fix)));
}

void JsonReader::check_fields(const Json& object, std::string_view path, std::initializer_list<std::string_view> known) {
  for (const auto& item : object.items()) {
    if (std::find(known.begin(), known.end(), item.key()) != known.end()) continue;
    const auto near = nearest(item.key(), std::span(known.begin(), known.size()));
    problem(path, fmt::format("the field {} is unknown", in_quotes(item.key())),
            near.empty() ? fmt::format("remove it, or use one of {}", fmt::join(known, ", "))
                         : fmt::format("did you mean {}?", near));
  }
}

const Json* JsonReader::list(const Json& value, std::string_view path, std::string_view what) {
  if (value.is_array()) return &value;
  problem(path, fmt::format("a list of {} belongs here", what), fmt::format("write [ ... ] with {}", what));
  return nullptr;
}

const Json* JsonReader::list_by_shard(const Json& object, std::string_view path, std::string_view name, std::size_t shards) {
  const auto found = object.find(name);
  if (found == object.end()) return nullptr;
  const std::string here = field(path, name);
  const Json* const values = list(*found, here, "one value for each shard");
  if (values != nullptr && values->size() != shards) {
    problem(here, fmt::format("it has {} values, but min_nodes_by_shard says {} shards", values->size(), shards),
            "give one value for each shard");
    return nullptr;
  }
  return values;
}

std::optional<std::uint32_t> JsonReader::count(const Json& value, std::string_view path, std::string_view of_what) {
  const auto number = unsigned_number(value);
  if (number && *number >= 1 && *number <= count_max) return static_cast<std::uint32_t>(*number);
  problem(path, fmt::format("a number of {} belongs here", of_what), fmt::format("write a number from 1 to {}", count_max));
  return std::nullopt;
}

std::optional<std::string> JsonReader::name(const Json& value, std::string_view path) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (valid_subgroup_name(text)) return text;
  }
  problem(path, "a name belongs here", "write a string of 1 to 64 of A-Z, a-z, 0-9, _, . and -");
  return std::nullopt;
}

std::optional<DeliveryMode> JsonReader::mode(const Json& value, std::string_view path) {
  if (value.is_string()) {
    const auto& word = value.get_ref<const std::string&>();
    if (word == "ordered" || word == "Ordered") return DeliveryMode::ordered;
    if (word == "unordered" || word == "Unordered" || word == "Raw") return DeliveryMode::unordered;
  }
  problem(path, "a delivery mode belongs here", R"(write "ordered", or "unordered" (Derecho calls it "Raw"))");
  return std::nullopt;
}

std::optional<SubgroupStorage> JsonReader::storage(const Json& value, std::string_view path) {
  if (value.is_string()) {
    const auto& word = value.get_ref<const std::string&>();
    if (word == "memory") return SubgroupStorage::memory;
    if (word == "logged") return SubgroupStorage::logged;
  }
  problem(path, "a kind of storage belongs here", R"(write "memory", or "logged")");
  return std::nullopt;
}

std::optional<HistoryBounds> JsonReader::history(const Json& value, std::string_view path) {
  HistoryBounds bounds;
  if (value.is_null()) return bounds;
  bool usable = true;
  const auto read = [&](const Json& given, const std::string& place, std::string_view of_what, std::uint64_t most) {
    const auto number = unsigned_number(given);
    if (number && *number >= 1 && *number <= most) return *number;
    problem(place, fmt::format("a number of {} belongs here", of_what), fmt::format("write a number from 1 to {}", most));
    usable = false;
    return std::uint64_t{0};
  };
  if (!value.is_object()) {
    bounds.messages = read(value, std::string(path), "messages", history_messages_most);
    return usable ? std::optional(bounds) : std::nullopt;
  }
  check_fields(value, path, {"messages", "bytes", "age_ms"});
  const auto read_field = [&](const char* name, std::string_view of_what, std::uint64_t most) {
    return value.contains(name) ? read(value.at(name), field(path, name), of_what, most) : 0;
  };
  bounds.messages = read_field("messages", "messages", history_messages_most);
  bounds.bytes = read_field("bytes", "bytes", history_bytes_most);
  bounds.age_ms = read_field("age_ms", "milliseconds", history_age_ms_most);
  if (usable && !bounds.any()) {
    problem(path, "the history has no bound",
            R"(write {"messages": 1000}, {"bytes": 1048576}, {"age_ms": 60000}, or several of these)");
  }
  return usable && bounds.any() ? std::optional(bounds) : std::nullopt;
}

std::optional<MarkedId> JsonReader::id(const Json& value, std::string_view path, bool marks) {
  MarkedId marked;
  std::optional<std::uint64_t> number;
  if (marks && value.is_string() && value.get_ref<const std::string&>().starts_with('*')) {
    marked.sender = true;
    number = unsigned_number(Json(value.get_ref<const std::string&>().substr(1)));
  } else {
    number = unsigned_number(value);
  }
  if (!number || *number > node_id_max) {
    problem(path, "a node id belongs here",
            fmt::format("write a number from 0 to {}{}", node_id_max, marks ? R"(, or "*7" for a sender)" : ""));
    return std::nullopt;
  }
  marked.id = NodeId(static_cast<std::uint32_t>(*number));
  return marked;
}

std::vector<MarkedId> JsonReader::ids(const Json& value, std::string_view path, bool marks) {
  std::vector<MarkedId> result;
  const Json* const values = list(value, path, "node ids");
  if (values == nullptr) return result;
  if (values->size() > count_max) {
    problem(path, fmt::format("the list names more than {} nodes", count_max), "make the subgroup smaller");
    return result;
  }
  for (std::size_t i = 0; i < values->size(); ++i) {
    const auto marked = id((*values)[i], element(path, i), marks);
    if (!marked) continue;
    const auto same = [&](const MarkedId& other) { return other.id == marked->id; };
    if (std::any_of(result.begin(), result.end(), same)) {
      problem(element(path, i), fmt::format("node {} is named twice", marked->id), "name each node once");
    } else {
      result.push_back(*marked);
    }
  }
  return result;
}

std::vector<std::string> JsonReader::topics(const Json& value, std::string_view path) {
  constexpr std::size_t length_max = 128;
  std::vector<std::string> result;
  const Json* const values = list(value, path, "topic names");
  if (values == nullptr) return result;
  for (std::size_t i = 0; i < values->size(); ++i) {
    const Json& topic = (*values)[i];
    const std::string text = topic.is_string() ? topic.get<std::string>() : std::string();
    const bool fits = !text.empty() && text.size() <= length_max &&
                      std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
    if (fits) {
      result.push_back(text);
    } else {
      problem(element(path, i), "a topic name belongs here",
              fmt::format("write a string of 1 to {} printable ASCII characters without blanks", length_max));
    }
  }
  return result;
}

}  // namespace spindrift::config
