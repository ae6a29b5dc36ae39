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

/// The kind of the error that a process tells who looks for a group itself. One that has left one, or was removed, tells
/// another: that group may go on.
inline constexpr ErrorKind looks_for_group = ErrorKind::timed_out;

class Contacts {
 public:
  /// Reads the keys, if members prove themselves. Errors: bad_config (nothing says which node this is, or its keys are
  /// none), refused (they are revoked).
  [[nodiscard]] static Result<Contacts> open(const Config& config);

  /// The node that this process is to be: the configuration's or its key's.
  [[nodiscard]] NodeId self() const noexcept { return self_; }
  /// The outcome of asking all of them.
  struct Answers {
    /// The newest roster that admits this node or, if none does, the newest. Nothing: none of them is in the group.
    std::optional<Roster> roster;
    bool in_no_group = true;  ///< each has said so, or its host has that nobody listens there: no other group is hidden
    std::string texts;        ///< of the others: what came of each, in words, and how that can be mended
  };
  /// Asks all of them once. Waits for name servers and for contacts that do not answer, 3 s at most for the latter.
  [[nodiscard]] Answers ask(const Clock& clock) const;

 private:
  Contacts(Config config, NodeId self, std::shared_ptr<fabric::tls::Credentials> credentials)
      : config_(std::move(config)), self_(self), credentials_(std::move(credentials)) {}
  [[nodiscard]] std::string explained(const Error& why) const;

  Config config_;
  NodeId self_;
  std::shared_ptr<fabric::tls::Credentials> credentials_;  // null: nobody proves anything
};

/// The configuration of a node that has contacts: with the nodes of the group that one of them is in. If none is, with the
/// nodes of the last view that this node remembers. If it remembers none, as it is, if it can begin one: at once by founders
/// that it names, for these have to be there; alone only when all contacts are known to be in no group. Throws what
/// Contacts::open refuses with; timed_out (none of this came to be until join_timeout_ms was over); refused (the group's
/// roster does not admit this node).
[[nodiscard]] Config as_contacts_say(const Config& config, const Clock& clock);

}  // namespace spindrift::group
