// How a private message would reach another member now.
#pragma once

#include <cstdint>
#include <optional>

#include <spindrift/core/ids.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/views/member.hpp>

namespace spindrift::group {

struct PrivateRoute {
  enum class Way : std::uint8_t {
    gone,  ///< not in the present view, or suspected in it: it takes nothing from here any more
    shut,  ///< not connected, or the member is not known to be in this view yet: it would not take the message
    open,  ///< it takes what is sent
  };
  Way way = Way::gone;
  std::optional<fabric::PeerId> connection{};  ///< with this member, if there is one
};

/// To another node; on the poller's thread.
[[nodiscard]] PrivateRoute private_route(const views::Member& from, NodeId to);

}  // namespace spindrift::group
