// How the members of a measured group reach each other when all of them are on this host: the settings for a fabric, and the
// keys that it needs, which are made for the run and go with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/bench/group_config.hpp>
#include <spindrift/core/config/config.hpp>

namespace spindrift::bench {

class GroupNetwork {
 public:
  /// Nothing is set: members reach each other as in a configuration that says nothing.
  GroupNetwork() = default;
  /// `fabric` and `security` are values of [SPINDRIFT], empty: not set. Nodes are 0 … members − 1, each with an address of
  /// its own on loopback, or, over a fabric that lets neighbors read each other in place, all with the same and each with a
  /// port of its own; by this process's number, so that two benches at a time do not meet. Keys are made where members need
  /// them. Throws Exception: bad_argument, resource.
  [[nodiscard]] static GroupNetwork make(const std::string& fabric, const std::string& security, std::uint32_t members);

  [[nodiscard]] const std::vector<ConfigOverride>& settings() const noexcept { return settings_; }
  /// "tcp", "tcp, security none"; empty: nothing is set.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Whether members write to each other over a network, instead of reading in place.
  [[nodiscard]] bool between_hosts() const noexcept { return between_hosts_; }
  /// Whether all that members say is sealed.
  [[nodiscard]] bool sealed() const noexcept { return sealed_; }

 private:
  std::string name_;
  bool between_hosts_ = false;
  bool sealed_ = false;
  std::vector<ConfigOverride> settings_;
  std::optional<PrivateDirectory> keys_;
};

}  // namespace spindrift::bench
