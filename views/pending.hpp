// A node's later connections: of its next start, or of one that died before. Which of a node's connections is of use cannot
// be told from their order, so what is said on these is kept until the present one is over or proves to be of less use.
//
// The invariant to remember: what a pending connection said is heard whole and in order once it is adopted, or not at all.
//
// Pure, within bounds; the poller's.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/fabric/fabric.hpp>
#include <spindrift/views/messages.hpp>
#include <spindrift/views/parts.hpp>

namespace spindrift::views {

/// Makes a message of bytes that came on the connection of these words: it knows the group's identity and shapes.
using Decoder = std::function<std::optional<Message>(std::span<const std::byte>, const ConnectionWords&)>;

struct PendingConnection {
  fabric::PeerId id;
  bool mappable = false;
  ConnectionWords words{};
  ViewId own_binding{};   ///< as for a peer
  bool greeted = false;  ///< its first words were a hello of this group
  std::size_t bytes = 0;  ///< of all that is kept in `events`
  PartedMessage parts{};
  std::vector<fabric::Event> events{};

  [[nodiscard]] bool spoke() const noexcept { return !events.empty(); }
  /// Keeps what it says. False: it says too much.
  [[nodiscard]] bool keep(fabric::Event&& event, const Decoder& decode);
};

class PendingConnections {
 public:
  /// One more. Returns the oldest if there are too many: it is to be ended.
  [[nodiscard]] std::optional<fabric::PeerId> add(PendingConnection connection);
  [[nodiscard]] PendingConnection* find(fabric::PeerId id) noexcept;
  void remove(fabric::PeerId id);
  [[nodiscard]] bool empty() const noexcept { return list_.empty(); }
  [[nodiscard]] const std::vector<PendingConnection>& list() const noexcept { return list_; }
  /// None is left.
  void end_all(fabric::Fabric& fabric);
  /// Makes the first one of which `better` is true the next to be adopted. False: there is none.
  [[nodiscard]] bool prefer(const std::function<bool(const PendingConnection&)>& better);
  /// Out of the list: the last of those that have spoken, or the last. Not empty.
  [[nodiscard]] PendingConnection adopt();

 private:
  std::vector<PendingConnection> list_;  // the next to be adopted last
};

}  // namespace spindrift::views
