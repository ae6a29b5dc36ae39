// Entries that the journal's thread does not take yet wait here, in order.
#include <spindrift/group/node_journal.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include <spindrift/core/log.hpp>
#include <spindrift/group/status.hpp>

namespace spindrift::group {
namespace {

using State = store::JournalThread::State;

Error closed_before_written() { return {ErrorKind::group_closed, "the journal was closed before all of it was written"}; }

}  // namespace

Result<std::unique_ptr<NodeJournal>> NodeJournal::open(FoundJournal found, const Options& options, Progress on_progress) {
  std::unique_ptr<NodeJournal> journal(new NodeJournal(std::move(found), std::move(on_progress)));
  SPINDRIFT_TRY(journal->start(options));
  return journal;
}

Result<std::unique_ptr<NodeJournal>> NodeJournal::open_signed(FoundJournal found, Options options,
                                                              std::unique_ptr<LogSigner> signer, Progress on_progress) {
  if (auto resumed = signer->resume(found); !resumed)
    return unusable_journal(found.place, found.node, std::move(resumed).error());
  options.journal.format = std::max(options.journal.format, store::SegmentFormat::with_signatures);
  std::unique_ptr<NodeJournal> journal(new NodeJournal(std::move(found), std::move(on_progress)));
  journal->signer_ = std::move(signer);
  SPINDRIFT_TRY(journal->start(options));
  return journal;
}

NodeJournal::~NodeJournal() { static_cast<void>(close()); }

Result<void> NodeJournal::start(const Options& options) {
  SPINDRIFT_TRY_ASSIGN(auto own, found_.go_on(options.journal));
  store::Journal& journal = own.journal;
  reserve_.emplace(std::move(own.reserve));
  end_ = journal.end();
  time_ = found_.content.findings.time;
  bases_ = found_.content.bases;
  if (signer_ != nullptr) {
    SPINDRIFT_TRY(signer_->start(end_, [this] { note_progress(); }));
    journal.give_durable_to([this](store::Batch& durable, auto place) { signer_->take(durable, place); });
  }
  try {
    thread_ = std::make_unique<store::JournalThread>(std::move(journal), options.thread, [this] { note_progress(); });
  } catch (const Exception& why) {
    return why.error();
  }
  return {};
}

void NodeJournal::note_progress() {
  {
    const std::lock_guard lock(mutex_);
    ++progress_;
  }
  changed_.notify_all();
  on_progress_();
}

std::uint64_t NodeJournal::progress() {
  const std::lock_guard lock(mutex_);
  return progress_;
}

void NodeJournal::await_progress(std::uint64_t seen) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return progress_ != seen; });
}

void NodeJournal::append(store::EntryHead head, std::span<const std::byte> payload) {
  put(head, payload, store::Vouch::later);
}

void NodeJournal::append_base(const store::LogEnd& end, std::uint64_t time) {
  bases_[end.subgroup] = end_;
  put({store::EntryKind::base, end.subgroup, NodeId(0), end.view, end.sequence, time}, {}, store::Vouch::later, end);
}

bool NodeJournal::trim(store::JournalPosition before) {
  if (thread_ == nullptr) return true;
  const auto append = [this](const store::EntryHead& head, std::span<const std::byte> payload) {
    put(head, payload, store::Vouch::first);
    return store::JournalPosition(end_.value() - 1);
  };
  if (const auto next = trim_.next(before, durable(), append)) thread_->trim(*next);
  return trim_.trimmed() >= before;
}

void NodeJournal::put(store::EntryHead head, std::span<const std::byte> payload, store::Vouch vouch, const Base& base) {
  head.time = time_ = std::max(time_, head.time);
  ++end_;
  if (thread_ == nullptr) return;
  give_waiting();
  if (waiting_.empty() && give(head, payload, vouch, base)) return;
  waiting_.push_back({head, {payload.begin(), payload.end()}, vouch, base});
}

bool NodeJournal::give(const store::EntryHead& head, std::span<const std::byte> payload, store::Vouch vouch,
                       const Base& base) {
  return (base ? thread_->append_base(*base, head.time) : thread_->append(head, payload, vouch)).has_value();
}

void NodeJournal::give_waiting() {
  for (; !waiting_.empty(); waiting_.pop_front()) {
    const Waiting& next = waiting_.front();
    if (!give(next.head, next.payload, next.vouch, next.base)) return;
  }
}

