// The configuration of a process that joins, with an id in it: that of a process to which nobody gave one is found here.
#pragma once

#include <optional>
#include <utility>

#include <spindrift/core/config/without_file.hpp>
#include <spindrift/fabric/own_id.hpp>

namespace spindrift {

/// Takes a free id if the configuration leaves that to this process, and keeps others from it while it lives, which has to
/// be as long as the endpoint does. Move-only.
class OwnConfig {
 public:
  /// Throws what fabric::OwnId::take refuses with; bad_config as Config::view.
  explicit OwnConfig(Config config) : config_(std::move(config)) {
    if (!takes_free_id(config_)) return;
    const View everybody = value_or_throw(config_.view());
    id_.emplace(value_or_throw(
        fabric::OwnId::take(config_.runtime_directory(), config_.group_name(), everybody.members)));
    config_ = as_node(config_, id_->node());
  }

  /// The configuration as that node's.
  [[nodiscard]] const Config& operator*() const noexcept { return config_; }
  [[nodiscard]] const Config* operator->() const noexcept { return &config_; }

 private:
  Config config_;
  std::optional<fabric::OwnId> id_;
};

}  // namespace spindrift
