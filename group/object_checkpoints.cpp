// The poller's side: it begins what the thread does, looks when that is done, and hands a state over piece by piece.
#include <spindrift/group/object_checkpoints.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/core/log.hpp>

namespace spindrift::group {
namespace {

/// So many bytes go to the journal at once, and more when the disk has them: messages that come meanwhile wait for no more.
constexpr std::uint64_t bytes_at_once = 4 * store::checkpoint_piece_bytes_max;

}  // namespace

ObjectCheckpoints::ObjectCheckpoints(SubgroupId subgroup, Surroundings around, ObjectMaker make)
    : subgroup_(subgroup), around_(std::move(around)), make_(std::move(make)) {}

ObjectCheckpoints::~ObjectCheckpoints() {
  if (loading_) loading_->stop();
  if (making_) making_->stop();
  thread_.stop();
}

template <class Outcome, class Work>
void ObjectCheckpoints::start(const std::shared_ptr<Outcome>& outcome, Work work) {
  try {
    thread_.give([outcome, work = std::move(work), wake = around_.wake] {
      outcome->run(work);
      wake();
    });
  } catch (const Exception& no_thread) {
    outcome->set(no_thread.error());
    around_.wake();
  }
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
  if (making_) {
    making_->stop();
    end_making();
  }
  loading_ = std::make_shared<Loading>();
  version_ = checkpoint.version.value();
  stage_ = Stage::loading;
  NodeJournal& journal = around_.logged.journal();
  start(loading_, [&journal, from = CheckpointToLoad{journal.log(subgroup_), checkpoint, journal.end()},
                   &object = around_.object, &threads = *around_.channel.handler_threads()](const std::stop_token& stop) {
    return load_checkpoint(journal, from, object, threads, stop);
  });
}

bool ObjectCheckpoints::end_loading() {
  if (!loading_->done()) return false;
  const std::shared_ptr<Loading> loaded = std::exchange(loading_, nullptr);
  stage_ = Stage::idle;
  if (!loaded->outcome()) {
    around_.object.give_up(unloadable(loaded->outcome().error()));
    return true;
  }
  around_.object.begin_at(version_);
  around_.logged.begin_at(subgroup_, version_);
  return begins();
}

void ObjectCheckpoints::on_durable(std::uint64_t version) {
  if (stage_ != Stage::idle || !make_) return;
  const auto next = around_.logged.next_checkpoint(subgroup_, version);
  if (!next || *next < not_before_) return;
  CheckpointToMake task{.log = around_.logged.journal().log(subgroup_), .last = std::nullopt, .version = *next};
  if (const auto* const last = around_.logged.stored().durable_checkpoint(subgroup_)) task.last = *last;
  // It holds up no trim: what it reads goes when a later checkpoint is on the disk, which is the one that it makes.
  task.log.hold.reset();
  version_ = *next;
  begun_at_ = task.begun_at();
  base_ = task.log.base;
  making_ = std::make_shared<Making>();
  stage_ = Stage::making;
  start(making_, [task = std::move(task), &channel = around_.channel, &make = make_](const std::stop_token& stop) {
    return make_checkpoint(task, channel, make, stop);
  });
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
  StoredLogs& stored = around_.logged.stored();
  if (base_ != around_.logged.journal().log(subgroup_).base || stored.coming_checkpoint(subgroup_) != nullptr)
    return end_making();
  if (!making_->outcome()) return give_up_making(making_->outcome().error());
  const MadeCheckpoint& made = *making_->outcome();
  stored.begin_state(subgroup_, made.at, made.state->bytes());
  written_ = 0;
  stage_ = Stage::writing;
}

void ObjectCheckpoints::write() {
  StoredLogs& stored = around_.logged.stored();
  const NodeJournal& journal = around_.logged.journal();
  if (journal.durable() < handed_over_) return;
  const MadeCheckpoint& made = *making_->outcome();
  const store::Checkpoint* const coming = stored.coming_checkpoint(subgroup_);
  if (coming == nullptr || views::LogPoint{coming->version.value(), coming->link} != made.at) return end_making();
  const std::uint64_t until = std::min(made.state->bytes(), written_ + bytes_at_once);
  std::vector<std::byte> piece;
  while (written_ < until && stored.accepts()) {
    piece.resize(std::min(until - written_, store::checkpoint_piece_bytes_max));
    made.state->read(written_, piece);
    stored.append_state(subgroup_, piece);
    written_ += piece.size();
  }
  handed_over_ = journal.end();
  stored.flush();
  if (written_ == made.state->bytes()) end_making();
}

// The thread closes the file of the state, which takes as long as that is large.
void ObjectCheckpoints::end_making() {
  thread_.dispose(std::move(making_));
  making_.reset();
  stage_ = Stage::idle;
}

void ObjectCheckpoints::give_up_making(const Error& why) {
  log::warn(log::Room::group, "no checkpoint of a replicated object could be made: its log grows until the next one is",
            {{"subgroup", around_.channel.subgroup()}, {"reason", why.to_string()}});
  not_before_ = 2 * version_ - begun_at_;
  end_making();
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

Error ObjectCheckpoints::unloadable(const Error& why) const {
  const NodeJournal& journal = around_.logged.journal();
  const std::string node = std::to_string(journal.node().value());
  const std::string fix =
      "let the type's serialize, or load, read what the program wrote that made it. If the journal is damaged, and others "
      "have the object, have this node forget its log, and it is given theirs: spindrift group forget --config FILE ";
  return Error(why.kind(), "node " + node + " cannot begin with the checkpoint of version " + std::to_string(version_) +
                               " of subgroup " + around_.channel.subgroup())
      .at(journal.place().of(journal.node()))
      .fix(why.fix().empty() ? fix + node : why.fix())
      .because(why);
}

}  // namespace spindrift::group
