// States of subgroups on their way between members. A source keeps what it saved at the boundary of two views until every
// newcomer has it; pieces go out as earlier ones are acknowledged, so that a slow newcomer costs bounded memory on the way.
// Behind the state travels what its source kept back for its application, see Deliveries.
//
// The invariant to remember: a transfer belongs to one view. What an earlier view began is void, since a newcomer of the
// next one gets the state as of that boundary.
//
// Pure but for the application's own readers and writers; the poller's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spindrift/core/ids.hpp>
#include <spindrift/views/deliveries.hpp>
#include <spindrift/views/messages.hpp>
#include <spindrift/views/upcalls.hpp>

namespace spindrift::views {

/// The source and the receivers of a subgroup's state when a view begins: the lowest-ranked member that has it gives it to
/// all that have not.
struct TransferPlan {
  std::optional<NodeId> source;
  std::vector<NodeId> newcomers;
};
[[nodiscard]] TransferPlan transfer_plan(const View& view, SubgroupId id, const RankSet& loaded);

/// One subgroup's state and the deliveries behind it, as of the beginning of a view.
struct SavedState {
  std::unique_ptr<StateReader> reader;  ///< null: the application has no state
  std::vector<std::byte> kept;          ///< KeptDeliveries::encode

  [[nodiscard]] bool ready() const noexcept { return !reader || reader->ready(); }
  // Once it is ready:
  [[nodiscard]] std::optional<std::string> failure() const { return reader ? reader->failure() : std::nullopt; }
  /// It is ready, and without a failure. It may become ready at any moment: whoever asks for both asks here.
  [[nodiscard]] bool saved() const { return ready() && !failure(); }
  // And was saved:
  [[nodiscard]] std::uint64_t state_bytes() const { return reader ? reader->bytes() : 0; }
  [[nodiscard]] std::uint64_t total_bytes() const { return state_bytes() + kept.size(); }
  /// The stream's bytes from `offset` on; `to` ends within the stream.
  void read(std::uint64_t offset, std::span<std::byte> to) const;
};

class Transfers {
 public:
  /// Unacknowledged bytes of one transfer.
  static constexpr std::uint64_t window_bytes = 256U << 10U;
  /// The size of one piece, if the fabric's messages allow it.
  static constexpr std::uint64_t piece_bytes = 32U << 10U;

  /// A piece that the application took, and what is to be done about it.
  struct Taken {
    NodeId from;
    StateAck ack;                          ///< for the source; of a complete state once `loaded` is stored
    bool complete = false;                 ///< and then:
    bool impossible = false;               ///< no correct source sends it
    std::unique_ptr<StateWriter> writer;   ///< to be finished; null: the state has no bytes, or is a log and finished
    std::vector<std::byte> kept;           ///< at the source, behind the state
  };

  /// The rest outlives this object. `log`: of the logged subgroups, whose newcomers get what their logs lack in place of a
  /// state; null: there are none.
  Transfers(NodeId self, Upcalls& upcalls, const LogProgress* log = nullptr) noexcept
      : self_(self), upcalls_(upcalls), log_(log) {}

  /// A view begins, with nothing of it delivered yet; `deliveries` have heard of it. Saves the states that this node gives.
  void begin_view(const View& view, const std::vector<RankSet>& loaded, const Deliveries& deliveries);
  /// Some newcomer has not yet said that it has all of the state that this node gives it.
  [[nodiscard]] bool sending() const noexcept { return !outgoing_.empty(); }
  /// The newcomers that are to say so.
  struct Receiver {
    NodeId node;
    SubgroupId subgroup;
  };
  [[nodiscard]] std::vector<Receiver> receivers() const;
  /// A newcomer whose state the application here could not save.
  struct Unsaved {
    NodeId to;
    SubgroupId subgroup;
    std::string why;
  };
  /// Those that were not told of before. They get nothing.
  [[nodiscard]] std::vector<Unsaved> take_unsaved();
  [[nodiscard]] bool receiving() const noexcept { return !incoming_.empty() || !durable_next_.empty(); }

  /// The next pieces for newcomers that are `ready`: they know of the view. `bytes_max`: of a piece, as the fabric has it.
  [[nodiscard]] std::vector<Addressed> next_pieces(const View& view, const RankSet& ready, std::size_t bytes_max);
  void on_ack(NodeId from, const StateAck& ack);
  /// A newcomer says how much of a log it has: from now on it gets the rest.
  void on_log_request(NodeId from, const LogRequest& request);
  /// The same of this node, to sources that are `ready`; once each.
  [[nodiscard]] std::vector<Addressed> log_requests(const View& view, const RankSet& ready);
  /// A state that is complete here is acknowledged with `take_durable`; a log once it is durable.
  void await_durable(const Taken& taken) { durable_next_.push_back({taken.from, taken.ack}); }
  /// Acknowledgements of those that are by now, each once, and which subgroups' states are here with them.
  [[nodiscard]] std::vector<Addressed> take_durable(std::vector<SubgroupId>& loaded);
  /// False: it is out of turn.
  [[nodiscard]] bool on_piece(NodeId from, const StatePiece& piece);
  /// Hands to the application what has arrived of one state, if the application is ready to take deliveries; a state of no
  /// bytes asks nothing of it.
  [[nodiscard]] std::optional<Taken> take();

 private:
  struct Outgoing {
    NodeId to;
    ViewId view;
    SubgroupId subgroup;
    std::shared_ptr<const SavedState> state;
    std::uint64_t sent = 0;
    std::uint64_t acknowledged = 0;
    bool begun = false;  ///< a state of no bytes is one empty piece
    std::uint64_t log_end = 0;  ///< of a log, when the view began: what it is read up to, once its newcomer has asked
  };
  struct Incoming {
    NodeId from;
    ViewId view;
    SubgroupId subgroup;
    std::unique_ptr<StateWriter> writer{};
    LogWriter* log = nullptr;  ///< the writer, if it is one of a log
    bool asked = false;        ///< for a log
    std::vector<std::byte> kept{};  ///< taken: the deliveries behind the state
    std::uint64_t taken = 0;        ///< of the stream
    std::uint64_t state_bytes = 0;
    std::uint64_t total_bytes = 0;
    bool begun = false;
    std::vector<std::byte> waiting{};  ///< arrived, and not taken: the application is not ready. At most a window
  };
  void send_next(Outgoing& out, std::size_t bytes_max, std::vector<Addressed>& to);
  void open(Incoming& in);
  [[nodiscard]] Taken take(Incoming& in);

  NodeId self_;
  struct Complete {
    NodeId from;
    StateAck ack;
  };
  [[nodiscard]] bool is_log(SubgroupId id) const noexcept { return log_ != nullptr && log_->covers(id); }
  [[nodiscard]] bool takes(SubgroupId id) const { return is_log(id) ? log_->has_room() : upcalls_.accepts(id); }

  Upcalls& upcalls_;
  const LogProgress* log_;
  std::vector<Outgoing> outgoing_;
  std::vector<Incoming> incoming_;
  std::vector<Complete> durable_next_;  // logs
};

}  // namespace spindrift::views
