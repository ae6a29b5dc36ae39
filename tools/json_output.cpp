// The parts that all JSON of the command has in common.
#include "json_output.hpp"

#include <utility>

#include <fmt/format.h>

#include "escaped.hpp"

namespace spindrift::tools {

using Json = nlohmann::json;

Json versioned(int version, Json object) {
  object["version"] = version;
  return object;
}

std::string identity_text(std::uint64_t identity) { return fmt::format("{:016x}", identity); }

Json json_of(const Error& error) {
  std::string causes;
  std::string fix = error.fix();
  for (const Error* cause = error.cause(); cause != nullptr; cause = cause->cause()) {
    if (!causes.empty()) causes += "; because: ";
    if (!cause->place().empty()) causes += cause->place() + ": ";
    causes += cause->message();
    if (!cause->fix().empty()) fix = cause->fix();  // the innermost fix is the most specific, as in the text for people
  }
  return {{"kind", to_string(error.kind())},
          {"place", error.place()},
          {"message", error.message()},
          {"cause", std::move(causes)},
          {"fix", std::move(fix)}};
}

Json json_of(const std::vector<Error>& errors) {
  Json list = Json::array();
  for (const Error& error : errors) list.push_back(json_of(error));
  return list;
}

std::string one_line_of(const Json& json) {
  return harmless_json(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void print_document(const Json& json) {
  fmt::print("{}\n", harmless_json(json.dump(2, ' ', false, Json::error_handler_t::replace)));
}

}  // namespace spindrift::tools
