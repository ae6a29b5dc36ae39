// The other nodes that this process knows, and its relation to each. No connection is begun or ended here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/core/roster.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/views/founding.hpp>
#include <spindrift/views/installation.hpp>
#include <spindrift/views/parts.hpp>
#include <spindrift/views/pending.hpp>

namespace spindrift::views {

/// The views of the foundings by force to which two processes said in their hellos that they had bound themselves; 0: none.
struct Bindings {
  ViewId own{};
  ViewId peer{};
};

/// This process's relation to one other node.
struct Peer {
  enum class Place : std::uint8_t {
    listed,  ///< in the roster
    guest,   ///< not in it as far as this process knows, but it may be in the group's, or in the next one: it may call
    struck,  ///< not any more; its connection lasts until what it still has to know of the last view is known
  };
  enum class State : std::uint8_t {
    away,     ///< not connected
    greeted,  ///< the own hello is on its way
    spoke,    ///< the same, and its own words were kept when it was pending: they are being heard
    agreed,   ///< its hello agrees
    apart,    ///< its hello differs, or it broke the protocol; this process looks for a group, and may go on without it
  };
  enum class Standing : std::uint8_t {
    fresh,    ///< in no view yet, or not known to be
    settled,  ///< it said that it was fresh, and since then that it is in a view
    member,   ///< of a view, by its word or by this process's notice
  };
  fabric::Address address;
  Place place = Place::listed;
  State state = State::away;
  Standing standing = Standing::member;
  fabric::PeerId id;
  std::optional<bool> mappable{};  ///< by its connection, or by its last one; nothing: there was none
  ConnectionWords words{};
  std::uint64_t incarnation = 0;  ///< 0: not known
  Versions versions{};            ///< by its hello
  Bindings bindings{};            ///< on its connection
  std::optional<ViewId> first_view{};  ///< as it said when it settled
  PartedMessage parts{};
  PendingConnections pending{};
  std::vector<Join> linked{};  ///< candidates that it is linked with, by its word
  std::vector<Join> told{};    ///< likewise of this process, as it was told
  Apart apart{};               ///< in that state

  [[nodiscard]] Join who() const { return {address.node, incarnation}; }
  [[nodiscard]] PeerConnection connection() const { return {who(), id, mappable == true}; }
  /// Not the end of a process that looks for a group: a visitor could end all of one that is being founded. The connection
  /// stays, by which each learns that the other has gone, or is in a group.
  void set_apart(std::uint64_t fresh_as, std::string reason) {
    state = State::apart;
    incarnation = 0;
    apart = {address.node, fresh_as, std::move(reason)};
  }
};

/// Why that process, if it is in no view, cannot be in one behind this: it does not speak what they do. Nothing: it can.
[[nodiscard]] std::optional<std::string> keeps_out(const View& view, const Peer& peer);

class Peers {
 public:
  /// The nodes of that roster, without this one itself.
  Peers(NodeId self, std::span<const fabric::Address> roster) : self_(self) {
    for (const fabric::Address& address : roster) {
      if (address.node != self) all_.emplace_back().address = address;
    }
  }

  [[nodiscard]] auto begin() noexcept { return all_.begin(); }
  [[nodiscard]] auto end() noexcept { return all_.end(); }
  [[nodiscard]] auto begin() const noexcept { return all_.begin(); }
  [[nodiscard]] auto end() const noexcept { return all_.end(); }
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  [[nodiscard]] Peer& operator[](std::size_t at) noexcept { return all_[at]; }

  /// Null: not known.
  [[nodiscard]] Peer* find(NodeId node) noexcept;
  [[nodiscard]] const Peer* find(NodeId node) const noexcept;
  /// The one that is connected by this connection; null: none.
  [[nodiscard]] Peer* find(fabric::PeerId id) noexcept;
  /// These may call from now on, beside those that may already.
  void expect(const Roster& also);
  /// The same of one node of which nothing else is known. Null: too many are. Guests that are away are forgotten.
  [[nodiscard]] Peer* host(NodeId node);
  /// Those that were struck, and are away.
  void forget_struck();

  /// All of the roster.
  [[nodiscard]] std::vector<NodeId> nodes() const;
  /// All processes whose hello agrees.
  [[nodiscard]] std::vector<Founding::Met> met() const;
  /// Processes that are here and cannot be in a group with this one, while it looks for one.
  [[nodiscard]] std::vector<Apart> apart() const;
  /// With a process whose hello agrees.
  [[nodiscard]] std::optional<PeerConnection> connection_of(NodeId node) const;
  /// That node is of this process's host, by its connection or, if it is gone, by its last one. Nothing: there was none.
  [[nodiscard]] std::optional<bool> is_neighbor(NodeId node) const;
  /// The highest version that all those nodes speak, this one with `own` among them. Nothing: not all of them are here.
  [[nodiscard]] std::optional<std::uint32_t> spoken_by_all(std::span<const NodeId> nodes, const Versions& own) const;
  /// Those of these nodes that are not here.
  [[nodiscard]] std::vector<NodeId> missing(std::span<const NodeId> nodes) const;

 private:
  NodeId self_;
  std::vector<Peer> all_;
};

}  // namespace spindrift::views
