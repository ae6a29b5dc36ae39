// Asking the contacts of a configuration for the group's roster, before this process has a fabric.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/config/config.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/core/roster.hpp>

namespace spindrift::fabric::tls {
class Credentials;
}

namespace spindrift::group {

class Contacts {
 public:
  /// Reads the keys, if members prove themselves. Errors: bad_config (nothing says which node this is, or its keys are
  /// none), refused (they are revoked).
  [[nodiscard]] static Result<Contacts> open(const Config& config);

  /// The node that this process is to be: the configuration's or its key's.
  [[nodiscard]] NodeId self() const noexcept { return self_; }
  /// Asks all of them once. The newest roster that one of them tells; nothing: none of them is in a group, and `answers`
  /// says what they are. Waits for name servers and for contacts that do not answer, 3 s at most for the latter.
  [[nodiscard]] std::optional<Roster> ask(const Clock& clock);
  /// The outcome of each that was asked last, in words, and how that can be mended.
  [[nodiscard]] const std::string& answers() const noexcept { return answers_; }

 private:
  Contacts(Config config, NodeId self, std::shared_ptr<fabric::tls::Credentials> credentials)
      : config_(std::move(config)), self_(self), credentials_(std::move(credentials)) {}
  [[nodiscard]] std::string explained(const Error& why) const;

  Config config_;
  NodeId self_;
  std::shared_ptr<fabric::tls::Credentials> credentials_;  // null: nobody proves anything
  std::string answers_;
};

/// The configuration of a node that has contacts: with the nodes of the group that one of them is in, or as it is if they
/// are in none and it can begin one. Throws what Contacts::open refuses with; timed_out (none was in a group until
/// join_timeout_ms was over); refused (the group's roster does not admit this node).
[[nodiscard]] Config as_contacts_say(const Config& config, const Clock& clock);

}  // namespace spindrift::group
