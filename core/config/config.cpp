// The configuration comes in here: files and the environment of the process are read in this file, and nowhere else.
#include <spindrift/core/config/config.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <spindrift/core/config/addresses.hpp>
#include <spindrift/core/config/contacts.hpp>
#include <spindrift/core/config/keys.hpp>
#include <spindrift/core/config/layout_parts.hpp>
#include <spindrift/core/config/load.hpp>
#include <spindrift/core/config/without_file.hpp>
#include <spindrift/core/config/text.hpp>
#include <spindrift/core/ids_text.hpp>
#include <spindrift/core/keys_path.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/core/log_file.hpp>
#include <spindrift/core/text_file.hpp>

namespace spindrift {
namespace {

using namespace config;

constexpr std::size_t text_bytes_max = std::size_t{1} << 20;

Config::Environment process_environment() {
  Config::Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

Loaded load_file(const std::string& path, const std::vector<ConfigOverride>& overrides, std::vector<Error>& problems) {
  auto text = read_text_file(path, text_bytes_max, ErrorKind::bad_config);
  if (!text) {
    problems.push_back(std::move(text).error());
    return {};
  }
  const Config::Environment environment = process_environment();
  Sources sources;
  sources.text = *text;
  sources.name = path;
  sources.flags = &overrides;
  sources.environment = &environment;
  sources.read_layout_file = [&](const std::string& layout) {
    const std::filesystem::path beside = std::filesystem::path(path).parent_path() / layout;
    return read_text_file(beside.string(), text_bytes_max, ErrorKind::bad_config);
  };
  return load(sources, problems);
}

Loaded load_text(std::string_view text, const std::string& name, const std::vector<ConfigOverride>& overrides,
                 const Config::Environment& environment, std::vector<Error>& problems) {
  Sources sources;
  sources.text = text;
  sources.name = name;
  sources.flags = &overrides;
  sources.environment = &environment;
  sources.read_layout_file = [](const std::string&) {
    return Error(ErrorKind::bad_config, "a configuration given as text reads no files").fix("use json_layout");
  };
  return load(sources, problems);
}

/// A group without a file, as the command line would say it: so it has the config's own checks. The library writes
/// the JSON, so that a name stays one string.
std::vector<ConfigOverride> overrides_for(const std::string& group_name, const std::vector<std::string>& subgroups) {
  nlohmann::json layout = nlohmann::json::array();
  for (const std::string& name : subgroups) layout.push_back({{"name", name}});
  const std::string text = layout.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return {{"SPINDRIFT/group_name", group_name, "the group's name"},
          {"SPINDRIFT/founding", "present", "a group without a file"},
          {"LAYOUT/json_layout", text, "the names of the subgroups"}};
}

/// The first of several, saying how many there are.
Error first_of(const std::vector<Error>& problems) {
  const Error& first = problems.front();
  if (problems.size() == 1) return first;
  std::string message =
      fmt::format("{} (first of {} problems; spindrift config check shows all)", first.message(), problems.size());
  Error error = Error(first.kind(), std::move(message)).at(first.place()).fix(first.fix());
  if (first.cause() != nullptr) return std::move(error).because(*first.cause());
  return error;
}

}  // namespace

struct Config::State {
  Loaded loaded;

