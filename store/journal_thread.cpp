// The mutex is held for a copy of one payload or a swap, never across a call of the journal.
#include <spindrift/store/journal_thread.hpp>

#include <algorithm>
#include <system_error>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/core/limits.hpp>

namespace spindrift::store {

JournalThread::JournalThread(Journal journal, const JournalThreadOptions& options, Progress on_progress)
    : options_(options),
      on_progress_(std::move(on_progress)),
      journal_(std::move(journal)),
      durable_(journal_.durable().value()),
      filling_{journal_.end(), {}} {
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  } catch (const std::system_error& why) {
    throw Exception(out_of_threads(why));
  }
}

JournalThread::~JournalThread() { static_cast<void>(stop()); }

std::optional<JournalPosition> JournalThread::append(const EntryHead& head, std::span<const std::byte> payload,
                                                     Vouch vouch) {
  if (!has_room_for(payload.size())) return std::nullopt;
  filling_.batch.append(head, payload);
  filling_.vouch = std::max(filling_.vouch, vouch);
  return note_appended();
}

std::optional<JournalPosition> JournalThread::append_base(const LogEnd& end, std::uint64_t time) {
  if (!has_room_for(sizeof end.link)) return std::nullopt;
  filling_.batch.append_base(end, time);
  return note_appended();
}

// One that is larger than the bound goes alone.
bool JournalThread::has_room_for(std::uint64_t payload_bytes) const noexcept {
  const std::uint64_t waiting = filling_.batch.bytes() + inbox_.bytes.load(std::memory_order_relaxed);
  return waiting == 0 || waiting + payload_bytes <= options_.waiting_bytes_max;
}

JournalPosition JournalThread::note_appended() {
  const JournalPosition position = filling_.next;
  ++filling_.next;
  if (filling_.batch.bytes() >= options_.batch_bytes) flush();
  return position;
}

// Beside a batch that waits already it is copied to that one: both become durable at once.
void JournalThread::flush() {
  Batch& batch = filling_.batch;
  if (batch.empty()) return;
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = inbox_.batches.empty();
    inbox_.bytes.fetch_add(batch.bytes(), std::memory_order_relaxed);
    if (std::exchange(filling_.vouch, Vouch::later) == Vouch::first) inbox_.vouch = filling_.next;
    if (!first && inbox_.batches.back().bytes() + batch.bytes() <= options_.batch_bytes) {
      inbox_.batches.back().append_all(batch);
    } else {
      inbox_.batches.push_back(std::exchange(batch, Batch()));
      if (!inbox_.spare.empty()) {
        batch = std::move(inbox_.spare.back());
        inbox_.spare.pop_back();
      }
    }
  }
  if (first) given_.notify_one();
}

void JournalThread::trim(JournalPosition before) {
  {
    const std::lock_guard lock(mutex_);
    inbox_.trim = std::max(inbox_.trim, before);
  }
  given_.notify_one();
}

Result<void> JournalThread::stop() {
  if (thread_.joinable()) {
    flush();
    thread_.request_stop();
    thread_.join();
  }
  if (const auto why = error()) return *why;
  return {};
}

std::optional<Error> JournalThread::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

void JournalThread::set_state(State state, std::optional<Error> error) {
  {
    const std::lock_guard lock(mutex_);
    error_ = std::move(error);
  }
  state_.store(state, std::memory_order_release);
  on_progress_();
}

bool JournalThread::await(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (!batch_.empty()) {  // the disk is full: more is taken only when that is written, for the bound is on what waits
    given_.wait_for(lock, stop, options_.retry_after, [this] { return inbox_.trim.value() != 0; });
    trim_ = std::max(trim_, std::exchange(inbox_.trim, JournalPosition()));
    return !stop.stop_requested();
  }
  switch (idle_) {
    case Idle::committing:
    case Idle::preparing: break;  // what there is to do without work does not wait
    case Idle::unvouched: given_.wait_for(lock, stop, options_.vouch_after, [this] { return has_work(); }); break;
    case Idle::done: given_.wait(lock, stop, [this] { return has_work(); }); break;
  }
  take();
  const bool work = !batch_.empty() || trim_.value() != 0 || idle_ == Idle::committing;
  return work || !stop.stop_requested();
}

