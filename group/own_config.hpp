// The configuration of a process that joins, with an id in it: that of a process to which nobody gave one is found here.
#pragma once

#include <optional>

#include <spindrift/core/config/without_file.hpp>
#include <spindrift/fabric/own_id.hpp>

namespace spindrift {

/// Takes a free id if the configuration leaves that to this process, of those in the roster that members of this host tell
/// or, if no group runs, in the configuration. It keeps others from it while it lives, which has to be as long as the
/// endpoint does. Move-only.
class OwnConfig {
 public:
  /// Throws what fabric::OwnId::take refuses with; bad_config as Config::view.
  explicit OwnConfig(Config config);

  /// The configuration as that node's.
  [[nodiscard]] const Config& operator*() const noexcept { return config_; }
  [[nodiscard]] const Config* operator->() const noexcept { return &config_; }

 private:
  Config config_;
  std::optional<fabric::OwnId> id_;
};

}  // namespace spindrift