  const Value& at(std::string_view section, std::string_view key) const {
    const Value* const value = loaded.find(section, key);
    CHECK(value != nullptr);
    return *value;
  }
};

Result<Config> Config::read(const std::string& path, const std::vector<ConfigOverride>& overrides) {
  std::vector<Error> problems;
  auto state = std::make_shared<const State>(State{load_file(path, overrides, problems)});
  if (!problems.empty()) return first_of(problems);
  return Config(std::move(state));
}

Result<Config> Config::parse(std::string_view text, const std::string& name, const std::vector<ConfigOverride>& overrides,
                             const Environment& environment) {
  std::vector<Error> problems;
  auto state = std::make_shared<const State>(State{load_text(text, name, overrides, environment, problems)});
  if (!problems.empty()) return first_of(problems);
  return Config(std::move(state));
}

std::vector<Error> Config::check(const std::string& path, const std::vector<ConfigOverride>& overrides) {
  std::vector<Error> problems;
  (void)load_file(path, overrides, problems);
  return problems;
}

std::vector<Error> Config::check_member(const std::string& path, const std::vector<ConfigOverride>& overrides) {
  std::vector<Error> problems;
  Loaded loaded = load_file(path, overrides, problems);
  std::move(loaded.unfit.begin(), loaded.unfit.end(), std::back_inserter(problems));
  return problems;
}

std::vector<Error> Config::check_text(std::string_view text, const std::string& name,
                                      const std::vector<ConfigOverride>& overrides, const Environment& environment) {
  std::vector<Error> problems;
  (void)load_text(text, name, overrides, environment, problems);
  return problems;
}

NodeId Config::local_id() const { return NodeId(static_cast<std::uint32_t>(integer("DERECHO", "local_id"))); }
const std::string& Config::group_name() const { return text("SPINDRIFT", "group_name"); }
const std::string& Config::fabric() const { return text("SPINDRIFT", "fabric"); }
std::string Config::address_of(NodeId node) const {
  return config::address_in(text("SPINDRIFT", "addresses"), node).value_or("");
}

bool Config::needs_trusted_network() const { return state_->loaded.needs_trust; }
bool Config::proves_members() const { return state_->loaded.proves_members; }
std::string Config::keys_directory() const { return keys_path(text("SPINDRIFT", "keys"), group_name(), local_id()); }
const std::string& Config::runtime_directory() const { return text("SPINDRIFT", "runtime_directory"); }
Polling Config::polling() const {
  return {.mode = text("SPINDRIFT", "poll") == "spin" ? PollMode::spin : PollMode::block,
          .spin = std::chrono::microseconds(integer("SPINDRIFT", "spin_us")),
          .calls_listeners = text("SPINDRIFT", "dds_listeners") == "poller"};
}
Duration Config::join_timeout() const { return std::chrono::milliseconds(integer("SPINDRIFT", "join_timeout_ms")); }
Duration Config::suspect_after() const { return std::chrono::milliseconds(integer("SPINDRIFT", "suspect_after_ms")); }
bool Config::partitioning_safety_disabled() const { return boolean("DERECHO", "disable_partitioning_safety"); }
const std::string& Config::log_level() const { return text("SPINDRIFT", "log_level"); }
const std::string& Config::log_file() const { return text("SPINDRIFT", "log_file"); }
const std::string& Config::audit_file() const { return text("SPINDRIFT", "audit_file"); }

Result<void> Config::begin_logging() const {
  if (state_->at("SPINDRIFT", "log_file").rank != OriginRank::standard) SPINDRIFT_TRY(log::set_file(log_file()));
  if (state_->at("SPINDRIFT", "log_level").rank != OriginRank::standard) SPINDRIFT_TRY(log::set_levels(log_level()));
  warn_of_unused();
  return {};
}

void Config::warn_of_unused() const {
  for (const Value& value : state_->loaded.values) {
    if (value.rank == OriginRank::standard || value.key->used) continue;
    log::warn(log::Room::core, "a key of the configuration has no effect in this version",
              {{"place", value.origin},
               {"key", fmt::format("[{}] {}", value.section, value.key->name)},
               {"fix", "remove it"}});
  }
}

std::uint64_t Config::state_buffer_bytes() const {
  return static_cast<std::uint64_t>(integer("SPINDRIFT", "state_buffer_size"));
}

std::vector<NodeId> Config::founders() const {
  if (!state_->loaded.view || founded_by_present(*this)) return {};
  const Value& founders = state_->at("SPINDRIFT", "founders");
  return founders.text.empty() ? std::vector<NodeId>() : ids_of(founders);
}

std::int64_t Config::integer(std::string_view section, std::string_view key) const {
  const Value& value = state_->at(section, key);
  CHECK(value.key->type == KeyType::integer);
  std::int64_t number = 0;
  const std::string& digits = value.text;
  CHECK(std::from_chars(digits.data(), digits.data() + digits.size(), number).ec == std::errc());
  return number;
}

bool Config::boolean(std::string_view section, std::string_view key) const {
  const Value& value = state_->at(section, key);
  CHECK(value.key->type == KeyType::boolean);
  return value.text == "true";
}

const std::string& Config::text(std::string_view section, std::string_view key) const {
  return state_->at(section, key).text;
}

const std::string& Config::origin(std::string_view section, std::string_view key) const {
  return state_->at(section, key).origin;
}

Result<View> Config::view() const {
  if (!state_->loaded.view) return no_layout(name());
  View view = *state_->loaded.view;
  view.table_bytes = static_cast<std::uint64_t>(integer("SPINDRIFT", "table_bytes"));
  return view;
}

Result<LayoutFunction> Config::layout_function() const {
  if (state_->loaded.plans == nullptr) return no_layout(name());
  return LayoutFunction(
      [plans = state_->loaded.plans](const std::vector<NodeId>& members, const View* previous) -> std::vector<SubgroupView> {
        return allocate(plans->layout, plans->profiles, members, previous);
      });
}

Result<Profile> profile_of(const Config& config, std::string_view name) {
  if (config.state_->loaded.plans == nullptr) return no_layout(config.name());
  const Profiles& profiles = config.state_->loaded.plans->profiles;
  if (const auto found = profiles.find(name); found != profiles.end()) return found->second;
  return Error(ErrorKind::bad_argument, fmt::format("the configuration has no profile \"{}\"", name))
      .at(config.name())
      .fix(fmt::format("add a section [SUBGROUP/{}] to the files of all members, or name another profile", name));
}

LayoutParts::LayoutParts(const Config& config) : name_(config.name()), plans_(config.state_->loaded.plans) {
  if (const auto& view = config.state_->loaded.view) members_ = view->members;
}

Result<Rank> Config::local_rank() const {
  SPINDRIFT_TRY_ASSIGN(const View ours, view());
  if (const auto rank = ours.rank_of(local_id())) return *rank;
  return no_member(state_->at("DERECHO", "local_id"), state_->at("SPINDRIFT", "members"));
}

std::map<std::string, std::string> agreed_values(const Config& config) {
  std::map<std::string, std::string> agreed;
  for (const AgreedValue& each : config.state_->loaded.agreed) agreed.emplace(each.name, each.value);
  return agreed;
}

ConfigDigest Config::digest() const { return state_->loaded.digest; }
const std::vector<std::string>& Config::notes() const { return state_->loaded.notes; }
const std::string& Config::name() const { return state_->loaded.name; }

std::vector<EffectiveValue> Config::effective() const {
  std::vector<EffectiveValue> values;
  for (const Value& value : state_->loaded.values) {
    const Key& key = *value.key;
    values.push_back({value.section, std::string(key.name), value.text, value.origin, std::string(key.documentation),
                      environment_variable(value.section, key.name), key.scope == KeyScope::group, key.used});
  }
  return values;
}

Result<Config> config_without_file(const std::string& group_name, const std::vector<std::string>& subgroups,
                                   const std::vector<ConfigOverride>& overrides) {
  std::vector<ConfigOverride> all = overrides_for(group_name, subgroups);
  all.insert(all.end(), overrides.begin(), overrides.end());
  std::vector<Error> problems;
  const std::string name = fmt::format("the group {} without a file", in_quotes(group_name));
  auto state = std::make_shared<const Config::State>(
      Config::State{load_text("", name, all, process_environment(), problems)});
  if (!problems.empty()) return problems.front();
  return Config(std::move(state));
}

bool founded_by_present(const Config& config) { return config.text("SPINDRIFT", "founding") == "present"; }

bool takes_free_id(const Config& config) {
  return founded_by_present(config) && config.state_->at("DERECHO", "local_id").rank == OriginRank::standard;
}

std::vector<std::string> contacts_of(const Config& config) {
  const std::string& text = config.text("SPINDRIFT", "contacts");
  if (text.empty()) return {};
  const auto entries = split(text, ',');
  return {entries.begin(), entries.end()};
}

bool can_begin_group(const Config& config) { return !config.founders().empty(); }

bool has_local_id(const Config& config) { return config.origin("DERECHO", "local_id") != "default"; }

Config as_node_of(const Config& config, const Roster& roster, NodeId node) {
  auto state = std::make_shared<Config::State>(*config.state_);
  std::vector<NodeId> nodes;
  std::string addresses;
  for (const NodeAddress& each : roster.nodes) {
    nodes.push_back(each.node);
    addresses += fmt::format("{}{}@{}", addresses.empty() ? "" : ", ", each.node, each.endpoint);
  }
  const auto set = [&](std::string_view section, std::string_view key, std::string text) {
    Value& value = value_of(state->loaded, section, key);
    value.text = std::move(text);
    value.rank = OriginRank::flag;
    value.origin = "the group's roster, which a contact has told";
  };
  set("SPINDRIFT", "members", listed(nodes));
  set("SPINDRIFT", "addresses", std::move(addresses));
  set("SPINDRIFT", "founders", "");
  set("SPINDRIFT", "contacts", "");
  if (!has_local_id(config)) set("DERECHO", "local_id", std::to_string(node.value()));
  View& view = state->loaded.view.emplace();
  view.members = std::move(nodes);
  view.roster = roster;
  const Plans& plans = *state->loaded.plans;
  view.subgroups = allocate(plans.layout, plans.profiles, view.members, nullptr);
  return Config(std::move(state));
}

Config as_node(const Config& config, NodeId node) {
  auto state = std::make_shared<Config::State>(*config.state_);
  for (Value& value : state->loaded.values) {
    if (value.section != "DERECHO" || value.key->name != "local_id") continue;
    value.text = std::to_string(node.value());
    value.rank = OriginRank::flag;
    value.origin = "the lowest id that no process had";
  }
  // Added to the group while that ran, perhaps: beyond what its file names.
  if (auto& view = state->loaded.view; view && !view->rank_of(node)) {
    if (view->members.size() == member_count_max) view->members.pop_back();
    view->members.push_back(node);
    view->subgroups = config::allocate(state->loaded.plans->layout, state->loaded.plans->profiles, view->members, nullptr);
  }
  return Config(std::move(state));
}

}  // namespace spindrift
