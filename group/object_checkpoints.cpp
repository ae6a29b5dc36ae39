// The work of the thread has what it needs as values; the poller looks at nothing of it before it is done.
#include <spindrift/group/object_checkpoints.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/core/log.hpp>
#include <spindrift/group/log_reading.hpp>
#include <spindrift/group/state_file.hpp>

namespace spindrift::group {
namespace {

/// So many bytes go to the journal at once, and more when the disk has them: messages that come meanwhile wait for no more.
constexpr std::uint64_t bytes_at_once = 4 * store::checkpoint_piece_bytes_max;

Result<std::vector<std::byte>> state_of(const LogPlace& log, const store::Checkpoint& checkpoint) {
  std::vector<std::byte> state;
  state.reserve(checkpoint.bytes);
  SPINDRIFT_TRY(read_checkpoint(log, checkpoint, [&](std::span<const std::byte> piece) {
    state.insert(state.end(), piece.begin(), piece.end());
    return true;
  }));
  return state;
}

Error stopped() { return {ErrorKind::group_closed, "the group has ended"}; }

}  // namespace

/// Something that the thread does once.
class ObjectCheckpoints::Work {
 public:
  virtual ~Work() = default;
  void run() {
    try {
      outcome_ = perform();
    } catch (const std::exception& thrown) {
      outcome_ = Error(ErrorKind::handler_failed, thrown.what());
    }
    done_.store(true, std::memory_order_release);
  }
  void stop() noexcept { stop_.request_stop(); }
  // The poller:
  /// No thread is there to run it.
  void fail(const Error& why) {
    outcome_ = Error(why);
    done_.store(true, std::memory_order_release);
  }
  [[nodiscard]] bool done() const noexcept { return done_.load(std::memory_order_acquire); }
  [[nodiscard]] const Result<void>& outcome() const noexcept { return outcome_; }

 protected:
  [[nodiscard]] virtual Result<void> perform() = 0;
  [[nodiscard]] std::stop_token stop_token() const noexcept { return stop_.get_token(); }

 private:
  std::stop_source stop_;
  Result<void> outcome_;
  std::atomic<bool> done_{false};
};

class ObjectCheckpoints::Loading final : public Work {
 public:
  Loading(NodeJournal& journal, SubgroupId subgroup, const store::Checkpoint& checkpoint, ReplicaBase& object,
          const HandlerThreads& threads)
      : journal_(journal),
        log_(journal.log(subgroup)),
        written_(journal.end()),
        checkpoint_(checkpoint),
        object_(object),
        threads_(threads) {}

  [[nodiscard]] std::uint64_t version() const noexcept { return checkpoint_.version.value(); }

 private:
  Result<void> perform() override {
    SPINDRIFT_TRY(journal_.await_durable(written_, stop_token()));
    SPINDRIFT_TRY_ASSIGN(const store::LogEnd there, read_log(log_, version(), version(), {}));
    if (there.link != checkpoint_.link) return of_another_log();
    SPINDRIFT_TRY_ASSIGN(const std::vector<std::byte> state, state_of(log_, checkpoint_));
    const HandlerThreads::Entry entry(threads_, HandlerThreads::Kind::own);
    return object_.load(state);
  }

  // It came with that log, whose end had not come with it when the process died.
  [[nodiscard]] Error of_another_log() const {
    return Error(ErrorKind::bad_input, "the checkpoint of version " + std::to_string(version()) +
                                           " is of another log than the messages behind it")
        .at(log_.path)
        .fix("have this node forget its log, and it is given that of the others: spindrift group forget --config FILE " +
             std::to_string(journal_.node().value()));
  }

  NodeJournal& journal_;
  const LogPlace log_;
  const store::JournalPosition written_;
  const store::Checkpoint checkpoint_;
  ReplicaBase& object_;
  const HandlerThreads& threads_;
};

class ObjectCheckpoints::Making final : public Work {
 public:
  Making(NodeJournal& journal, SubgroupId subgroup, const store::Checkpoint* last, std::uint64_t version,
         const ReplicaChannel& channel, const ObjectMaker& make)
      : log_(journal.log(subgroup)), at_{version, {}}, channel_(channel), make_(make) {
    if (last != nullptr) last_ = *last;
  }

