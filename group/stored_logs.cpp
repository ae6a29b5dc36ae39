// A stream begins with the version and the link behind which its messages follow.
#include <spindrift/group/stored_logs.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <ostream>
#include <string>
#include <utility>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/group/log_reading.hpp>
#include <spindrift/group/log_stream.hpp>
#include <spindrift/group/state_file.hpp>
#include <spindrift/group/status.hpp>

namespace spindrift::group {
namespace {

/// A log that is read, or was.
class ReadLog {
 public:
  ReadLog(NodeJournal& journal, StreamedLog log, std::stop_token end)
      : journal_(journal), log_(std::move(log)), end_(std::move(end), [this] { stop_.request_stop(); }) {}

  void run() {
    try {
      file_ = keep_state([this](std::ostream& to) {
        value_or_throw(journal_.await_durable(log_.written, stop_.get_token()));
        value_or_throw(write_stream(log_, stop_.get_token(), to));
      });
    } catch (const std::exception& why) {
      failure_ = why.what();
    }
    read_.store(true, std::memory_order_release);
  }
  /// No thread is there to read it. The poller's.
  void fail(std::string why) {
    failure_ = std::move(why);
    read_.store(true, std::memory_order_release);
  }
  /// Nobody is going to take it.
  void stop() noexcept { stop_.request_stop(); }
  [[nodiscard]] bool ready() const noexcept { return is_read() || stop_.stop_requested(); }
  [[nodiscard]] std::optional<std::string> failure() const {
    if (!is_read()) return "the logs were closed before it was read";
    return failure_;
  }
  [[nodiscard]] views::StateReader& file() const { return *file_; }

 private:
  [[nodiscard]] bool is_read() const noexcept { return read_.load(std::memory_order_acquire); }

