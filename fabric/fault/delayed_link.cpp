// Ordering, delaying and tearing of the operations to one peer.
#include <spindrift/fabric/fault/delayed_link.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

namespace spindrift::fabric::fault {

void DelayedLink::add(const Operation& operation, Time now) {
  Pending pending;
  pending.action.operation = operation;
  const bool is_read = operation.kind == Operation::Kind::read;
  const bool early = plan_->early_completion && operation.signaled && !is_read;
  if (early) pending.action.operation.signaled = false;
  if (!is_read && (operation.copied || early || operation.kind == Operation::Kind::send)) {
    pending.held.assign(operation.local, operation.local + operation.bytes);
    pending.action.operation.local = pending.held.data();
    pending.action.operation.copied = operation.kind == Operation::Kind::write;
  }
  append(std::move(pending), now);
}

void DelayedLink::add_exposure(RegionKey region, Access access, Time now) {
  Pending pending;
  pending.action.operation.region = region;
  pending.action.exposure = access;
  append(std::move(pending), now);
}

void DelayedLink::append(Pending pending, Time now) {
  newest_due_ = std::max(newest_due_, now + dice_->between(plan_->delay_min, plan_->delay_max));
  pending.due = newest_due_;
  queue_.push_back(std::move(pending));
}

bool DelayedLink::needs(RegionKey region, std::span<const std::byte> memory) const noexcept {
  return std::any_of(queue_.begin(), queue_.end(), [&](const Pending& pending) {
    const Operation& operation = pending.action.operation;
    if (pending.action.exposure) return operation.region == region;
    return !std::less<>()(operation.local, memory.data()) && std::less<>()(operation.local, memory.data() + memory.size());
  });
}

bool DelayedLink::targets(RegionKey region) const noexcept {
  return std::any_of(queue_.begin(), queue_.end(), [&](const Pending& pending) {
    return !pending.action.exposure && pending.action.operation.region == region;
  });
}

Time DelayedLink::due() const noexcept { return queue_.empty() ? never : queue_.front().due; }

/// Cuts a write at the lines of its target, which is page aligned, and shuffles them.
void DelayedLink::tear(Pending& pending) {
  const Operation& whole = pending.action.operation;
  const std::uint64_t first = whole.offset / cache_line_bytes;
  const std::uint64_t end = (whole.offset + whole.bytes + cache_line_bytes - 1) / cache_line_bytes;
  pending.lines.resize(end - first);
  std::iota(pending.lines.begin(), pending.lines.end(), std::size_t{0});
  for (std::size_t i = pending.lines.size(); i > 1; --i) std::swap(pending.lines[i - 1], pending.lines[dice_->below(i)]);
}

Operation DelayedLink::line_of(const Operation& whole, std::size_t index) noexcept {
  const std::uint64_t line_begin = (whole.offset / cache_line_bytes + index) * cache_line_bytes;
  const std::uint64_t begin = std::max(line_begin, whole.offset);
  const std::uint64_t end = std::min(line_begin + cache_line_bytes, whole.offset + whole.bytes);
  Operation line = whole;
  line.local = whole.local + (begin - whole.offset);
  line.offset = begin;
  line.bytes = end - begin;
  return line;
}

Result<void> DelayedLink::advance(Time now, const std::function<Result<void>(const Action&)>& perform) {
  while (!queue_.empty() && queue_.front().due <= now) {
    Pending& front = queue_.front();
    const bool torn = plan_->torn_writes && !front.action.exposure &&
                      front.action.operation.kind == Operation::Kind::write && front.action.operation.bytes > 0;
    if (!std::exchange(front.started, true) && torn) tear(front);
    Action action = front.action;
    if (torn) {
      action.operation = line_of(front.action.operation, front.lines.back());
      front.lines.pop_back();
      action.operation.signaled = front.action.operation.signaled && front.lines.empty();
    }
    if (auto performed = perform(action); !performed) return performed;
    if (torn && !front.lines.empty()) {
      front.due += dice_->between(Duration(0), plan_->line_gap_max);
      continue;
    }
    const Time finished = front.due;
    queue_.pop_front();
    if (!queue_.empty()) queue_.front().due = std::max(queue_.front().due, finished);
  }
  return {};
}

}  // namespace spindrift::fabric::fault
