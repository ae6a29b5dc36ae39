// At most two chunks wait besides the one that the poller has.
#include <spindrift/group/log_replay.hpp>

#include <algorithm>
#include <cstring>
#include <system_error>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/core/limits.hpp>
#include <spindrift/group/log_reading.hpp>

namespace spindrift::group {
namespace {

constexpr std::size_t chunks_ahead = 2;
constexpr std::size_t chunk_messages_max = 512;
constexpr std::size_t chunk_words_max = (std::size_t{1} << 20U) / sizeof(std::uint64_t);

std::size_t words_of(std::size_t bytes) noexcept { return (bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t); }

}  // namespace

LogReplay::LogReplay(NodeJournal& journal, SubgroupId subgroup, std::uint64_t from, std::uint64_t to,
                     std::function<void()> wake)
    : journal_(journal),
      log_(journal.log(subgroup)),
      written_(journal.end()),
      from_(from),
      to_(to),
      wake_(std::move(wake)),
      taken_(from) {
  CHECK(from <= to);
  journal.flush();
  if (from == to) return;
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  } catch (const std::system_error& why) {
    throw Exception(out_of_threads(why));
  }
}

std::span<const Delivery> LogReplay::next() {
  if (const auto rest = rest_of_chunk(); !rest.empty()) {
    taken_ += rest.size();
    return rest;
  }
  chunk_ = {};
  {
    const std::lock_guard lock(mutex_);
    if (chunks_.empty()) return {};
    chunk_ = std::move(chunks_.front());
    chunks_.pop_front();
  }
  taken_one_.notify_one();
  taken_ += chunk_.deliveries.size();
  return chunk_.deliveries;
}

std::span<const Delivery> LogReplay::rest_of_chunk() const noexcept {
  const std::span<const Delivery> all = chunk_.deliveries;
  return all.empty() ? all : all.subspan(taken_ - all.front().version);
}

std::optional<std::uint64_t> LogReplay::time(std::uint64_t version) const {
  if (chunk_.deliveries.empty()) return std::nullopt;
  const std::uint64_t first = chunk_.deliveries.front().version;
  if (version < first || version >= taken_) return std::nullopt;
  return chunk_.times[version - first];
}

std::optional<Error> LogReplay::failure() const {
  const std::lock_guard lock(mutex_);
  if (!chunks_.empty() || !rest_of_chunk().empty()) return std::nullopt;
  return failure_;
}

void LogReplay::run(const std::stop_token& stop) {
  auto done = read(stop);
  if (stop.stop_requested()) return;
  if (!done) {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(done).error();
  }
  wake_();
}

Result<void> LogReplay::read(const std::stop_token& stop) {
  SPINDRIFT_TRY(journal_.await_durable(written_, stop));
  Chunk chunk;
  SPINDRIFT_TRY(read_log(log_, from_, to_, [&](const store::Entry& entry) {
    const std::size_t words = words_of(entry.payload.size());
    const bool full = chunk.deliveries.size() == chunk_messages_max ||
                      (!chunk.deliveries.empty() && chunk.words.size() + words > chunk_words_max);
    if (full && !give(chunk, stop)) return false;
    const store::EntryHead& head = entry.head;
    chunk.deliveries.push_back({head.sender, SenderRank(0), MessageIndex(0), head.sequence, entry.payload, head.view,
                                entry.version.value()});
    chunk.times.push_back(head.time);
    const std::size_t at = chunk.words.size();
    chunk.words.resize(at + words);
    if (words != 0) std::memcpy(chunk.words.data() + at, entry.payload.data(), entry.payload.size());
    return true;
  }));
  if (!chunk.deliveries.empty()) static_cast<void>(give(chunk, stop));
  return {};
}

// Only now the payloads stay where they are.
bool LogReplay::give(Chunk& chunk, const std::stop_token& stop) {
  auto words = std::span<const std::uint64_t>(chunk.words);
  for (Delivery& each : chunk.deliveries) {
    each.payload = std::as_bytes(words).first(each.payload.size());
    words = words.subspan(words_of(each.payload.size()));
  }
  {
    std::unique_lock lock(mutex_);
    if (!taken_one_.wait(lock, stop, [this] { return chunks_.size() < chunks_ahead; })) return false;
    chunks_.push_back(std::exchange(chunk, Chunk()));
  }
  wake_();
  return true;
}

}  // namespace spindrift::group
