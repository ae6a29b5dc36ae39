// Pieces of memory, filled one behind the other and dropped in that order.
#include <spindrift/group/message_history.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace spindrift::group {
namespace {

constexpr std::size_t word_bytes = sizeof(std::uint64_t);
constexpr std::size_t piece_words = history_piece_bytes / word_bytes;
constexpr std::size_t head_words = history_head_bytes / word_bytes;
constexpr std::size_t batch_messages_max = 512;
constexpr std::size_t batch_bytes_max = std::size_t{1} << 20;

constexpr std::size_t words_of(std::uint64_t payload_bytes) noexcept {
  return static_cast<std::size_t>(HistoryBounds::bytes_of(payload_bytes) / word_bytes);
}

/// Copies what lies at that byte of the pieces.
template <class Pieces>
void copy(const Pieces& pieces, std::size_t at, std::span<std::byte> to) noexcept {
  while (!to.empty()) {
    const std::size_t inside = at % history_piece_bytes;
    const std::size_t count = std::min<std::size_t>(to.size(), history_piece_bytes - inside);
    const auto piece = std::as_bytes(std::span(pieces[at / history_piece_bytes].get(), piece_words));
    std::memcpy(to.data(), piece.data() + inside, count);
    to = to.subspan(count);
    at += count;
  }
}

template <class Pieces>
HistoryHead head_at(const Pieces& pieces, std::size_t word) noexcept {
  HistoryHead head;
  copy(pieces, word * word_bytes, std::as_writable_bytes(std::span(&head, 1)));
  return head;
}

}  // namespace

void HistorySnapshot::read(std::size_t offset, std::span<std::byte> to) const {
  copy(pieces, begin * word_bytes + offset, to);
}

void MessageHistory::append(const Delivery& delivery, Time delivered) {
  const HistoryHead head{delivery.payload.size(),
                         delivery.sender.value(),
                         delivery.sender_rank.value(),
                         delivery.index.value(),
                         delivery.sequence.value(),
                         delivery.view.value(),
                         delivered.time_since_epoch().count()};
  put(std::as_bytes(std::span(&head, 1)));
  put(delivery.payload);
  ++end_;
  while (exceeds()) pop();
  expire(delivered);
}

// In whole words: of what is behind the bytes in the last one, nothing that was there before travels.
void MessageHistory::put(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t at = begin_ + words_;
    if (at / piece_words == pieces_.size())
      pieces_.emplace_back(std::make_unique_for_overwrite<std::uint64_t[]>(piece_words));
    const std::size_t inside = at % piece_words;
    const std::size_t count = std::min(bytes.size(), (piece_words - inside) * word_bytes);
    const std::size_t words = (count + word_bytes - 1) / word_bytes;
    std::uint64_t* const to = pieces_.back().get() + inside;
    to[words - 1] = 0;
    std::memcpy(to, bytes.data(), count);
    words_ += words;
    bytes = bytes.subspan(count);
  }
}

void MessageHistory::expire(Time now) {
  if (bounds_.age_ms == 0) return;
  const Duration age = std::chrono::milliseconds(bounds_.age_ms);
  while (first_ != end_ && now.time_since_epoch().count() - front().delivered > age.count()) pop();
}

void MessageHistory::drop() noexcept {
  pieces_.clear();
  begin_ = 0;
  words_ = 0;
  first_ = end_;
}

HistorySnapshot MessageHistory::snapshot() const {
  return {{pieces_.begin(), pieces_.end()}, begin_, words_, first_, end_};
}

bool MessageHistory::exceeds() const noexcept {
  return (bounds_.messages != 0 && end_ - first_ > bounds_.messages) || (bounds_.bytes != 0 && bytes() > bounds_.bytes);
}

HistoryHead MessageHistory::front() const noexcept { return head_at(pieces_, begin_); }

void MessageHistory::pop() noexcept {
  const std::size_t words = words_of(front().bytes);
  ++first_;
  if (first_ == end_) return drop();
  begin_ += words;
  words_ -= words;
  for (; begin_ >= piece_words; begin_ -= piece_words) pieces_.pop_front();
}

HistoryWalk::HistoryWalk(HistorySnapshot snapshot, std::uint64_t from)
    : snapshot_(std::move(snapshot)), next_(snapshot_.first) {
  for (; next_ < from && !done(); ++next_) at_ += words_of(head().bytes);
}

std::span<const Delivery> HistoryWalk::next() {
  batch_.clear();
  joined_.clear();
  std::size_t bytes = 0;
  while (!done() && batch_.size() < batch_messages_max) {
    const HistoryHead next = head();
    bytes += next.bytes;
    if (!batch_.empty() && bytes > batch_bytes_max) break;
    batch_.push_back(take(next));
  }
  return batch_;
}

HistoryHead HistoryWalk::head() const { return head_at(snapshot_.pieces, snapshot_.begin + at_); }

Delivery HistoryWalk::take(const HistoryHead& head) {
  const std::size_t at = snapshot_.begin + at_ + head_words;
  const std::size_t inside = at % piece_words;
  const std::size_t words = words_of(head.bytes) - head_words;
  const std::uint64_t* from = nullptr;
  if (inside + words <= piece_words && words > 0) {
    from = snapshot_.pieces[at / piece_words].get() + inside;
  } else if (words > 0) {
    std::vector<std::uint64_t>& joined = joined_.emplace_back(words);
    snapshot_.read((at_ + head_words) * word_bytes, std::as_writable_bytes(std::span(joined)));
    from = joined.data();
  }
  at_ += words + head_words;
  const auto payload = std::as_bytes(std::span(from, words)).first(head.bytes);
  return {NodeId(head.sender), SenderRank(head.sender_rank), MessageIndex(head.index), SequenceNumber(head.sequence),
          payload, ViewId(head.view), next_++};
}

}  // namespace spindrift::group