void JournalThread::take() {
  trim_ = std::max(trim_, std::exchange(inbox_.trim, JournalPosition()));
  vouch_ = std::max(vouch_, std::exchange(inbox_.vouch, JournalPosition()));
  if (inbox_.batches.empty()) return;
  std::swap(batch_, inbox_.batches.front());  // the one at hand is empty, and has memory
  constexpr std::size_t spare_max = 4;
  if (inbox_.spare.size() < spare_max) inbox_.spare.push_back(std::move(inbox_.batches.front()));
  inbox_.batches.pop_front();
  more_waits_ = !inbox_.batches.empty();
  std::uint64_t bytes = 0;
  for (const Batch& each : inbox_.batches) bytes += each.bytes();
  inbox_.bytes.store(bytes, std::memory_order_relaxed);
}

// A write that goes on beside this thread takes longer by itself, and is for when there is another batch to seal meanwhile.
void JournalThread::commit() {
  auto done = more_waits_ ? journal_.begin_commit(batch_) : journal_.commit(batch_);
  if (!done) {
    const bool full = done.error().kind() == ErrorKind::disk_full;
    return set_state(full ? State::full : State::failed, std::move(done).error());
  }
  idle_ = more_waits_ ? Idle::committing : Idle::preparing;
  publish();
}

void JournalThread::finish_commit() {
  if (auto finished = journal_.finish_commit(); !finished) return set_state(State::failed, std::move(finished).error());
  idle_ = Idle::preparing;
  publish();
}

// Says how much is durable, if that is more than before. While an entry on its way is to be vouched for first, so is
// everything before it: there may be another such one.
void JournalThread::publish() {
  if (vouch_.value() != 0) {
    if (auto vouched = journal_.vouch(); !vouched) return set_state(State::failed, std::move(vouched).error());
    if (journal_.durable() >= vouch_) vouch_ = {};
  }
  const std::uint64_t durable = journal_.durable().value();
  const bool more = durable != durable_.load(std::memory_order_relaxed);
  durable_.store(durable, std::memory_order_release);
  if (state_.load(std::memory_order_relaxed) == State::full) set_state(State::running, std::nullopt);
  else if (more) on_progress_();
}

void JournalThread::idle() {
  Result<bool> more = false;
  switch (idle_) {
    case Idle::committing: return finish_commit();
    case Idle::preparing:
      more = journal_.prepare();
      if (more && !*more) idle_ = Idle::unvouched;
      break;
    case Idle::unvouched:
      if (const auto vouched = journal_.vouch(); !vouched) more = vouched.error();
      idle_ = Idle::done;
      break;
    case Idle::done: break;
  }
  if (!more) set_state(State::failed, std::move(more).error());
}

void JournalThread::run(const std::stop_token& stop) {
  while (state_.load(std::memory_order_relaxed) != State::failed && await(stop)) {
    // On a full disk a trim makes space, perhaps.
    const bool may_trim = batch_.empty() || state_.load(std::memory_order_relaxed) == State::full;
    if (may_trim && trim_.value() != 0) trim_now();
    else if (!batch_.empty()) commit();
    else idle();
  }
  if (state_.load(std::memory_order_relaxed) != State::failed) close();
}

void JournalThread::trim_now() {
  auto trimmed = journal_.trim(std::exchange(trim_, JournalPosition()));
  if (!trimmed) set_state(State::failed, std::move(trimmed).error());
}

void JournalThread::close() {
  auto closed = journal_.close();
  if (closed) {
    durable_.store(journal_.durable().value(), std::memory_order_release);
    return;
  }
  const bool full = closed.error().kind() == ErrorKind::disk_full;
  set_state(full ? State::full : State::failed, std::move(closed).error());
}

}  // namespace spindrift::store
