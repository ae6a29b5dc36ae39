// Pausing, resuming, and marks as messages of the subgroup.
#include <spindrift/dds/subgroup_hold.hpp>

#include <cstring>
#include <type_traits>

namespace spindrift::topics {
namespace {

struct MarkMessage {
  std::uint64_t form = current_form;
  EndpointId mark;
  static constexpr std::uint64_t current_form = 0x316b726d73647073;  // "spdsmrk1"
};
static_assert(sizeof(MarkMessage) == 24 && std::is_trivially_copyable_v<MarkMessage>);

}  // namespace

void SubgroupHold::hold() {
  if (++holding_ > 1) return;
  deliveries_ = Deliveries::held;
  subgroup_.pause();
}

void SubgroupHold::go_on() {
  if (--holding_ > 0) return;
  deliveries_ = Deliveries::held_before;
  subgroup_.resume();
  if (wanted_ != sent_.number) send();
}

std::uint32_t SubgroupHold::mark(const EndpointId& self) {
  if (deliveries_ == Deliveries::given) return 0;
  sent_.node = self.node;
  sent_.incarnation = self.incarnation;
  if (wanted_ == sent_.number) ++wanted_;
  if (deliveries_ == Deliveries::held_before) send();
  return wanted_;
}

void SubgroupHold::send() {
  sent_.number = wanted_;
  errands_.add([&subgroup = subgroup_, mark = sent_] {
    const MarkMessage message{.mark = mark};
    subgroup.send(std::as_bytes(std::span(&message, 1)));
  });
}

std::optional<EndpointId> SubgroupHold::mark_in(std::span<const std::byte> message, std::uint32_t sender) {
  MarkMessage mark;
  if (message.size() != sizeof mark) return std::nullopt;
  std::memcpy(&mark, message.data(), sizeof mark);
  if (mark.form != MarkMessage::current_form || mark.mark.node != sender) return std::nullopt;
  return mark.mark;
}

}  // namespace spindrift::topics
