// Messages on their way to the application: one upcall's worth of pointers into the senders' rings, and how much of a
// subgroup's turn is left.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include <spindrift/core/counters.hpp>
#include <spindrift/core/histogram.hpp>
#include <spindrift/smc/delivery.hpp>
#include <spindrift/smc/subgroup_rows.hpp>

namespace spindrift::smc {

/// Bounds of what a subgroup delivers before it is the next one's turn: the upcall with which it has as many messages, or
/// bytes, is the last of its turn.
struct TurnLimits {
  std::uint64_t messages = 1024;
  std::uint64_t bytes = std::uint64_t{1} << 20;
  std::uint64_t batch = ~std::uint64_t{0};  ///< messages of one upcall; its batch may be smaller yet
};
inline constexpr TurnLimits no_limits{~std::uint64_t{0}, ~std::uint64_t{0}};

/// The receiver of deliveries. Called by the step, on the poller thread.
class DeliverySink {
 public:
  virtual ~DeliverySink() = default;
  /// The batch, in delivery order; never empty. The payloads are valid until it returns.
  virtual void on_delivery(SubgroupId subgroup, std::span<const Delivery> batch) = 0;
  /// Space became free in the own ring of this subgroup.
  virtual void on_space(SubgroupId subgroup) = 0;
  /// Whether the application is ready to take deliveries of this subgroup; until then they wait, and nothing is lost. Asked
  /// before every batch.
  [[nodiscard]] virtual bool accepts(SubgroupId subgroup) const = 0;
};

/// Histograms of messages per batch have bounds up to 2^10.
inline constexpr std::size_t batch_bounds = 11;

class DeliveryBatch {
 public:
  /// A batch has at most `messages_max` messages. `sink` and the view outlive this object.
  DeliveryBatch(const SubgroupRows& rows, std::uint64_t messages_max, DeliverySink& sink, CounterBlock& counters)
      : subgroup_(rows.id()),
        view_(rows.table().view().id),
        senders_(rows.subgroup().senders),
        sink_(sink),
        batch_(messages_max),
        room_max_(messages_max),
        messages_(rows.counter(counters, "delivered")),
        delivered_bytes_(rows.counter(counters, "delivered_bytes")),
        batches_(rows.counter(counters, "delivery_batches")),
        sizes_(rows.histogram(counters, "delivery_batch", batch_bounds)) {}

  [[nodiscard]] bool accepted() const { return sink_.accepts(subgroup_); }
  /// Messages that still fit.
  [[nodiscard]] std::size_t room() const noexcept { return room_max_ - size_; }
  /// The batches of this turn have at most so many, 1 or more; while the batch is empty.
  void limit(std::uint64_t messages) noexcept { room_max_ = std::min<std::uint64_t>(batch_.size(), messages); }

  /// The place of the next message. A caller that puts in several counts on from here, and calls `extend` once.
  [[nodiscard]] Delivery* next() noexcept { return batch_.data() + size_; }
  /// Fills in what goes there, field by field: a structure that is copied right after its halves were written waits until
  /// they have left the store buffer (decision 0022).
  [[gnu::always_inline]] void put(Delivery& delivery, std::size_t sender, MessageIndex index, SequenceNumber sequence,
                                  std::span<const std::byte> payload) const {
    delivery.sender = senders_[sender];
    delivery.sender_rank = SenderRank(static_cast<std::uint32_t>(sender));
    delivery.index = index;
    delivery.sequence = sequence;
    delivery.payload = payload;
    delivery.view = view_;
  }
  /// All up to `end`, with payloads of so many bytes, are in the batch.
  void extend(const Delivery* end, std::uint64_t bytes) noexcept {
    size_ = static_cast<std::size_t>(end - batch_.data());
    bytes_ += bytes;
  }

  /// Hands the batch over and counts it against what is left of the turn. False: the turn is over.
  [[nodiscard]] bool hand_over(TurnLimits& left) {
    left.messages -= std::min(left.messages, std::uint64_t{size_});
    left.bytes -= std::min(left.bytes, bytes_);
    hand_over();
    return left.messages > 0 && left.bytes > 0;
  }
  void hand_over() {
    if (size_ == 0) return;
    // Before the upcall, so that a thread that learns of the delivery from it finds it counted.
    messages_.add(size_);
    delivered_bytes_.add(bytes_);
    batches_.add(1);
    sizes_.add(size_);
    sink_.on_delivery(subgroup_, std::span(batch_).first(size_));
    size_ = 0;
    bytes_ = 0;
  }

 private:
  SubgroupId subgroup_;
  ViewId view_;
  std::span<const NodeId> senders_;
  DeliverySink& sink_;
  std::vector<Delivery> batch_;  // has the largest size always
  std::size_t room_max_;         // deliveries that fit
  std::size_t size_ = 0;         // deliveries in it
  std::uint64_t bytes_ = 0;
  Counter messages_;
  Counter delivered_bytes_;
  Counter batches_;
  Histogram sizes_;
};

}  // namespace spindrift::smc
