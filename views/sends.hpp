// The own messages across views: where application threads send, what an ended view left over, and what must be delivered
// before this node may leave.
//
// The invariant to remember: what was sent is delivered, sent again in the next view before anything new, or reported as
// dropped. So a gate is opened only behind the last leftover of its subgroup.
//
// The poller's, except the gates. What is left over lies in the memory of its epoch, which lives as long as `uses` says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/views/epoch.hpp>
#include <spindrift/views/send_gate.hpp>
#include <spindrift/views/upcalls.hpp>

namespace spindrift::views {

class Sends {
 public:
  enum class State : std::uint8_t {
    unsettled,  ///< something is to be sent again, or a gate that may be open is not
    settled,    ///< until a view ends or begins, nothing is to be done
    sealed,     ///< this node leaves: its last messages are out, and counted
  };
  /// The outcome of `wind_up`.
  struct Outlook {
    bool progress = false;
    bool sent = false;  ///< nothing waits any more, here or with the application
  };

  /// `subgroups`: of the layout, whose gates are there before the first view. `upcalls` outlives this object.
  Sends(std::size_t subgroups, Upcalls& upcalls);

  /// One per subgroup of the present view, null beyond: what is created later at the place of one that was dropped gets
  /// another. Threads that use it share it.
  [[nodiscard]] std::shared_ptr<SendGate> gate(SubgroupId id) const {
    return id.value() < gates_.size() ? gates_[id.value()] : nullptr;
  }
  [[nodiscard]] State state() const noexcept { return state_; }

  /// This view is the present one; its gates open with the next `settle`.
  void begin_view(const View& view);
  /// Nothing new is sent in that subgroup as long as the present view lasts: its threads wait. Whether everything that this
  /// node sent there is delivered by all its members, or reported as dropped where there are none. In an active view.
  [[nodiscard]] bool silence(SubgroupId id, Epoch& present);
  /// In an active view: first what earlier views left over, in order, when no thread is inside any more; then new messages,
  /// unless this node leaves. True if anything was done.
  bool settle(Epoch& present, bool leaving);
  void close();
  /// Nothing is sent any more: a thread that waits for space learns it.
  void end();

  /// Says how many unordered messages of a view that has ended may not have reached everybody.
  void report_dropped(Epoch& ended);
  /// A message that was committed in that view and lies beyond its trim goes first in the next view in which this node
  /// sends.
  void keep_leftovers(Epoch& ended);
  /// Messages in this epoch's memory are still to be sent again.
  [[nodiscard]] bool uses(const Epoch& epoch) const noexcept;

  /// This node wants to leave. `drained`: so many subgroups, the first ones, have nothing that the application is to take.
  [[nodiscard]] Outlook wind_up(Epoch& present, std::size_t drained);
  /// Behind `wind_up`, when all was sent: whether every member of the view has delivered it.
  [[nodiscard]] bool delivered_everywhere(Epoch& present);

 private:
  /// Own messages of an ended view that lie beyond its trim.
  struct Leftovers {
    Epoch* from = nullptr;
    std::optional<std::span<const std::byte>> next;  ///< taken, and not yet sent
  };
  bool settle(SubgroupId id, Epoch& present, bool leaving);
  void grow(std::size_t subgroups);
  bool resend(SubgroupId id, Epoch& present);
  bool give_up(SubgroupId id);
  void seal(Epoch& present);

  Upcalls& upcalls_;
  State state_ = State::unsettled;
  std::vector<std::shared_ptr<SendGate>> gates_;  // by subgroup
  std::vector<bool> silent_;                      // by subgroup: until another view begins
  std::vector<std::deque<Leftovers>> leftovers_;  // by subgroup, in the order in which they are sent again
  std::vector<std::uint64_t> seals_;  // by subgroup: own messages that are to be delivered everywhere; sealed
};

}  // namespace spindrift::views