  [[nodiscard]] const views::LogPoint& at() const noexcept { return at_; }
  [[nodiscard]] store::JournalPosition base() const noexcept { return log_.base; }
  [[nodiscard]] std::uint64_t begun_at() const noexcept { return last_ ? last_->version.value() : 0; }
  [[nodiscard]] views::StateReader& state() const noexcept { return *state_; }

 private:
  Result<void> perform() override {
    const HandlerThreads::Entry entry(*channel_.handler_threads(), HandlerThreads::Kind::beside);
    ObjectCopy copy(channel_, make_);
    if (last_) {
      SPINDRIFT_TRY_ASSIGN(const std::vector<std::byte> state, state_of(log_, *last_));
      SPINDRIFT_TRY(copy.load(state, begun_at()));
    }
    Result<void> taken;
    SPINDRIFT_TRY_ASSIGN(const store::LogEnd end, read_log(log_, begun_at(), at_.version, [&](const store::Entry& message) {
      taken = copy.take(message);
      return taken && !stop_token().stop_requested();
    }));
    if (!taken) return taken;
    if (entry.refused()) {
      return Error(ErrorKind::unsupported, "an update started a call, or read another object, and does not do so again")
          .fix("let updates change their own object alone");
    }
    if (stop_token().stop_requested()) return stopped();
    at_.link = end.link;
    state_ = keep_state([&](std::ostream& to) { value_or_throw(copy.save(to)); });
    return {};
  }

