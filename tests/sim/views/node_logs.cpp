// Logs as values. What goes from node to node is the stream of the product, taken apart by its own code.
#include "node_logs.hpp"

#include <algorithm>
#include <string>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/check.hpp>
#include <spindrift/group/log_stream.hpp>

namespace spindrift::sim {
namespace {

std::vector<std::byte> stream_of(const NodeLog& log, const views::LogPoint& from, std::uint64_t to) {
  const LogContent& now = log.now;
  SPINDRIFT_CHECK(now.begin.version <= to);
  const bool is_there = from.version <= to && from.version >= now.begin.version;
  const views::LogPoint begin = is_there && now.link_at(from.version) == from.link ? from : now.begin;
  ByteWriter writer;
  if (begin != from && begin.version > 0 && now.checkpoint) {
    const std::vector<std::byte> state = state_at(*now.checkpoint);
    writer.put(begin.version | std::uint64_t{1} << 63U, begin.link.words);
    writer.put(now.checkpoint->version, now.checkpoint->link.words, std::uint64_t{state.size()}).put_bytes(state);
  } else {
    writer.put(begin.version, begin.link.words);
  }
  for (std::uint64_t version = begin.version; version < to; ++version) {
    const LogEntry& entry = *now.entries[version];
    writer.put_bytes(field_bytes(std::uint64_t{entry.payload.size()}, entry.sender, entry.view, entry.sequence,
                                 std::uint64_t{0}));
    writer.put_bytes(entry.payload);
  }
  return writer.take();
}

}  // namespace

Digest link_behind(const Digest& before, const LogEntry& entry) {
  RunningDigest digest;
  digest.add(std::as_bytes(std::span(before.words)));
  digest.add(field_bytes(entry.sender, entry.view, entry.sequence, std::uint64_t{entry.payload.size()}));
  digest.add(entry.payload);
  return digest.value();
}

std::vector<std::byte> state_at(const views::LogPoint& place) {
  std::uint64_t word = mix(place.version ^ place.link.words[0] ^ mix(place.link.words[1]));
  std::vector<std::byte> state(24 + word % (word % 4 == 0 ? 5'000 : 50));
  for (std::byte& each : state) each = static_cast<std::byte>((word = mix(word)) >> 56U);
  return state;
}

bool same_message(const LogEntry& a, const LogEntry& b) {
  return a.sender == b.sender && a.view == b.view && a.sequence == b.sequence && a.payload == b.payload;
}

void LogContent::trim(std::uint64_t version) {
  SPINDRIFT_CHECK(version <= entries.size());
  if (version <= begin.version) return;
  const Digest link = link_at(version);
  for (std::uint64_t at = begin.version; at < version; ++at) entries[at] = nullptr;
  begin = {version, link};
}

/// The logs as one process has them.
class NodeLogs::ProcessLogs final : public views::SubgroupLogs {
 public:
  ProcessLogs(NodeLogs& all, std::uint32_t process, std::uint32_t node)
      : all_(all),
        process_(process),
        node_(node),
        covers_(all.logs_[node].size()),
        covers_beginning_(all.logs_[node].size()),
        covers_checkpoint_(all.logs_[node].size()) {}

  [[nodiscard]] views::LogPoint end(SubgroupId id) const override { return log(id.value()).end(); }
  [[nodiscard]] bool is_cut_short(SubgroupId id) const override { return log(id.value()).now.is_cut_short(); }
  [[nodiscard]] std::uint64_t durable(SubgroupId id) const override { return log(id.value()).durable; }
  [[nodiscard]] bool accepts() const override { return waiting() <= all_.plan_.disks[node_].room; }
  void append(SubgroupId id, std::span<const Delivery> batch) override {
    for (const Delivery& each : batch) {
      SPINDRIFT_CHECK(each.version == log(id.value()).entries().size());
      all_.append(*this, id.value(),
                  {each.sender, each.view, each.sequence, {each.payload.begin(), each.payload.end()}});
    }
    all_.hooks_.on_step(process_);
  }
  void flush() override { all_.begin_write(*this); }
  [[nodiscard]] std::optional<Error> failure() const override {
    if (!failed_) return std::nullopt;
    return Error(ErrorKind::resource, "the disk failed");
  }
  [[nodiscard]] std::unique_ptr<views::StateReader> read(SubgroupId id, const views::LogPoint& from,
                                                         std::uint64_t to) override;
  [[nodiscard]] std::unique_ptr<views::LogWriter> write(SubgroupId id) override;

 private:
  friend class NodeLogs;
  friend class Writer;
  [[nodiscard]] NodeLog& log(std::uint32_t subgroup) const { return all_.logs_[node_][subgroup]; }
  /// Entries that are not durable.
  [[nodiscard]] std::uint64_t waiting() const {
    std::uint64_t all = 0;
    for (const NodeLog& each : all_.logs_[node_]) all += each.entries().size() - each.durable;
    return all;
  }

  NodeLogs& all_;
  std::uint32_t process_;
  std::uint32_t node_;
  bool open_ = true;
  bool writing_ = false;
  bool failing_ = false;  ///< with the write that is under way
  bool failed_ = false;
  std::vector<std::uint64_t> covers_;   ///< by subgroup: what is durable when that is over
  std::vector<bool> covers_beginning_;  ///< likewise: whether that is of the log as it is now
  std::vector<bool> covers_checkpoint_;  ///< likewise: whether the one that was made last is too
};

class NodeLogs::Reader final : public views::StateReader {
 public:
  Reader(std::vector<std::byte> bytes, const Scheduler& scheduler, Ticks ready_at)
      : bytes_(std::move(bytes)), scheduler_(scheduler), ready_at_(ready_at) {}
  [[nodiscard]] bool ready() const noexcept override { return scheduler_.now() >= ready_at_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return bytes_.size(); }
  void read(std::uint64_t offset, std::span<std::byte> to) override {
    SPINDRIFT_CHECK(ready());
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), to.size(), to.begin());
  }

 private:
  std::vector<std::byte> bytes_;
  const Scheduler& scheduler_;
  Ticks ready_at_;
};

class NodeLogs::Writer final : public views::LogWriter, private group::LogStreamSink {
 public:
  Writer(ProcessLogs& logs, std::uint32_t subgroup, std::uint64_t message_bytes_max)
      : logs_(logs), subgroup_(subgroup), stream_(message_bytes_max) {}
  void write(std::span<const std::byte> piece) override {
    stream_.take(piece, *this);
    logs_.all_.hooks_.on_step(logs_.process_);
  }
  void finish() override { stream_.finish(); }
  [[nodiscard]] bool valid() const noexcept override { return stream_.valid(); }

