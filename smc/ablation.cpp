// Experiments do these steps in place of the product's.
#include <spindrift/smc/ablation.hpp>

#include <bit>
#include <utility>

#include <spindrift/smc/multicast_step.hpp>

namespace spindrift::smc {

std::uint32_t relay::chain(std::uint32_t members, std::uint32_t, std::uint64_t, std::uint32_t member) noexcept {
  return (member + members - 1) % members;
}

// The others follow the sender, turned by one place with every message.
std::uint32_t relay::tree(std::uint32_t members, std::uint32_t sender, std::uint64_t ordinal,
                          std::uint32_t member) noexcept {
  const std::uint32_t others = members - 1;
  const auto turn = static_cast<std::uint32_t>(ordinal % others);
  const std::uint32_t place = (member + members - sender) % members - 1;
  const std::uint32_t node = (place + others - turn) % others + 1;
  const std::uint32_t parent = node - std::bit_floor(node);
  return parent == 0 ? sender : (sender + 1 + (parent - 1 + turn) % others) % members;
}

Ablation Ablation::of_batches(std::uint64_t send, std::uint64_t receive, std::uint64_t delivery) {
  Ablation ablation;
  ablation.send_batch_max = send;
  ablation.receive_batch_max = receive;
  ablation.delivery_batch_max = delivery;
  return ablation;
}

bool Ablation::changes_nothing() const noexcept {
  return send_batch_max == ~std::uint64_t{0} && receive_batch_max == ~std::uint64_t{0} && null_sends && clock == nullptr;
}

/// One step, whose parts end one after the other.
class AblatedStepper::Step {
 public:
  Step(const Ablation& ablation, Spent* spent) : ablation_(ablation), spent_(spent), last_(now()) {}
  [[nodiscard]] std::uint64_t send_batch_max() const noexcept { return ablation_.send_batch_max; }
  [[nodiscard]] std::uint64_t receive_batch_max() const noexcept { return ablation_.receive_batch_max; }
  [[nodiscard]] bool null_sends() const noexcept { return ablation_.null_sends; }
  void end_of_receive() { end(PassPart::receive); }
  void end_of_null_sends() { end(PassPart::null_sends); }
  void end_of_send() { end(PassPart::send); }
  void end_of_stability() { end(PassPart::stability); }
  void end(PassPart part) {
    if (ablation_.clock == nullptr) return;
    const Time then = std::exchange(last_, now());
    (*spent_)[static_cast<std::size_t>(part)].fetch_add(static_cast<std::uint64_t>((last_ - then).count()),
                                                        std::memory_order_relaxed);
  }

 private:
  [[nodiscard]] Time now() const { return ablation_.clock == nullptr ? Time() : ablation_.clock(); }

  const Ablation& ablation_;
  Spent* spent_;  // null without a clock
  Time last_;
};

bool AblatedStepper::send_and_receive(Multicast& multicast, std::uint64_t publish_bytes_max) {
  return multicast.step(publish_bytes_max, Step(ablation_, spent(multicast.id())));
}

Result<void> AblatedStepper::push(sst::Table& table, fabric::Fabric& fabric) {
  Step step(ablation_, spent(SubgroupId(0)));
  auto pushed = table.push(fabric);
  step.end(PassPart::push);
  return pushed;
}

bool AblatedStepper::deliver(Multicast& multicast, const TurnLimits& turn) {
  Step step(ablation_, spent(multicast.id()));
  const bool delivered = multicast.deliver(turn);
  if (delivered) step.end(PassPart::delivery);
  return delivered;
}

std::shared_ptr<Stepper> stepper_of(const Ablation& ablation) {
  if (ablation.changes_nothing()) return std::make_shared<Stepper>();
  return std::make_shared<AblatedStepper>(ablation);
}

}  // namespace spindrift::smc