  const LogPlace log_;
  views::LogPoint at_;
  std::optional<store::Checkpoint> last_;
  const ReplicaChannel& channel_;
  const ObjectMaker& make_;
  std::unique_ptr<views::StateReader> state_;
};

ObjectCheckpoints::ObjectCheckpoints(SubgroupId subgroup, Surroundings around, ObjectMaker make)
    : subgroup_(subgroup), around_(std::move(around)), make_(std::move(make)) {}

ObjectCheckpoints::~ObjectCheckpoints() {
  if (loading_) loading_->stop();
  if (making_) making_->stop();
  thread_.stop();
}

bool ObjectCheckpoints::begins() {
  if (stage_ == Stage::loading) return end_loading();
  if (!around_.logged.lacks_state(subgroup_)) return true;
  const store::Checkpoint* const state = around_.logged.stored().checkpoint(subgroup_);
  if (state == nullptr) {
    around_.object.give_up(lacks_calls());
    return true;
  }
  begin_loading(*state);
  return false;
}

// A checkpoint that is being made is of the log as it was, and nobody takes it.
void ObjectCheckpoints::begin_loading(const store::Checkpoint& checkpoint) {
  if (making_) making_->stop();
  making_.reset();
  loading_ = std::make_shared<Loading>(around_.logged.journal(), subgroup_, checkpoint, around_.object,
                                       *around_.channel.handler_threads());
  stage_ = Stage::loading;
  start(loading_);
}

void ObjectCheckpoints::start(const std::shared_ptr<Work>& work) {
  try {
    thread_.give([work, wake = around_.wake] {
      work->run();
      wake();
    });
  } catch (const Exception& no_thread) {
    work->fail(no_thread.error());
    around_.wake();
  }
}

bool ObjectCheckpoints::end_loading() {
  if (!loading_->done()) return false;
  const std::shared_ptr<Loading> loaded = std::exchange(loading_, nullptr);
  stage_ = Stage::idle;
  if (!loaded->outcome()) {
    around_.object.give_up(unloadable(loaded->version(), loaded->outcome().error()));
    return true;
  }
  around_.object.begin_at(loaded->version());
  around_.logged.begin_at(subgroup_, loaded->version());
  return begins();
}

void ObjectCheckpoints::on_durable(std::uint64_t version) {
  if (stage_ != Stage::idle || !make_) return;
  const auto next = around_.logged.next_checkpoint(subgroup_, version);
  if (!next || *next < not_before_) return;
  const store::Checkpoint* const last = around_.logged.stored().durable_checkpoint(subgroup_);
  making_ = std::make_shared<Making>(around_.logged.journal(), subgroup_, last, *next, around_.channel, make_);
  stage_ = Stage::making;
  start(making_);
}

void ObjectCheckpoints::step() {
  try {
    if (stage_ == Stage::making && making_->done()) take_made();
    if (stage_ == Stage::writing) write();
  } catch (const Exception& unreadable) {
    around_.logged.stored().drop_state(subgroup_);
    give_up_making(unreadable.error());
  }
}

// The log may have begun anew meanwhile, or the state of another member be on its way.
void ObjectCheckpoints::take_made() {
  if (!making_->outcome()) return give_up_making(making_->outcome().error());
  StoredLogs& stored = around_.logged.stored();
  if (making_->base() != around_.logged.journal().log(subgroup_).base || stored.coming_checkpoint(subgroup_) != nullptr) {
    making_.reset();
    stage_ = Stage::idle;
    return;
  }
  stored.begin_state(subgroup_, making_->at(), making_->state().bytes());
  written_ = 0;
  stage_ = Stage::writing;
}

void ObjectCheckpoints::write() {
  StoredLogs& stored = around_.logged.stored();
  const NodeJournal& journal = around_.logged.journal();
  if (journal.durable() < handed_over_) return;
  const std::uint64_t bytes = making_->state().bytes();
  const std::uint64_t until = std::min(bytes, written_ + bytes_at_once);
  const store::Checkpoint* const coming = stored.coming_checkpoint(subgroup_);
  const bool own = coming != nullptr && views::LogPoint{coming->version.value(), coming->link} == making_->at();
  std::vector<std::byte> piece;
  while (own && written_ < until && stored.accepts()) {
    piece.resize(std::min(until - written_, store::checkpoint_piece_bytes_max));
    making_->state().read(written_, piece);
    stored.append_state(subgroup_, piece);
    written_ += piece.size();
  }
  handed_over_ = journal.end();
  stored.flush();
  if (own && written_ < bytes) return;
  making_.reset();
  stage_ = Stage::idle;
}

void ObjectCheckpoints::give_up_making(const Error& why) {
  log::warn(log::Room::group, "no checkpoint of a replicated object could be made: its log grows until the next one is",
            {{"subgroup", around_.channel.subgroup()}, {"reason", why.to_string()}});
  not_before_ = 2 * making_->at().version - making_->begun_at();
  making_.reset();
  stage_ = Stage::idle;
}

Error ObjectCheckpoints::lacks_calls() const {
  const NodeJournal& journal = around_.logged.journal();
  return Error(ErrorKind::refused, "the log of subgroup " + around_.channel.subgroup() + " begins with message " +
                                       std::to_string(around_.logged.first(subgroup_)) +
                                       " here, and an object is made of all of them: those before were trimmed away, and "
                                       "there is no checkpoint of one")
      .at(journal.place().of(journal.node()))
      .fix("if other members have the object, have this node forget its log, and it is given theirs: spindrift group forget "
           "--config FILE " + std::to_string(journal.node().value()) +
           ". If no object was ever in the subgroup, let a new subgroup carry it");
}

Error ObjectCheckpoints::unloadable(std::uint64_t version, const Error& why) const {
  const NodeJournal& journal = around_.logged.journal();
  const std::string node = std::to_string(journal.node().value());
  const std::string fix =
      "let the type's serialize, or load, read what the program wrote that made it. If the journal is damaged, and others "
      "have the object, have this node forget its log, and it is given theirs: spindrift group forget --config FILE ";
  return Error(why.kind(), "node " + node + " cannot begin with the checkpoint of version " + std::to_string(version) +
                               " of subgroup " + around_.channel.subgroup())
      .at(journal.place().of(journal.node()))
      .fix(why.fix().empty() ? fix + node : why.fix())
      .because(why);
}

}  // namespace spindrift::group