 private:
  void on_checkpoint(const views::LogPoint& at, std::uint64_t bytes) override {
    checkpoint_ = at;
    state_bytes_ = bytes;
  }
  void on_state(std::span<const std::byte> piece) override { state_.insert(state_.end(), piece.begin(), piece.end()); }
  void on_message(const group::StreamedMessage& message) override {
    logs_.all_.append(logs_, subgroup_, {message.sender, message.view, message.sequence,
                                         {message.payload.begin(), message.payload.end()}});
    const NodeLog& log = logs_.log(subgroup_);
    if (!log.now.checkpoint || log.now.checkpoint->version != log.end().version || *log.now.checkpoint == log.end()) return;
    refuse("another link at the version of its checkpoint");
    logs_.all_.begin_anew(logs_, subgroup_, {}, std::nullopt);
  }
  void on_begin(const views::LogPoint& begin) override {
    Report& report = logs_.all_.report_;
    if (!checkpoint_ && begin == logs_.log(subgroup_).end()) {
      report.hit(begin.version > 0 ? Probe::log_went_on : Probe::log_whole);
      return;
    }
    const bool object = logs_.all_.plan_.subgroups[subgroup_].object;
    if (checkpoint_.has_value() != (object && begin.version > 0))
      return refuse(object ? "no checkpoint for a log that begins late" : "a checkpoint of no object");
    if (checkpoint_ && (state_.size() != state_bytes_ || state_ != state_at(*checkpoint_)))
      return refuse("another state than that of its checkpoint");
    if (checkpoint_ && checkpoint_->version == begin.version && *checkpoint_ != begin)
      return refuse("another link at its beginning than its checkpoint");
    if (begin.version > 0) report.hit(Probe::log_began_later);
    if (checkpoint_) report.hit(Probe::checkpoint_sent);
    logs_.all_.begin_anew(logs_, subgroup_, begin, checkpoint_);
  }
  // No node of a run sends that.
  void refuse(const std::string& why) {
    stream_.refuse();
    logs_.all_.report_.violate("D9", "node " + std::to_string(logs_.node_) + ", log of subgroup " +
                                         std::to_string(subgroup_) + ": is sent " + why);
  }

