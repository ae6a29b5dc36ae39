// From JSON to plans of subgroups. An entry is in Derecho's form if it has a "layout", else in the plain form; the fields of
// the two do not mix.
#include <spindrift/core/config/layout.hpp>

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include <spindrift/core/config/json.hpp>
#include <spindrift/core/config/text.hpp>
#include <spindrift/core/ids_text.hpp>
#include <spindrift/core/shards.hpp>

namespace spindrift::config {
namespace {

class LayoutParser {
 public:
  LayoutParser(const LayoutSource& source, std::vector<Error>& problems) : reader_(source, problems), problems_(problems) {}

  Layout parse(const Json& document) {
    const Json* const entries = reader_.list(document, "", "subgroups");
    if (entries == nullptr) return {};
    for (std::size_t i = 0; i < entries->size(); ++i) parse_entry((*entries)[i], element("", i), i);
    return std::move(layout_);
  }

 private:
  void parse_entry(const Json& entry, const std::string& path, std::size_t index) {
    if (!entry.is_object()) {
      reader_.problem(path, "a subgroup belongs here", R"(write an object: {"name": "orders"})");
      return;
    }
    std::string name = fmt::format("subgroup{}", index);
    for (const std::string_view key : {"type_alias", "name"}) {
      if (!entry.contains(key)) continue;
      if (auto given = reader_.name(entry.at(std::string(key)), field(path, key))) name = std::move(*given);
    }
    if (entry.contains("layout")) {
      reader_.check_fields(entry, path, {"name", "type_alias", "layout", "topics"});
      parse_derecho(entry, path, name);
    } else {
      reader_.check_fields(entry, path,
                           {"name", "type_alias", "members", "min_members", "max_members", "shards", "senders", "mode",
                            "storage", "history", "profile", "topics"});
      parse_plain(entry, path, name);
    }
  }

  void parse_plain(const Json& entry, const std::string& path, const std::string& name) {
    SubgroupPlan plan;
    plan.name = name;
    plan.path = path;
    if (entry.contains("members")) plan.members = nonempty_ids(entry.at("members"), field(path, "members"));
    if (entry.contains("min_members")) {
      plan.minimum = reader_.count(entry.at("min_members"), field(path, "min_members")).value_or(1);
    }
    if (entry.contains("senders")) {
      plan.senders = nonempty_ids(entry.at("senders"), field(path, "senders")).value_or(std::vector<NodeId>());
    }
    if (entry.contains("mode")) read_mode(entry.at("mode"), field(path, "mode"), plan);
    if (entry.contains("storage")) read_storage(entry.at("storage"), field(path, "storage"), plan);
    if (entry.contains("history")) read_history(entry.at("history"), field(path, "history"), plan);
    if (entry.contains("profile")) read_profile(entry.at("profile"), field(path, "profile"), plan);
    if (entry.contains("topics")) plan.topics = reader_.topics(entry.at("topics"), field(path, "topics"));
    if (entry.contains("shards")) return cut(entry, path, plan);
    if (entry.contains("max_members")) {
      reader_.problem(field(path, "max_members"), "a subgroup without shards has all members that are there",
                      R"(remove it, or cut the subgroup: "shards": 3)");
    }
    add(std::move(plan));
  }

  /// Adds the shards of a plain subgroup: they are filled from a pool of their own.
  void cut(const Json& entry, const std::string& path, SubgroupPlan plan) {
    for (const std::string_view name : {"senders", "topics"}) {
      if (!entry.contains(name)) continue;
      reader_.problem(field(path, name), fmt::format("\"{}\" belongs to one shard, and the entry does not say which", name),
                      "remove it, or write Derecho's form, which lists them by shard");
    }
    const auto shards = reader_.count(entry.at("shards"), field(path, "shards"), "shards");
    plan.maximum = member_count_max;
    if (entry.contains("max_members")) {
      const std::string least = field(path, "min_members");
      const Json minimum = plan.minimum;
      read_size(minimum, entry.at("max_members"), least, field(path, "max_members"), plan);
    }
    plan.senders.clear();
    plan.topics.clear();
    plan.assigned = true;
    plan.pool = next_pool(layout_);
    const std::string name = plan.name;
    for (std::uint32_t i = 0; i < shards.value_or(0) && !overflow_reported_; ++i) {
      plan.name = shard_name(name, i);
      add(plan);
    }
  }