void NodeJournal::flush() {
  if (thread_ == nullptr) return;
  append_signatures();
  give_waiting();
  thread_->flush();
  tell_of_space();
}

// One over a log that has begun anew since says nothing about that log.
void NodeJournal::append_signatures() {
  if (signer_ == nullptr) return;
  for (const LogSigner::Ready& ready : signer_->take_ready()) {
    if (ready.base != log(ready.subgroup).base) continue;
    put({store::EntryKind::signature, store::no_subgroup, node(), ViewId(0), SequenceNumber(0), time_}, ready.payload,
        store::Vouch::later);
  }
}

void NodeJournal::finish_signatures() {
  if (signer_ == nullptr) return;
  for (std::uint64_t seen = progress(); thread_->state() == State::running && durable() < end_; seen = progress()) {
    flush();
    await_progress(seen);
  }
  if (thread_->state() == State::running) signer_->finish();
  flush();
}

// A full disk is told of once each time: sends in logged subgroups are refused here, and wait at the other members.
void NodeJournal::tell_of_space() {
  if (full() == (full_since_ms() != 0)) return;
  const std::string& directory = found_.place.of(found_.node);
  if (full_since_ms() != 0) {
    full_since_ms_.store(0, std::memory_order_relaxed);
    return log::warn(log::Room::group, "the disk of the journal has space again",
                     {{"node", node()}, {"directory", directory}});
  }
  const auto why = thread_->error();
  full_since_ms_.store(wall_clock_ms(), std::memory_order_relaxed);
  log::warn(log::Room::group, "the disk of the journal is full: deliveries of logged subgroups wait for space",
            {{"node", node()}, {"directory", directory}, {"reason", why ? why->to_string() : std::string()}});
}

store::JournalPosition NodeJournal::durable() const noexcept {
  return thread_ == nullptr ? closed_.durable : thread_->durable();
}
bool NodeJournal::full() const noexcept { return thread_ != nullptr && thread_->state() == State::full; }

std::optional<Error> NodeJournal::failure() const {
  if (thread_ == nullptr) return closed_.failure;
  if (thread_->state() == State::failed) return thread_->error();
  return signer_ == nullptr ? std::nullopt : signer_->failure();
}

// It may have been full when this began, and then there was space: what the thread says is looked at before each wait.
Result<void> NodeJournal::commit(const store::EntryHead& head, std::span<const std::byte> payload) {
  trim_.note_view(head, payload, end_);
  put(head, payload, store::Vouch::first);
  if (thread_ == nullptr) return closed_before_written();
  const store::JournalPosition behind = end_;
  while (true) {
    const std::uint64_t seen = progress();
    flush();
    if (durable() >= behind) return {};
    if (const State state = thread_->state(); state != State::running) {
      if (auto why = thread_->error())
        return keep_in_reserve(*reserve_, store::JournalPosition(behind.value() - 1), payload, *std::move(why));
      continue;  // there is space again
    }
    await_progress(seen);
  }
}

Result<void> NodeJournal::close() {
  if (thread_ == nullptr) return {};
  for (std::uint64_t seen = progress(); thread_->state() == State::running; seen = progress()) {
    flush();
    if (waiting_.empty()) break;
    await_progress(seen);
  }
  finish_signatures();
  auto stopped = thread_->stop();
  {
    const std::lock_guard lock(mutex_);
    closed_.is = true;
    closed_.durable = thread_->durable();
    if (!stopped) closed_.failure = stopped.error();
    thread_.reset();
  }
  changed_.notify_all();
  waiting_.clear();
  reserve_.reset();
  found_.storage.reset();
  return stopped;
}

LogPlace NodeJournal::log(SubgroupId subgroup) const {
  const auto base = bases_.find(subgroup);
  const auto begin = base == bases_.end() ? store::JournalPosition() : base->second;
  return {place().of(node()), place().owner(node()), subgroup, begin, trim_.hold()};
}

Result<void> NodeJournal::await_durable(store::JournalPosition position, std::stop_token stop) {
  std::unique_lock lock(mutex_);
  std::optional<Result<void>> outcome;
  const bool decided = changed_.wait(lock, std::move(stop), [&] {
    if (durable() >= position) outcome.emplace();
    else if (auto why = failure()) outcome.emplace(*std::move(why));
    else if (closed_.is) outcome.emplace(closed_before_written());
    return outcome.has_value();
  });
  if (!decided) return Error(ErrorKind::group_closed, "nobody waits for the journal any more");
  return *std::move(outcome);
}

}  // namespace spindrift::group
