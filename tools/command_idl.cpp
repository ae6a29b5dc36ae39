// `spindrift idl`: C++ headers of the types that IDL and ROS files declare.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "escaped.hpp"
#include "exit_code.hpp"
#include "idl/model.hpp"
#include "json_output.hpp"
#include "options.hpp"

namespace spindrift::tools {
namespace {

using Json = nlohmann::json;

constexpr int idl_json_version = 1;

struct IdlOptions : CommandOptions {
  std::vector<std::string> files;
  std::string output;
  std::string print;
};

std::optional<std::string> content_of(const std::string& path) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure)) return std::nullopt;
  const auto size = std::filesystem::file_size(path, failure);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Exception(system_error("open", errno).at(path).fix("give a file that this user may read"));
  std::string content(std::min<std::uintmax_t>(size, idl::file_bytes_max + 1), '\0');
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  content.resize(static_cast<std::size_t>(file.gcount()));
  return content;
}

void write(const std::filesystem::path& path, const std::string& content) {
  std::error_code failure;
  std::filesystem::create_directories(path.parent_path(), failure);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << content;
  file.close();
  if (file) return;
  throw Exception(Error(ErrorKind::resource, "the header could not be written: " +
                                                 (failure ? failure.message() : std::string("see its directory")))
                      .at(path.string())
                      .fix("give a directory with --output in which this user may write, and that has space"));
}

const char* word_of(idl::DeclarationKind kind) {
  switch (kind) {
    case idl::DeclarationKind::structure: return "struct";
    case idl::DeclarationKind::choice: return "union";
    case idl::DeclarationKind::enumeration: return "enum";
    case idl::DeclarationKind::bitmask: return "bitmask";
    case idl::DeclarationKind::alias: return "typedef";
    case idl::DeclarationKind::constant: break;
  }
  return "const";
}

Json json_of(const idl::Declaration& each) {
  Json made{{"kind", word_of(each.kind)},
            {"name", each.full_name()},
            {"place", each.place.text()},
            {"type", each.type ? Json(idl::cpp_type(*each.type)) : Json(nullptr)},
            {"value", each.value.empty() ? Json(nullptr) : Json(each.value)},
            {"fields", Json::array()},
            {"enumerators", Json::array()}};
  for (const idl::IdlField& field : each.fields) {
    made["fields"].push_back({{"name", field.name},
                              {"type", idl::cpp_type(*field.type)},
                              {"key", field.key},
                              {"labels", field.labels},
                              {"otherwise", field.is_default},
                              {"default", field.initial.empty() ? Json(nullptr) : Json(field.initial)}});
  }
  for (const idl::IdlEnumerator& one : each.enumerators)
    made["enumerators"].push_back({{"name", one.name}, {"value", one.value}});
  return made;
}

int run_idl(const IdlOptions& options) {
  const idl::Model model = idl::parse(options.files, content_of);
  for (const std::string& each : model.notes) fmt::print(stderr, "spindrift: {}\n", harmless(each));
  if (options.print == "json") {
    Json all = Json::array();
    for (const idl::Declaration& each : model.declarations) all.push_back(json_of(each));
    print_document(versioned(idl_json_version, {{"declarations", std::move(all)}}));
  } else if (options.output.empty()) {
    if (model.units.size() > 1) {
      throw Exception(Error(ErrorKind::bad_argument, fmt::format("there are {} headers to write: of {} and what it includes",
                                                                 model.units.size(), options.files.front()))
                          .fix("give a directory for them with --output"));
    }
    fmt::print("{}", idl::header_of(model, model.units.front()));
  } else {
    for (const idl::IdlUnit& each : model.units)
      write(std::filesystem::path(options.output) / idl::header_name(each.path), idl::header_of(model, each));
  }
  return number(ExitCode::success);
}

}  // namespace

void add_idl_command(CLI::App& app, Work& chosen) {
  auto options = std::make_shared<IdlOptions>();
  const CommandText text{
      "idl", "Make C++ headers of the types in IDL and ROS files",
      R"(Reads OMG's IDL 4 (.idl) and ROS 2's messages (.msg), with what they include, and writes a C++ header for each file:
plain aggregates, with their keys and the names of their fields, for topics. What a sample cannot hold (wide strings,
bitsets) is refused with its place; what means nothing here (other annotations, #pragma, bounds) is left out, and a line
says so.

Examples:
  spindrift idl sensors.idl > sensors.hpp
  spindrift idl geometry_msgs/msg/*.msg --output include)"};
  CLI::App* command = add_command(app, chosen, text, options, run_idl);
  command->add_option("files", options->files, "Files that end in .idl or .msg")->type_name("FILE")->required();
  command->add_option("--output", options->output, "Write the headers into this directory; else one to standard output")
      ->type_name("DIRECTORY")
      ->check(named_file, "");
  command->add_option("--print", options->print, "Print the declarations in place of a header")
      ->type_name("json")
      ->check(CLI::IsMember({"json"}));
}

}  // namespace spindrift::tools
