// A digest takes in each message's sender, number and sequence number: members that delivered the same messages in another
// order have another one. A newcomer's first messages are judged by its view's digest, which is that of older members, too.
#include <spindrift/bench/delivered_record.hpp>

#include <cstring>

#include <fmt/format.h>

namespace spindrift::bench {

namespace {

constexpr std::uint64_t odd_factor = 0x9E37'79B9'7F4A'7C15;

std::uint64_t mixed(std::uint64_t value) noexcept {
  value *= odd_factor;
  return value ^ (value >> 32U);
}

/// The word at the payload's other end.
std::uint64_t seal(NodeId sender, std::uint64_t number) noexcept { return mixed(number ^ mixed(sender.value() + 1)); }

std::uint64_t word_at(std::span<const std::byte> payload, std::size_t at) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, payload.data() + at, sizeof word);
  return word;
}

/// The number that the sender stamped; 0: the payload is not as it was sent.
std::uint64_t number_in(const Delivery& message) noexcept {
  if (message.payload.size() < stamped_bytes_min) return 0;
  const std::uint64_t number = word_at(message.payload, 0);
  return word_at(message.payload, message.payload.size() - sizeof number) == seal(message.sender, number) ? number : 0;
}

std::string describe(std::size_t member, const DeliveryFault& fault) {
  const std::string where = fmt::format("member {} delivered, in view {},", member, fault.view);
  if (fault.number == 0) return fmt::format("{} a payload of node {} that is not as it was sent", where, fault.sender);
  if (fault.number < fault.expected)
    return fmt::format("{} message {} of node {} where {} was due: doubled, or out of order", where, fault.number,
                       fault.sender, fault.expected);
  return fmt::format("{} message {} of node {} where {} was due: {} lost", where, fault.number, fault.sender, fault.expected,
                     fault.number - fault.expected);
}

using Records = std::span<const DeliveredRecord* const>;
using Words = std::vector<std::string>;

void judge_faults(Records records, Words& words) {
  for (std::size_t member = 0; member < records.size(); ++member) {
    const DeliveredRecord& record = *records[member];
    if (record.fault_count == 0) continue;
    words.push_back(describe(member, record.first_fault));
    if (record.fault_count > 1) words.back() += fmt::format(", and {} more", record.fault_count - 1);
  }
}

/// All members of a view against the first of them.
void judge_view(Records records, std::size_t view, Words& words) {
  std::optional<std::size_t> first;
  for (std::size_t member = 0; member < records.size(); ++member) {
    const DeliveredView& seen = records[member]->views[view];
    if (seen.members == 0) continue;
    if (!first) first = member;
    const DeliveredView& other = records[*first]->views[view];
    if (seen.members != other.members)
      words.push_back(fmt::format("members {} and {} disagree on who is in view {}", *first, member, view));
    if (seen.count == other.count && seen.digest == other.digest) continue;
    words.push_back(fmt::format("members {} and {} delivered different sequences in view {}, of {} and {} messages", *first,
                                member, view, other.count, seen.count));
  }
}

/// A member that was there when the sender left has all that it sent.
void judge_sender(Records records, std::size_t sender, std::size_t member, Words& words) {
  const auto& sent = *records[sender];
  const auto& record = *records[member];
  if (!sent.last_view() || !record.last_view()) return;
  const bool from_the_first = *record.first_view() <= *sent.first_view();
  const DeliveredSender& seen = record.senders[sender];
  if (from_the_first && seen.first > 1)
    words.push_back(fmt::format("member {} delivered nothing of node {} before message {}", member, sender, seen.first));
  if (*record.first_view() > *sent.last_view() || *record.last_view() < *sent.last_view()) return;
  if (seen.last == sent.sent || (seen.last == 0 && !from_the_first)) return;
  words.push_back(fmt::format("member {} delivered {} as the last message of node {}, which sent {}", member, seen.last,
                              sender, sent.sent));
}

}  // namespace

void stamp(std::span<std::byte> payload, NodeId sender, std::uint64_t number) noexcept {
  const std::uint64_t end = seal(sender, number);
  std::memcpy(payload.data(), &number, sizeof number);
  std::memcpy(payload.data() + payload.size() - sizeof end, &end, sizeof end);
}

bool DeliveredRecord::begin_view(ViewId id, std::span<const NodeId> members) noexcept {
  if (id.value() >= views.size()) return false;
  view = id.value();
  for (const NodeId member : members) {
    if (member.value() >= senders.size()) return false;
    views[view].members |= member_bit(member.value());
  }
  return true;
}

void DeliveredRecord::add(const Delivery& message) noexcept {
  const std::uint64_t number = number_in(message);
  DeliveredSender& sender = senders[message.sender.value() % senders.size()];
  const bool follows = number > 0 && (sender.last == 0 || number == sender.last + 1);
  if (!follows && fault_count++ == 0)
    first_fault = {view, message.sender.value(), sender.last == 0 ? 0 : sender.last + 1, number};
  if (sender.first == 0) sender.first = number;
  sender.last = number;
  DeliveredView& present = views[view];
  ++present.count;
  const std::uint64_t place = static_cast<std::uint64_t>(message.sequence.value());
  present.digest = mixed(present.digest ^ seal(message.sender, number)) + mixed(place + 1);
}

std::optional<std::size_t> DeliveredRecord::first_view() const noexcept {
  for (std::size_t id = 0; id < views.size(); ++id) {
    if (views[id].members != 0) return id;
  }
  return std::nullopt;
}

std::optional<std::size_t> DeliveredRecord::last_view() const noexcept {
  for (std::size_t id = views.size(); id-- > 0;) {
    if (views[id].members != 0) return id;
  }
  return std::nullopt;
}

std::uint64_t DeliveredRecord::delivered() const noexcept {
  std::uint64_t count = 0;
  for (const DeliveredView& each : views) count += each.count;
  return count;
}

std::vector<std::string> broken_promises(std::span<const DeliveredRecord* const> records) {
  Words words;
  judge_faults(records, words);
  for (std::size_t view = 0; view < recorded_views_max; ++view) judge_view(records, view, words);
  for (std::size_t sender = 0; sender < records.size(); ++sender) {
    for (std::size_t member = 0; member < records.size(); ++member) judge_sender(records, sender, member, words);
  }
  return words;
}

}  // namespace spindrift::bench
