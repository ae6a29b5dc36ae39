// The configuration of a process that joins, with all in it that others had to be asked for: the nodes of a group that
// contacts tell of, and an id for a process to which nobody gave one.
#pragma once

#include <optional>

#include <spindrift/core/config/without_file.hpp>
#include <spindrift/fabric/own_id.hpp>

namespace spindrift {

/// Asks the contacts, if there are any, for the nodes of the group. Takes a free id if the configuration leaves that to this
/// process, of those in the roster that members of this host tell or, if no group runs, in the configuration. It keeps
/// others from it while it lives, which has to be as long as the endpoint does. Move-only.
class OwnConfig {
 public:
  /// Throws what group::as_contacts_say and fabric::OwnId::take throw or refuse with; bad_config as Config::view.
  explicit OwnConfig(Config config);

  /// The configuration as that node's.
  [[nodiscard]] const Config& operator*() const noexcept { return config_; }
  [[nodiscard]] const Config* operator->() const noexcept { return &config_; }

 private:
  Config config_;
  std::optional<fabric::OwnId> id_;
};

}  // namespace spindrift
