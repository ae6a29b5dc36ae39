// The calls by which the protocol asks and tells the application, on the thread that steps it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <spindrift/core/view.hpp>
#include <spindrift/smc/multicast.hpp>
#include <spindrift/views/new_view.hpp>

namespace spindrift {
struct ObjectBoundary;
}

namespace spindrift::views {

/// A subgroup's state as of one boundary, kept until all newcomers have it.
class StateReader {
 public:
  virtual ~StateReader() = default;
  /// All of it is here: the application may save it on a thread of its own. The rest is not called before.
  [[nodiscard]] virtual bool ready() const noexcept { return true; }
  /// Once it is ready: why the application could not save it. Nothing: it could. The rest is not called otherwise.
  [[nodiscard]] virtual std::optional<std::string> failure() const { return std::nullopt; }
  [[nodiscard]] virtual std::uint64_t bytes() const noexcept = 0;  ///< of the whole state
  /// Fills `to` with the bytes from `offset` on; in range.
  virtual void read(std::uint64_t offset, std::span<std::byte> to) = 0;
};

/// Takes a subgroup's state piece by piece. Destroyed without `finish`: the transfer was given up, nothing may have changed.
class StateWriter {
 public:
  virtual ~StateWriter() = default;
  virtual void write(std::span<const std::byte> piece) = 0;  ///< in order, without a gap
  /// All of it is here and its digest is right: load it. Deliveries follow when that is done, which may be on a thread of
  /// the application's own.
  virtual void finish() = 0;
};
/// The calls by which a member tells its application, on the poller thread.
class Upcalls : public smc::DeliverySink {
 public:
  /// Whether the application is still at work, on a thread of its own, on what `on_delivery` gave it. `accepts` is false
  /// then, and the view does not end before that is over.
  [[nodiscard]] virtual bool busy(SubgroupId subgroup) const = 0;
  /// Between the last delivery of the old view and the first of the new one.
  virtual void on_view(const NewView& view) = 0;
  /// In this subgroup a view begins: behind `on_view`, and behind all deliveries of the views before, which may still be
  /// waiting for the application then. The member that gets the state hears of the boundaries among the deliveries behind
  /// it, too.
  virtual void on_boundary(SubgroupId subgroup, const ObjectBoundary& boundary) = 0;
  /// This many own messages of an ended view may not have reached every survivor: in unordered mode what was under way; in
  /// ordered mode only what this node can send no more, because it was moved out of the subgroup's senders or leaves while
  /// it is inadequate, and what it sent before it had a state that is lost now.
  virtual void on_dropped(SubgroupId subgroup, std::uint64_t messages) = 0;
  /// A process of that node asked to be in the group and was turned away, or left, for what it said. `reason` is for people.
  virtual void on_turned_away(NodeId node, const std::string& reason) {
    static_cast<void>(node);
    static_cast<void>(reason);
  }
  /// Whether the application still saves or loads this subgroup's state, on a thread of its own. `accepts` is false then;
  /// but the group goes on, and the view may end meanwhile.
  [[nodiscard]] virtual bool state_at_work(SubgroupId subgroup) const {
    static_cast<void>(subgroup);
    return false;
  }
  /// The application's state of this subgroup, now: at the boundary of two views, as `load_state` has left it. Null: it has
  /// none.
  [[nodiscard]] virtual std::unique_ptr<StateReader> save_state(SubgroupId subgroup) = 0;
  /// A state is coming for this newcomer.
  [[nodiscard]] virtual std::unique_ptr<StateWriter> load_state(SubgroupId subgroup) = 0;
  /// Logged subgroups: the messages of the own log up to that version, behind those that the application was given, come
  /// before all that follows. `state_at_work` until it has them.
  virtual void replay(SubgroupId subgroup, std::uint64_t to) {
    static_cast<void>(subgroup);
    static_cast<void>(to);
  }
  /// Likewise: the messages of lower versions are durable at every member.
  virtual void on_durable(SubgroupId subgroup, std::uint64_t version) {
    static_cast<void>(subgroup);
    static_cast<void>(version);
  }
  /// A private message of another member of the view.
  virtual void on_private(NodeId from, std::span<const std::byte> message) = 0;
};

}  // namespace spindrift::views