  void parse_derecho(const Json& entry, const std::string& path, const std::string& name) {
    const std::string here = field(path, "layout");
    const Json* const subgroups = reader_.list(entry.at("layout"), here, "subgroups of this type");
    if (subgroups == nullptr) return;
    if (subgroups->empty()) {
      reader_.problem(here, "the layout of this type has no subgroup", "describe at least one, or remove the entry");
    }
    const std::size_t first = layout_.subgroups.size();
    for (std::size_t i = 0; i < subgroups->size(); ++i) {
      parse_shards((*subgroups)[i], element(here, i), i == 0 ? name : fmt::format("{}.{}", name, i));
    }
    if (!entry.contains("topics")) return;
    auto topics = reader_.topics(entry.at("topics"), field(path, "topics"));
    if (layout_.subgroups.size() == first + 1) {
      layout_.subgroups.back().topics = std::move(topics);
    } else {
      reader_.problem(field(path, "topics"), "the entry has several subgroups or shards: which one carries the topics?",
                      "write topics_by_shard beside min_nodes_by_shard");
    }
  }

  void parse_shards(const Json& subgroup, const std::string& path, const std::string& name) {
    if (!subgroup.is_object() || !subgroup.contains("min_nodes_by_shard") || !subgroup.contains("max_nodes_by_shard")) {
      reader_.problem(path, "a subgroup with min_nodes_by_shard and max_nodes_by_shard belongs here",
                      R"(write {"min_nodes_by_shard": [1], "max_nodes_by_shard": [3]})");
      return;
    }
    reader_.check_fields(subgroup, path,
                         {"min_nodes_by_shard", "max_nodes_by_shard", "reserved_node_ids_by_shard",
                          "delivery_modes_by_shard", "storage_by_shard", "history_by_shard", "profiles_by_shard",
                          "topics_by_shard"});
    const std::string minima_path = field(path, "min_nodes_by_shard");
    const Json* const minima = reader_.list(subgroup.at("min_nodes_by_shard"), minima_path, "numbers of nodes");
    if (minima == nullptr) return;
    const std::size_t shards = minima->size();
    if (shards == 0) reader_.problem(minima_path, "the subgroup has no shard", "give the least members of one shard: [1]");
    const Json* const maxima = reader_.list_by_shard(subgroup, path, "max_nodes_by_shard", shards);
    const Json* const reserved = reader_.list_by_shard(subgroup, path, "reserved_node_ids_by_shard", shards);
    const Json* const modes = reader_.list_by_shard(subgroup, path, "delivery_modes_by_shard", shards);
    const Json* const storage = reader_.list_by_shard(subgroup, path, "storage_by_shard", shards);
    const Json* const history = reader_.list_by_shard(subgroup, path, "history_by_shard", shards);
    const Json* const profiles = reader_.list_by_shard(subgroup, path, "profiles_by_shard", shards);
    const Json* const topics = reader_.list_by_shard(subgroup, path, "topics_by_shard", shards);
    if (maxima == nullptr) return;
    for (std::size_t i = 0; i < shards && !overflow_reported_; ++i) {
      const auto in = [&](std::string_view list) { return element(field(path, list), i); };
      SubgroupPlan plan;
      plan.name = shard_name(name, static_cast<std::uint32_t>(i));
      plan.path = in("min_nodes_by_shard");
      plan.assigned = true;
      read_size((*minima)[i], (*maxima)[i], in("min_nodes_by_shard"), in("max_nodes_by_shard"), plan);
      if (reserved != nullptr) read_reserved((*reserved)[i], in("reserved_node_ids_by_shard"), plan);
      if (modes != nullptr) read_mode((*modes)[i], in("delivery_modes_by_shard"), plan);
      if (storage != nullptr) read_storage((*storage)[i], in("storage_by_shard"), plan);
      if (history != nullptr) read_history((*history)[i], in("history_by_shard"), plan);
      if (profiles != nullptr) read_profile((*profiles)[i], in("profiles_by_shard"), plan);
      if (topics != nullptr) plan.topics = reader_.topics((*topics)[i], in("topics_by_shard"));
      add(std::move(plan));
    }
    check_disjoint(layout_.subgroups.size() - std::min(shards, layout_.subgroups.size()), path);
  }

  void read_size(const Json& least, const Json& most, const std::string& least_path, const std::string& most_path,
                 SubgroupPlan& plan) {
    const auto minimum = reader_.count(least, least_path);
    const auto maximum = reader_.count(most, most_path);
    if (!minimum || !maximum) return;
    if (*minimum > *maximum) {
      reader_.problem(most_path, fmt::format("the most members, {}, are fewer than the least, {}", *maximum, *minimum),
                      "raise the maximum or lower the minimum");
    }
    plan.minimum = *minimum;
    plan.maximum = *maximum;
  }

