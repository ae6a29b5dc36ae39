// The queue of what is to be sent.
#include <spindrift/fabric/tcp/send_backlog.hpp>

#include <algorithm>
#include <utility>

namespace spindrift::fabric::tcp {

// Copied bytes that follow copied bytes are one range, unless something is over between them.
void SendBacklog::add(std::span<const std::byte> bytes) {
  own_.insert(own_.end(), bytes.begin(), bytes.end());
  bytes_ += bytes.size();
  const bool appends = !entries_.empty() && entries_.back().in_place == nullptr && !entries_.back().done;
  if (!appends) entries_.push_back({});
  entries_.back().bytes += bytes.size();
}

void SendBacklog::add_in_place(std::span<const std::byte> bytes) {
  entries_.push_back({bytes.data(), bytes.size(), {}});
  bytes_ += bytes.size();
}

void SendBacklog::end_with(Done done) { entries_.back().done = done; }

std::size_t SendBacklog::ranges(std::span<iovec> ranges) const noexcept {
  std::size_t count = 0;
  const std::byte* own = own_.data() + own_begin_;
  for (const Entry& entry : entries_) {
    const std::byte* const from = entry.in_place != nullptr ? entry.in_place : own;
    if (entry.in_place == nullptr) own += entry.bytes;
    // The kernel takes the range as not const, and only reads.
    auto* const base = const_cast<std::byte*>(from);
    if (count > 0 && static_cast<std::byte*>(ranges[count - 1].iov_base) + ranges[count - 1].iov_len == from) {
      ranges[count - 1].iov_len += entry.bytes;
      continue;
    }
    if (count == ranges.size()) break;
    ranges[count++] = {base, entry.bytes};
  }
  return count;
}

void SendBacklog::left(std::size_t bytes, std::vector<Done>& over) {
  bytes_ -= bytes;
  while (!entries_.empty()) {
    Entry& entry = entries_.front();
    const std::size_t gone = std::min(bytes, entry.bytes);
    bytes -= gone;
    entry.bytes -= gone;
    if (entry.in_place == nullptr)
      own_begin_ += gone;
    else
      entry.in_place += gone;
    if (entry.bytes > 0) break;
    if (entry.done) over.push_back(*entry.done);
    entries_.pop_front();
  }
  if (own_begin_ == own_.size()) {
    own_.clear();
    own_begin_ = 0;
  } else if (own_begin_ > own_.size() / 2) {
    own_.erase(own_.begin(), own_.begin() + static_cast<std::ptrdiff_t>(own_begin_));
    own_begin_ = 0;
  }
}

void SendBacklog::drop(std::vector<Done>& over) {
  for (const Entry& entry : std::exchange(entries_, {})) {
    if (entry.done) over.push_back(*entry.done);
  }
  own_.clear();
  own_begin_ = 0;
  bytes_ = 0;
}

}  // namespace spindrift::fabric::tcp
