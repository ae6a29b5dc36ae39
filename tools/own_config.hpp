// The configuration of a command that joins, with an id in it.
#pragma once

#include <optional>
#include <utility>

#include <spindrift/core/config/without_file.hpp>
#include <spindrift/fabric/own_id.hpp>

namespace spindrift::tools {

/// Takes a free id if the configuration leaves that to this process, and keeps it while it lives.
class OwnConfig {
 public:
  /// Throws as fabric::OwnId::take.
  explicit OwnConfig(Config config) : config_(std::move(config)) {
    if (!takes_free_id(config_)) return;
    const View everybody = value_or_throw(config_.view());
    id_.emplace(value_or_throw(
        fabric::OwnId::take(config_.runtime_directory(), config_.group_name(), everybody.members)));
    config_ = as_node(config_, id_->node());
  }

  [[nodiscard]] const Config& operator*() const noexcept { return config_; }

 private:
  std::optional<fabric::OwnId> id_;
  Config config_;
};

}  // namespace spindrift::tools