  NodeJournal& journal_;
  const StreamedLog log_;
  std::stop_source stop_;
  std::stop_callback<std::function<void()>> end_;
  std::unique_ptr<views::StateReader> file_;  // before `read_`
  std::optional<std::string> failure_;        // the same
  std::atomic<bool> read_{false};
};

class Reader final : public views::StateReader {
 public:
  Reader(std::shared_ptr<ReadLog> log, std::shared_ptr<StateThread> thread)
      : log_(std::move(log)), thread_(std::move(thread)) {}
  ~Reader() override {
    log_->stop();
    thread_->dispose(std::move(log_));
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  [[nodiscard]] bool ready() const noexcept override { return log_->ready(); }
  [[nodiscard]] std::optional<std::string> failure() const override { return log_->failure(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return log_->file().bytes(); }
  void read(std::uint64_t offset, std::span<std::byte> to) override { log_->file().read(offset, to); }

 private:
  std::shared_ptr<ReadLog> log_;
  std::shared_ptr<StateThread> thread_;
};

}  // namespace

class StoredLogs::Writer final : public views::LogWriter, private LogStreamSink {
 public:
  Writer(StoredLogs& logs, SubgroupId subgroup)
      : logs_(logs), subgroup_(subgroup), stream_(logs.message_bytes_max_(subgroup)) {}
  ~Writer() override {
    if (with_checkpoint_) logs_.drop_state(subgroup_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void write(std::span<const std::byte> piece) override {
    now_ = wall_clock_ns();
    stream_.take(piece, *this);
    logs_.mark(logs_.log(subgroup_));
  }
  void finish() override {
    stream_.finish();
    if (stream_.valid()) logs_.tell_dropped(subgroup_);
  }
  [[nodiscard]] bool valid() const noexcept override { return stream_.valid(); }

 private:
  void on_checkpoint(const views::LogPoint& at, std::uint64_t bytes) override {
    with_checkpoint_ = true;
    logs_.begin_state(subgroup_, at, bytes, store::CheckpointOf::coming);
  }
  void on_state(std::span<const std::byte> piece) override { logs_.append_state(subgroup_, piece); }
  void on_begin(const views::LogPoint& begin) override {
    if (begin != logs_.end(subgroup_)) logs_.begin_anew(subgroup_, begin, with_checkpoint_);
    compare_link();
  }
  // A time to come, if another node's clock is ahead, or so it says, would be that of all that follows.
  void on_message(const StreamedMessage& message) override {
    Log& log = logs_.log(subgroup_);
    if (log.replaced && message.view > log.replaced->view) logs_.tell_dropped(subgroup_);
    const std::uint64_t time = logs_.stamps_.stamp_as(subgroup_, log.end.version.value() + 1, std::min(message.time, now_));
    logs_.append(log, {store::EntryKind::message, subgroup_, message.sender, message.view, message.sequence, time},
                 message.payload);
    compare_link();
  }
  // The state is that of these messages, or of no log that any source has: nothing here is believed then.
  void compare_link() {
    if (!logs_.log(subgroup_).contradicts_checkpoint()) return;
    log::error(log::Room::group, "the checkpoint that came with a log is of another one, and the log counts for nothing",
               {{"node", logs_.journal_.node()}, {"subgroup", subgroup_}, {"version", logs_.end(subgroup_).version}});
    logs_.begin_anew(subgroup_, {}, false);
    stream_.refuse();
  }

  StoredLogs& logs_;
  SubgroupId subgroup_;
  LogStream stream_;
  std::uint64_t now_ = 0;
  bool with_checkpoint_ = false;
};

StoredLogs::StoredLogs(NodeJournal& journal, Limit message_bytes_max, std::function<void()> on_ready)
    : journal_(journal), message_bytes_max_(std::move(message_bytes_max)), on_ready_(std::move(on_ready)) {
  const JournalContent& found = journal.found();
  for (const auto& [subgroup, index] : found.logs) {
    const store::LogEnd end = found.findings.ends.of(subgroup);
    Log log{.end = end, .durable = end.version.value(), .index = index};
    if (const auto kept = found.checkpoints.find(subgroup); kept != found.checkpoints.end())
      log.checkpoints = KeptCheckpoints(kept->second);
    log.checkpoints.begin_log_at(index.first().version);
    logs_.emplace(subgroup, std::move(log));
  }
}

StoredLogs::~StoredLogs() {
  end_.request_stop();
  thread_->stop();
}

StoredLogs::Log& StoredLogs::log(SubgroupId subgroup) {
  const auto log = logs_.find(subgroup);
  if (log != logs_.end()) return log->second;
  Log begun{.end = {}, .index = LogIndex(0, journal_.end())};
  begun.end.subgroup = subgroup;
  return logs_.emplace(subgroup, std::move(begun)).first->second;
}

views::LogPoint StoredLogs::end(SubgroupId subgroup) const {
  const auto log = logs_.find(subgroup);
  if (log == logs_.end()) return {};
  return {log->second.end.version.value(), log->second.end.link};
}

bool StoredLogs::is_cut_short(SubgroupId subgroup) const {
  const auto log = logs_.find(subgroup);
  if (log == logs_.end() || log->second.index.first().version == 0) return false;
  const store::Checkpoint* const whole = log->second.checkpoints.whole();
  return whole != nullptr && whole->version > log->second.end.version;
}

std::uint64_t StoredLogs::durable(SubgroupId subgroup) const {
  const auto log = logs_.find(subgroup);
  if (log == logs_.end()) return 0;
  const auto& marks = log->second.marks;
  const auto behind = std::ranges::upper_bound(marks, journal_.durable(), {}, &Mark::position);
  return behind == marks.begin() ? log->second.durable : std::prev(behind)->version;
}

void StoredLogs::append(SubgroupId subgroup, std::span<const Delivery> batch) {
  Log& own = log(subgroup);
  const std::uint64_t end = own.end.version.value() + batch.size();
  const std::uint64_t time = stamps_.stamp(subgroup, end, wall_clock_ns(), journal_.time());
  for (const Delivery& each : batch)
    append(own, {store::EntryKind::message, subgroup, each.sender, each.view, each.sequence, time}, each.payload);
  mark(own);
}

void StoredLogs::append(Log& log, const store::EntryHead& head, std::span<const std::byte> payload) {
  log.index.note(journal_.end(), payload.size(), head.time);
  journal_.append(head, payload);
  log.end = store::end_behind(log.end, head, log.end.version, payload);
}

void StoredLogs::mark(Log& log) {
  const store::JournalPosition durable = journal_.durable();
  for (; !log.marks.empty() && log.marks.front().position <= durable; log.marks.pop_front())
    log.durable = log.marks.front().version;
  const std::uint64_t marked = log.marks.empty() ? log.durable : log.marks.back().version;
  if (log.end.version.value() != marked) log.marks.push_back({journal_.end(), log.end.version.value()});
}

// Until the base is durable the next process finds the log as it was; that nothing of it counts is true in any case.
void StoredLogs::begin_anew(SubgroupId subgroup, const views::LogPoint& begin, bool with_checkpoint) {
  Log& anew = log(subgroup);
  if (const std::uint64_t end = anew.end.version.value(); end > 0) {
    const bool late = begin.version > end;
    log::warn(log::Room::group,
              late ? "the log is behind what another member still has of its own, and begins anew there"
                   : "another member's log, which is not the same, takes the place of this node's",
              {{"node", journal_.node()}, {"subgroup", subgroup}, {"messages", end}, {"begins", begin.version}});
  }
  const store::LogEnd end{subgroup, store::LogVersion(begin.version), ViewId(0), SequenceNumber(0), begin.link};
  auto replaced = anew.replaced;
  if (!replaced && anew.end.view != ViewId(0)) replaced = Replaced{anew.end.version.value(), anew.end.view};
  const Former former{needed_from(anew), journal_.end()};
  anew.checkpoints.begin_anew(with_checkpoint);
  anew = {.end = end,
          .index = LogIndex(begin.version, journal_.end()),
          .checkpoints = anew.checkpoints,
          .former = former,
          .replaced = replaced};
  journal_.append_base(end, wall_clock_ns());
  stamps_.begin_anew(subgroup, begin.version);
}

// Two logs of a subgroup begin alike, so what was delivered in later views than the last message of the one before follows
// in the present one alone: what that has of it ends there.
void StoredLogs::tell_dropped(SubgroupId subgroup) {
  Log& anew = log(subgroup);
  const auto replaced = std::exchange(anew.replaced, std::nullopt);
  const std::uint64_t common = anew.end.version.value();
  if (!replaced || replaced->end <= common) return;
  log::warn(log::Room::group, "messages of this node's log are not in the group's, and are dropped",
            {{"node", journal_.node()},
             {"subgroup", subgroup},
             {"messages", replaced->end - common},
             {"first", common}});
}

std::uint64_t StoredLogs::first(SubgroupId subgroup) const {
  const auto log = logs_.find(subgroup);
  return log == logs_.end() ? 0 : log->second.index.first().version;
}

// A log that is not bounded, or of no subgroup of the layout any more, keeps all that lies behind its first message.
void StoredLogs::trim(SubgroupId subgroup, const HistoryBounds& bounds, std::uint64_t limit) {
  const auto log = logs_.find(subgroup);
  if (log == logs_.end()) return;
  if (log->second.index.trim(bounds, limit, wall_clock_ns()))
    log->second.checkpoints.begin_log_at(log->second.index.first().version);
  trim_journal();
}

bool StoredLogs::trim_below(SubgroupId subgroup, std::uint64_t limit) {
  const auto log = logs_.find(subgroup);
  if (log == logs_.end()) return true;
  if (log->second.index.trim_below(limit))
    log->second.checkpoints.begin_log_at(log->second.index.first().version);
  const bool all = trim_journal();
  if (!all) journal_.flush();  // nothing else may come
  return all;
}

bool StoredLogs::trim_journal() {
  store::JournalPosition needed = journal_.end();
  for (auto& entry : logs_) needed = std::min(needed, needed_from(entry.second));
  return journal_.trim(needed);
}

store::JournalPosition StoredLogs::needed_from(Log& log) const {
  log.checkpoints.settle(journal_.durable());
  if (log.former && journal_.durable() > log.former->base) log.former.reset();
  store::JournalPosition needed = log.index.first().position;
  if (const auto state = log.checkpoints.needed_from()) needed = std::min(needed, *state);
  return log.former ? std::min(needed, log.former->needed_from) : needed;
}

const store::Checkpoint* StoredLogs::checkpoint(SubgroupId subgroup) const {
  const auto log = logs_.find(subgroup);
  return log == logs_.end() ? nullptr : within(log->second, log->second.checkpoints.whole());
}

const store::Checkpoint* StoredLogs::durable_checkpoint(SubgroupId subgroup) {
  const auto log = logs_.find(subgroup);
  if (log == logs_.end()) return nullptr;
  log->second.checkpoints.settle(journal_.durable());
  return within(log->second, log->second.checkpoints.durable());
}

// One that came from another node is of a log that has still to come, or never came.
const store::Checkpoint* StoredLogs::within(const Log& log, const store::Checkpoint* checkpoint) noexcept {
  if (checkpoint == nullptr || checkpoint->version > log.end.version) return nullptr;
  return checkpoint->version.value() < log.index.first().version ? nullptr : checkpoint;
}

const store::Checkpoint* StoredLogs::coming_checkpoint(SubgroupId subgroup) const {
  const auto log = logs_.find(subgroup);
  return log == logs_.end() ? nullptr : log->second.checkpoints.coming();
}

bool StoredLogs::wants_checkpoint(SubgroupId subgroup, const HistoryBounds& bounds, std::uint64_t limit) {
  const store::Checkpoint* const last = durable_checkpoint(subgroup);
  const auto log = logs_.find(subgroup);
  if (log == logs_.end() || log->second.checkpoints.whole() != last || coming_checkpoint(subgroup) != nullptr) return false;
  const LogIndex& index = log->second.index;
  const std::uint64_t now = wall_clock_ns();
  const IndexedPlace& kept = index.kept_from(bounds, limit, now);
  if (kept.version > limit || kept.version == 0) return false;
  if (last == nullptr) return true;
  return kept.version > last->version.value() &&
         kept.bytes - index.kept_from(bounds, last->version.value(), now).bytes >= last->bytes;
}

void StoredLogs::begin_state(SubgroupId subgroup, const views::LogPoint& at, std::uint64_t bytes,
                             store::CheckpointOf of) {
  Log& own = log(subgroup);
  own.checkpoints.begin({subgroup, store::LogVersion(at.version), at.link, bytes, journal_.end()}, of);
  if (bytes == 0) append_piece(own, {});
}

void StoredLogs::append_state(SubgroupId subgroup, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto next = bytes.first(std::min<std::uint64_t>(bytes.size(), store::checkpoint_piece_bytes_max));
    bytes = bytes.subspan(next.size());
    append_piece(log(subgroup), next);
  }
}

void StoredLogs::append_piece(Log& log, std::span<const std::byte> state) {
  const store::CheckpointPiece piece = log.checkpoints.next_piece(state);
  const store::EntryHead head{store::EntryKind::checkpoint, store::no_subgroup,    journal_.node(), ViewId(0),
                              SequenceNumber(0),            wall_clock_ns()};
  journal_.append(head, store::checkpoint_payload(piece));
  log.checkpoints.note_piece(state.size(), journal_.end());
}

std::unique_ptr<views::StateReader> StoredLogs::read(SubgroupId subgroup, const views::LogPoint& from, std::uint64_t to) {
  journal_.flush();
  const auto written = durable(subgroup) >= to ? store::JournalPosition() : journal_.end();
  StreamedLog streamed{journal_.log(subgroup), from, first(subgroup), to, written, {}};
  if (const store::Checkpoint* const kept = durable_checkpoint(subgroup); kept != nullptr) {
    const auto read = [log = streamed.log, state = *kept](const StreamedCheckpoint::Visitor& visitor) {
      return read_checkpoint(log, state, visitor);
    };
    streamed.checkpoint = StreamedCheckpoint{{kept->version.value(), kept->link}, kept->bytes, read};
  }
  auto log = std::make_shared<ReadLog>(journal_, std::move(streamed), end_.get_token());
  try {
    thread_->give([this, log] {
      log->run();
      on_ready_();
    });
  } catch (const Exception& why) {
    log->fail(why.what());
  }
  return std::make_unique<Reader>(std::move(log), thread_);
}

std::unique_ptr<views::LogWriter> StoredLogs::write(SubgroupId subgroup) {
  return std::make_unique<Writer>(*this, subgroup);
}

}  // namespace spindrift::group