  ProcessLogs& logs_;
  std::uint32_t subgroup_;
  group::LogStream stream_;
  std::optional<views::LogPoint> checkpoint_;
  std::uint64_t state_bytes_ = 0;
  std::vector<std::byte> state_;
};

std::unique_ptr<views::StateReader> NodeLogs::ProcessLogs::read(SubgroupId id, const views::LogPoint& from,
                                                                std::uint64_t to) {
  SPINDRIFT_CHECK(to <= log(id.value()).entries().size());
  const Ticks most = all_.calm_ ? std::min<Ticks>(all_.plan_.disks[node_].read_ns_max, 1000)
                                : all_.plan_.disks[node_].read_ns_max;
  Ticks ready_at = all_.scheduler_.now();
  if (most > 0) {
    ready_at += 1 + static_cast<Ticks>(all_.random_.below(static_cast<std::uint64_t>(most)));
    all_.scheduler_.at(ready_at, all_, EventKind::timer, process_ << 1U | 1U);
  }
  return std::make_unique<Reader>(stream_of(log(id.value()), from, to), all_.scheduler_, ready_at);
}

std::unique_ptr<views::LogWriter> NodeLogs::ProcessLogs::write(SubgroupId id) {
  return std::make_unique<Writer>(*this, id.value(), all_.plan_.subgroups[id.value()].profile.message_bytes_max);
}

NodeLogs::NodeLogs(Scheduler& scheduler, const Plan& plan, Report& report, Hooks hooks)
    : scheduler_(scheduler),
      random_(plan.seed, Purpose::logs),
      checkpoints_(plan.seed, Purpose::checkpoints),
      plan_(plan),
      report_(report),
      hooks_(std::move(hooks)),
      logs_(plan.nodes.size(), std::vector<NodeLog>(plan.subgroups.size())) {}

NodeLogs::~NodeLogs() = default;

views::SubgroupLogs* NodeLogs::open(std::uint32_t process, std::uint32_t node) {
  if (std::ranges::none_of(plan_.subgroups, &SubgroupPlan::logged)) return nullptr;
  for (const auto& [other, logs] : opened_) SPINDRIFT_CHECK(logs->node_ != node || !logs->open_);
  return opened_.emplace(process, std::make_unique<ProcessLogs>(*this, process, node)).first->second.get();
}

bool NodeLogs::failed(std::uint32_t process) const {
  const auto at = opened_.find(process);
  return at != opened_.end() && at->second->failed_;
}

void NodeLogs::append(ProcessLogs& of, std::uint32_t subgroup, LogEntry entry) {
  LogContent& log = of.log(subgroup).now;
  const std::uint64_t version = log.entries.size();
  entry.link = link_behind(log.link_at(version), entry);
  log.entries.push_back(std::make_shared<const LogEntry>(std::move(entry)));
  hooks_.on_append(of.process_, subgroup, version, *log.entries.back());
}

// The disk has the state before the log is anew: a crash leaves what was before, or both.
void NodeLogs::begin_anew(ProcessLogs& of, std::uint32_t subgroup, const views::LogPoint& begin,
                          const std::optional<views::LogPoint>& checkpoint) {
  report_.hit(Probe::log_began_anew);
  NodeLog& log = of.log(subgroup);
  LogContent old = std::exchange(log.now, {LogEntries(begin.version), begin, checkpoint});
  if (!log.before) {
    old.entries.resize(log.durable);
    log.before = std::move(old);
  }
  log.durable = 0;
  log.made.reset();
  of.covers_[subgroup] = 0;
  of.covers_beginning_[subgroup] = of.covers_checkpoint_[subgroup] = false;
}

void NodeLogs::begin_write(ProcessLogs& of) {
  const bool anew = std::ranges::any_of(logs_[of.node_], [](const NodeLog& each) { return each.before || each.made; });
  if (of.writing_ || of.failed_ || !of.open_ || (of.waiting() == 0 && !anew)) return;
  const DiskPlan& disk = plan_.disks[of.node_];
  of.writing_ = true;
  of.failing_ = !calm_ && random_.chance(disk.failures_in_10000, 10'000);
  for (std::size_t s = 0; s < of.covers_.size(); ++s) of.covers_[s] = logs_[of.node_][s].entries().size();
  of.covers_beginning_.assign(of.covers_.size(), true);
  for (std::size_t s = 0; s < of.covers_.size(); ++s) of.covers_checkpoint_[s] = logs_[of.node_][s].made.has_value();
  const bool slow = !calm_ && random_.chance(disk.slow_in_1000, 1000);
  const Ticks most = calm_ ? std::min<Ticks>(disk.write_ns_max, 1000) : slow ? disk.slow_ns_max : disk.write_ns_max;
  scheduler_.at(scheduler_.now() + 1 + static_cast<Ticks>(random_.below(static_cast<std::uint64_t>(most))), *this,
                EventKind::timer, of.process_ << 1U);
}

void NodeLogs::end_write(ProcessLogs& of) {
  of.writing_ = false;
  if (!of.accepts()) report_.hit(Probe::log_without_room);
  if (of.failing_) {
    of.failed_ = true;
    report_.hit(Probe::disk_failed);
    return;
  }
  for (std::size_t s = 0; s < of.covers_.size(); ++s) {
    NodeLog& log = logs_[of.node_][s];
    log.durable = std::max(log.durable, of.covers_[s]);
    if (of.covers_beginning_[s]) log.before.reset();
    if (of.covers_checkpoint_[s]) log.now.checkpoint = *std::exchange(log.made, std::nullopt);
  }
}

void NodeLogs::on_event(EventKind, std::uint32_t which) {
  ProcessLogs& of = *opened_.at(which >> 1U);
  if (!of.open_) return;
  if ((which & 1U) == 0) end_write(of);
  hooks_.wake(of.process_);
}

void NodeLogs::crash(std::uint32_t process) {
  const auto at = opened_.find(process);
  if (at == opened_.end() || !at->second->open_) return;
  at->second->open_ = false;
  for (NodeLog& log : logs_[at->second->node_]) {
    if (log.before && random_.chance(1, 2)) {
      log.now = *std::move(log.before);
    } else {
      const std::uint64_t least = std::max(log.durable, log.now.begin.version);
      const std::uint64_t lost = log.entries().size() - least;
      if (lost > 0) report_.hit(Probe::log_cut);
      log.now.entries.resize(least + random_.below(lost + 1));
      if (log.made && checkpoints_.chance(1, 2)) {
        log.now.checkpoint = log.made;
      } else if (log.made) {
        report_.hit(Probe::checkpoint_lost);
      }
    }
    log.made.reset();
    log.durable = log.entries().size();
    log.before.reset();
  }
}

void NodeLogs::end(std::uint32_t process) {
  const auto at = opened_.find(process);
  if (at == opened_.end() || !at->second->open_) return;
  if (at->second->failed_) return crash(process);
  at->second->open_ = false;
  for (NodeLog& log : logs_[at->second->node_]) {
    log.durable = log.entries().size();
    log.before.reset();
    if (log.made) log.now.checkpoint = *std::exchange(log.made, std::nullopt);
  }
}

void NodeLogs::make_checkpoint(NodeLog& log, std::uint64_t least, std::uint64_t most) {
  if (log.made || least > most || !checkpoints_.chance(1, 2)) return;
  const std::uint64_t version = checkpoints_.between(least, most);
  log.made = views::LogPoint{version, log.now.link_at(version)};
  report_.hit(Probe::checkpoint_made);
}

// A log is trimmed up to where its last checkpoint lets an object begin, if that is durable; not always so far, as a journal
// that goes by segments does.
void NodeLogs::may_trim(std::uint32_t process, std::uint32_t subgroup, std::uint64_t told, std::uint64_t given) {
  ProcessLogs& of = *opened_.at(process);
  NodeLog& log = of.log(subgroup);
  const std::uint64_t kept = plan_.disks[of.node_].keeps;
  if (!of.open_ || log.before) return;
  const bool object = plan_.subgroups[subgroup].object;
  const std::uint64_t checkpoint = log.now.checkpoint ? log.now.checkpoint->version : 0;
  if (object) make_checkpoint(log, std::max(checkpoint, log.now.begin.version) + 1, std::min(told, given));
  if (log.entries().size() < kept) return;
  const std::uint64_t most = object ? checkpoint : log.entries().size();
  std::uint64_t version = std::min({told, given, most, log.entries().size() - kept});
  if (object && version > log.now.begin.version && checkpoints_.chance(1, 2))
    version = checkpoints_.between(log.now.begin.version, version);
  if (version <= log.now.begin.version) return;
  report_.hit(Probe::log_trimmed);
  log.now.trim(version);
}

void NodeLogs::lose(std::uint32_t node, std::size_t processes) {
  for (NodeLog& log : logs_[node]) log = {.lost_before = static_cast<std::uint32_t>(processes)};
}

}  // namespace spindrift::sim
