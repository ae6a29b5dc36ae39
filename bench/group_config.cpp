// Configurations are made as text and go through the parser like everybody's, so that a bench measures what a user gets.
#include <spindrift/bench/group_config.hpp>

#include <algorithm>
#include <bit>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <spindrift/core/check.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/smc/record.hpp>

namespace spindrift::bench {

namespace {

nlohmann::json first_nodes(std::uint32_t count) {
  nlohmann::json nodes = nlohmann::json::array();
  for (std::uint32_t node = 0; node < count; ++node) nodes.push_back(node);
  return nodes;
}

}  // namespace

std::string numbered_subgroup(std::uint32_t number) {
  return number == 0 ? std::string(subgroup_name) : fmt::format("{}{}", subgroup_name, number);
}

Profile profile_for(std::uint64_t message_bytes, std::uint64_t window, std::uint64_t ring_bytes) {
  // Said by the configuration itself, so that it stays true.
  const auto config = Config::parse(fmt::format("[DERECHO]\nlocal_id = 0\n[LAYOUT]\njson_layout = '[{{\"name\": \"{}\", "
                                                "\"members\": [0]}}]'\n[SUBGROUP/DEFAULT]\nmax_smc_payload_size = {}\n",
                                                subgroup_name, message_bytes),
                                    "what a user gets");
  CHECK(config && config->view());
  Profile profile = config->view()->subgroups.front().profile;
  if (window > 0) profile.window_messages = window;
  if (ring_bytes > 0) profile.ring_bytes = ring_bytes;
  return profile;
}

Profile tight_profile(std::uint64_t message_bytes, std::uint64_t window) noexcept {
  const std::uint64_t record = smc::record_bytes(message_bytes);
  return {std::bit_ceil(std::max({ring_bytes_min, 2 * record + 16, window * record})), window, message_bytes};
}

std::uint64_t most_on_their_way(const Profile& profile, std::uint64_t message_bytes) noexcept {
  return std::min(profile.window_messages, profile.ring_bytes / smc::record_bytes(message_bytes));
}

std::string loopback_addresses(std::uint32_t members) {
  std::string addresses;
  for (std::uint32_t node = 0; node < members; ++node)
    addresses += fmt::format("{}{}@127.77.{}.{}:7400", node == 0 ? "" : ", ", node, node / 200, node % 200 + 1);
  return addresses;
}

std::string group_config_text(const GroupShape& shape, const std::string& runtime_directory) {
  nlohmann::json layout = nlohmann::json::array();
  for (std::uint32_t number = 0; number < shape.subgroups; ++number) {
    layout.push_back({{"name", numbered_subgroup(number)},
                      {"members", first_nodes(shape.members)},
                      {"senders", first_nodes(shape.senders)}});
    if (number + shape.logged_subgroups >= shape.subgroups) layout.back()["storage"] = "logged";
  }
  return fmt::format(
      "[SPINDRIFT]\ngroup_name = bench\nruntime_directory = {}\n\n[LAYOUT]\njson_layout = '{}'\n\n"
      "[SUBGROUP/DEFAULT]\nmax_smc_payload_size = {}\nwindow_size = {}\nring_size = {}\n",
      runtime_directory, layout.dump(), shape.profile.message_bytes_max, shape.profile.window_messages,
      shape.profile.ring_bytes);
}

Config member_config(const GroupShape& shape, const std::string& runtime_directory, NodeId node) {
  std::vector<ConfigOverride> overrides = shape.settings;
  overrides.push_back({"DERECHO/local_id", std::to_string(node.value()), "the bench"});
  return value_or_throw(Config::parse(group_config_text(shape, runtime_directory), "the bench's configuration", overrides));
}

void log_errors_only() { value_or_throw(log::set_levels("error")); }

PrivateDirectory PrivateDirectory::make() {
  return PrivateDirectory(std::make_unique<WorkDirectory>("spindrift-bench-", false));
}

}  // namespace spindrift::bench
