// The bytes of a history: how they are made, and how those that came are checked.
#include <spindrift/group/history_stream.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include <spindrift/core/bytes.hpp>

namespace spindrift::group {
namespace {

using BeginBytes = std::array<std::byte, sizeof(HistoryBegin)>;

/// Neither versions nor times come near it in correct histories; below it, differences fit.
constexpr std::uint64_t number_most = std::uint64_t{1} << 62;

bool possible(std::int64_t time) noexcept {
  const auto most = static_cast<std::int64_t>(number_most);
  return time >= -most && time <= most;
}

class HistoryReader final : public views::StateReader {
 public:
  HistoryReader(HistorySnapshot snapshot, Time now)
      : snapshot_(std::move(snapshot)),
        begin_(field_bytes(HistoryBegin{snapshot_.first, snapshot_.end, now.time_since_epoch().count()})) {}

  [[nodiscard]] std::uint64_t bytes() const noexcept override {
    return begin_.size() + snapshot_.words * sizeof(std::uint64_t);
  }
  void read(std::uint64_t offset, std::span<std::byte> to) override {
    if (offset < begin_.size()) {
      const std::size_t count = std::min<std::size_t>(to.size(), begin_.size() - offset);
      std::copy_n(begin_.begin() + static_cast<std::ptrdiff_t>(offset), count, to.begin());
      to = to.subspan(count);
      offset += count;
    }
    if (!to.empty()) snapshot_.read(offset - begin_.size(), to);
  }

 private:
  const HistorySnapshot snapshot_;
  const BeginBytes begin_;
};

}  // namespace

UnloadableState impossible_history(const std::string& subgroup, const std::string& what) {
  return UnloadableState(
      Error(ErrorKind::bad_input, "the history of subgroup " + subgroup + " that another member sent " + what)
          .fix("see whether all members run the same release; start this node again, so that another one may send it"));
}

std::unique_ptr<views::StateReader> read_history(HistorySnapshot snapshot, Time now) {
  return std::make_unique<HistoryReader>(std::move(snapshot), now);
}

HistoryWriter::HistoryWriter(ExpectedHistory expected, Time now, Done done)
    : expected_(std::move(expected)), now_(now), done_(std::move(done)), history_(expected_.bounds) {}

void HistoryWriter::write(std::span<const std::byte> piece) {
  waiting_.insert(waiting_.end(), piece.begin(), piece.end());
  std::span<const std::byte> left = waiting_;
  for (;;) {
    // The head of a message is checked before the rest of it is waited for.
    std::size_t count = needed();
    if (left.size() < count || left.empty()) break;
    if (begun_) count = static_cast<std::size_t>(HistoryBounds::bytes_of(head_in(left).bytes));
    if (left.size() < count) break;
    take(left.first(count));
    left = left.subspan(count);
  }
  waiting_.erase(waiting_.begin(), waiting_.end() - static_cast<std::ptrdiff_t>(left.size()));
}

std::size_t HistoryWriter::needed() const { return begun_ ? sizeof(HistoryHead) : sizeof(HistoryBegin); }

HistoryHead HistoryWriter::head_in(std::span<const std::byte> bytes) const {
  require(history_.end() < begin_.end, "goes on behind its end");
  const HistoryHead head = *field_at_front<HistoryHead>(bytes);
  require(head.bytes <= expected_.message_bytes_max, "has a message that is too large");
  require(possible(head.delivered) && head.delivered <= begin_.now, "has a message of an impossible time");
  return head;
}

void HistoryWriter::take(std::span<const std::byte> bytes) {
  if (!std::exchange(begun_, true)) {
    begin_ = *field_at_front<HistoryBegin>(bytes);
    require(begin_.first <= begin_.end && begin_.end <= number_most, "has impossible versions");
    require(possible(begin_.now), "has an impossible time");
    history_ = MessageHistory(expected_.bounds, begin_.first);
    return;
  }
  const HistoryHead head = *field_at_front<HistoryHead>(bytes);
  constexpr Duration longest = std::chrono::milliseconds(history_age_ms_most);
  // Two possible times may be further apart than a duration can say.
  const bool beyond = head.delivered < begin_.now - longest.count();
  const Duration age = beyond ? longest : Duration(begin_.now - head.delivered);
  const auto payload = bytes.subspan(sizeof head, static_cast<std::size_t>(head.bytes));
  history_.append({NodeId(head.sender), SenderRank(head.sender_rank), MessageIndex(head.index),
                   SequenceNumber(head.sequence), payload, ViewId(head.view), history_.end()},
                  now_ - age);
}

void HistoryWriter::finish() {
  require(begun_ && waiting_.empty() && history_.end() == begin_.end, "lacks its end");
  done_(std::move(history_));
}

void HistoryWriter::require(bool right, const char* what) const {
  if (!right) throw impossible_history(expected_.subgroup, what);
}

}  // namespace spindrift::group