  void read_reserved(const Json& value, const std::string& path, SubgroupPlan& plan) {
    for (const MarkedId& marked : reader_.ids(value, path, true)) {
      plan.reserved.push_back(marked.id);
      if (marked.sender) plan.senders.push_back(marked.id);
    }
  }

  void read_mode(const Json& value, const std::string& path, SubgroupPlan& plan) {
    if (const auto mode = reader_.mode(value, path)) plan.mode = *mode;
  }

  /// Comes after the mode.
  void read_storage(const Json& value, const std::string& path, SubgroupPlan& plan) {
    if (const auto storage = reader_.storage(value, path)) plan.storage = *storage;
    if (plan.storage != SubgroupStorage::logged || plan.mode == DeliveryMode::ordered) return;
    reader_.problem(path, "the subgroup is logged, and unordered: its members have no order in common to keep",
                    "let it be ordered, or remove its storage");
  }

  void read_history(const Json& value, const std::string& path, SubgroupPlan& plan) {
    if (const auto history = reader_.history(value, path)) plan.history = *history;
  }

  void read_profile(const Json& value, const std::string& path, SubgroupPlan& plan) {
    if (auto name = reader_.name(value, path)) plan.profile = std::move(*name);
  }

  /// Nothing if anything is wrong with one of them.
  std::optional<std::vector<NodeId>> nonempty_ids(const Json& value, const std::string& path) {
    const std::size_t problems_before = problems_.size();
    std::vector<NodeId> ids;
    for (const MarkedId& marked : reader_.ids(value, path, false)) ids.push_back(marked.id);
    if (value.is_array() && value.empty()) {
      reader_.problem(path, "the list is empty", "name at least one node, or remove the field to mean all members");
    }
    if (problems_.size() != problems_before) return std::nullopt;
    return ids;
  }

  /// The shards of one subgroup, the last ones from `first`, may not reserve one node twice.
  void check_disjoint(std::size_t first, const std::string& path) {
    std::set<NodeId> seen;
    for (std::size_t i = first; i < layout_.subgroups.size(); ++i) {
      for (const NodeId id : layout_.subgroups[i].reserved) {
        if (!seen.insert(id).second) {
          reader_.problem(field(path, "reserved_node_ids_by_shard"),
                          fmt::format("two shards of one subgroup reserve node {}", id),
                          "reserve it in one of them; shards of a subgroup have no member in common");
          return;
        }
      }
    }
  }

  void add(SubgroupPlan plan) {
    if (layout_.subgroups.size() == subgroup_count_max) {
      if (!overflow_reported_) {
        reader_.problem(plan.path, fmt::format("the layout has more than {} subgroups", subgroup_count_max), "use fewer");
      }
      overflow_reported_ = true;
      return;
    }
    layout_.subgroups.push_back(std::move(plan));
  }

  JsonReader reader_;
  const std::vector<Error>& problems_;
  Layout layout_;
  bool overflow_reported_ = false;
};

/// Names of subgroups and topics must be unique in the layout.
void check_unique(const Layout& layout, const LayoutSource& source, std::vector<Error>& problems) {
  std::map<std::string_view, const SubgroupPlan*> names;
  std::map<std::string_view, const SubgroupPlan*> topics;
  const auto report = [&](const SubgroupPlan& plan, std::string message, std::string fix) {
    problems.push_back(Error(ErrorKind::bad_config, std::move(message)).at(place_in(source, plan.path)).fix(std::move(fix)));
  };
  for (const SubgroupPlan& plan : layout.subgroups) {
    if (const auto [first, fresh] = names.emplace(plan.name, &plan); !fresh) {
      report(plan, fmt::format("the name \"{}\" is taken by layout{}", plan.name, first->second->path),
             R"(give one of the two another "name")");
    }
    for (const std::string& topic : plan.topics) {
      const auto [first, fresh] = topics.emplace(topic, &plan);
      if (fresh) continue;
      report(plan, fmt::format("topic {} already travels through subgroup \"{}\"", in_quotes(topic), first->second->name),
             "name the topic in one subgroup, once");
    }
  }
}

}  // namespace

std::uint32_t next_pool(const Layout& layout) {
  std::uint32_t last = 0;
  for (const SubgroupPlan& plan : layout.subgroups) last = std::max(last, plan.pool);
  return last + 1;
}

Layout parse_layout(const LayoutSource& source, std::vector<Error>& problems) {
  auto document = parse_json(source);
  if (!document) {
    problems.push_back(std::move(document).error());
    return {};
  }
  Layout layout = LayoutParser(source, problems).parse(*document);
  check_unique(layout, source, problems);
  return layout;
}

}  // namespace spindrift::config
