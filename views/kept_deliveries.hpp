// The deliveries of one subgroup that the application cannot take yet. Usually there are none: deliveries pass through.
// While the subgroup's state is still on its way, or the application takes nothing at the end of a view, they are kept here,
// in order, and handed over afterwards; between them the boundaries of the views.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <variant>
#include <vector>

#include <spindrift/smc/delivery.hpp>
#include <spindrift/views/object_tracker.hpp>
#include <spindrift/views/upcalls.hpp>

namespace spindrift::views {

class KeptDeliveries {
 public:
  explicit KeptDeliveries(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}
  KeptDeliveries(KeptDeliveries&&) = default;
  KeptDeliveries(const KeptDeliveries&) = delete;  // what is kept points into itself
  KeptDeliveries& operator=(const KeptDeliveries&) = delete;

  /// The state is on its way; whatever is kept belongs to a past that it includes.
  void begin_loading() {
    state_ = State::loading;
    drop_deliveries();
  }
  void end_loading() noexcept {
    if (loading()) state_ = State::settling;
  }
  [[nodiscard]] bool loading() const noexcept { return state_ == State::loading; }
  /// The state is here, and the application has not been ready since: deliveries are kept until it first is.
  [[nodiscard]] bool settling() const noexcept { return state_ == State::settling; }

  /// Deliveries may go past, behind `pass_boundaries`.
  [[nodiscard]] bool passes() const noexcept { return !loading() && empty(); }
  [[nodiscard]] bool has_space() const noexcept { return bytes_ < bytes_max_; }
  /// No delivery is kept.
  [[nodiscard]] bool empty() const noexcept { return deliveries_ == 0; }
  /// Neither a delivery nor a boundary waits, nor anything for the state.
  [[nodiscard]] bool idle() const noexcept { return state_ == State::settled && kept_.empty(); }

  void keep(std::span<const Delivery> batch);
  /// A view begins, behind all that is kept.
  void keep(ObjectBoundary boundary);
  /// Boundaries stay: what was handed over before has an end there.
  void drop_deliveries();
  /// All that are kept, in order; they may be given versions.
  template <class Visit>
  void each_delivery(Visit&& visit) {
    for (Kept& kept : kept_) {
      if (auto* const message = std::get_if<Message>(&kept)) visit(message->delivery);
    }
  }
  /// How many of the kept deliveries are of this sender.
  [[nodiscard]] std::uint64_t count_of(NodeId sender) const;
  /// Tells of the boundaries that no kept delivery is before, loading or not; if the application is busy with one, later.
  void pass_boundaries(SubgroupId id, Upcalls& to);
  /// The same, and hands over up to one batch; true if it did.
  bool flush(SubgroupId id, Upcalls& to);

  /// The deliveries that are kept and the boundaries among and behind them, as bytes for a newcomer whose source has not yet
  /// handed them over; empty if there is no delivery.
  [[nodiscard]] std::vector<std::byte> encode() const;
  /// Takes what a source had kept, before everything kept here: what deliveries are not before has been told by then. False,
  /// and nothing taken, if the bytes are impossible.
  [[nodiscard]] bool prepend(std::span<const std::byte> bytes);

 private:
  enum class State : std::uint8_t { settled, loading, settling };
  struct Message {
    Delivery delivery;  ///< payload points into bytes
    std::vector<std::byte> bytes;
  };
  using Kept = std::variant<Message, ObjectBoundary>;
  [[nodiscard]] static Message copy_of(const Delivery& delivery);
  [[nodiscard]] static std::uint64_t bytes_of(const Kept& kept) noexcept;
  void count(const Kept& kept) noexcept;
  void push(Kept kept);
  void pop() noexcept;

  std::uint64_t bytes_max_;
  std::uint64_t bytes_ = 0;
  std::uint64_t deliveries_ = 0;  // in kept_
  State state_ = State::settled;
  std::deque<Kept> kept_;
  std::vector<Delivery> batch_;
};

}  // namespace spindrift::views
