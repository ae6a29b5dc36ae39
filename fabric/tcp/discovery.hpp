// Asking processes of which only the addresses are known what they tell of their group, before this one has a fabric.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/connected/socket_address.hpp>

namespace spindrift::fabric::tls {
class Credentials;
}

namespace spindrift::fabric::tcp {

struct DiscoveryOptions {
  std::shared_ptr<tls::Credentials> credentials{};  ///< null: nobody proves anything
  Duration patience = std::chrono::seconds(3);      ///< for each to answer
  /// Once somebody has answered, the others have so long: one of them may know something newer.
  Duration after_the_first = std::chrono::milliseconds(100);
};

/// The outcome for one address.
struct DiscoveryOutcome {
  std::string from;            ///< "10.0.0.1 port 7400"
  Result<std::string> answer;  ///< errors: refused, member_lost, timed_out, resource, bad_input
  bool nobody = false;         ///< that host has said that nobody listens there
};

/// Calls all of them at once, each on a connection of its own, and returns when each has answered, failed, or taken too
/// long. With credentials both ends are proved to be of the group, and the other one to be a member of it. At most 64 KiB of
/// an answer are taken. Errors: of an outcome; none of its own.
[[nodiscard]] std::vector<DiscoveryOutcome> discover(const std::vector<connected::SocketAddress>& at,
                                                     const DiscoveryOptions& options, const Clock& clock);

}  // namespace spindrift::fabric::tcp
