// JSON with manners: a parser that refuses what the library would swallow (duplicate fields, bottomless nesting), and a
// reader of single values that reports what is wrong, where, and what belongs there. Internal to the config's sources: it
// includes the JSON library.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <spindrift/core/config/layout.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::config {

using Json = nlohmann::json;

/// The text as JSON. Errors: bad_config at the line where the text stops making sense.
[[nodiscard]] Result<Json> parse_json(const LayoutSource& source);

/// "[3]" appended to a path, or ".name".
[[nodiscard]] std::string element(std::string_view path, std::size_t index);
[[nodiscard]] std::string field(std::string_view path, std::string_view name);

/// A node id that may carry Derecho's mark of a sender.
struct MarkedId {
  NodeId id;
  bool sender = false;
};

/// Reads values of one layout. Every function reports its own problem and returns nothing.
class JsonReader {
 public:
  JsonReader(const LayoutSource& source, std::vector<Error>& problems) : source_(source), problems_(problems) {}

  void problem(std::string_view path, std::string message, std::string fix);
  /// Every field of `object` must be one of `known`.
  void check_fields(const Json& object, std::string_view path, std::initializer_list<std::string_view> known);

  /// A list; `what` names what belongs in it.
  const Json* list(const Json& value, std::string_view path, std::string_view what);
  /// A list that has one element for each of `shards`, if the field is there at all.
  const Json* list_by_shard(const Json& object, std::string_view path, std::string_view name, std::size_t shards);
  /// 1 … 1024; a string of digits counts, as in Derecho's files.
  std::optional<std::uint32_t> count(const Json& value, std::string_view path,
                                                   std::string_view of_what = "nodes");
  /// 1 … 64 of A-Z, a-z, 0-9 and _.-
  std::optional<std::string> name(const Json& value, std::string_view path);
  std::optional<DeliveryMode> mode(const Json& value, std::string_view path);
  std::optional<SubgroupStorage> storage(const Json& value, std::string_view path);
  /// A number of messages, or an object of bounds; null: none is kept.
  std::optional<HistoryBounds> history(const Json& value, std::string_view path);
  /// Ids without duplicates; "*7" only where `marks` are allowed.
  std::vector<MarkedId> ids(const Json& value, std::string_view path, bool marks);
  std::vector<std::string> topics(const Json& value, std::string_view path);

 private:
  std::optional<MarkedId> id(const Json& value, std::string_view path, bool marks);

  const LayoutSource& source_;
  std::vector<Error>& problems_;
};

}  // namespace spindrift::config
