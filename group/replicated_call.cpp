// The progress of a call: its waiting threads are woken at each stage, and told if the group ends before it.
#include <spindrift/group/replicated_call.hpp>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <utility>

#include <spindrift/group/replicated_error.hpp>

namespace spindrift::replicated {

namespace {

bool contains(std::span<const NodeId> nodes, NodeId node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

std::string_view to_string(CallStage stage) {
  switch (stage) {
    case CallStage::delivered: return "delivered";
    case CallStage::answered: return "answered by all replicas";
    case CallStage::stable: return "stable";
    case CallStage::durable: return "durable";
  }
  return "";
}

}  // namespace

bool ReplicatedCall::reached_unlocked(CallStage stage) const noexcept {
  switch (stage) {
    case CallStage::delivered: return delivered_;
    case CallStage::answered: return delivered_ && awaited_.empty();
    case CallStage::stable: return stable_;
    case CallStage::durable: return durable_;
  }
  return false;
}

bool ReplicatedCall::reached(CallStage stage) const {
  const std::lock_guard lock(mutex_);
  return reached_unlocked(stage);
}

void ReplicatedCall::wait(CallStage stage, std::optional<Duration> limit) const {
  if (stage == CallStage::durable && way_ != CallWay::logged) {
    throw Exception(Error(ErrorKind::bad_argument, "a replicated call becomes durable in a logged subgroup alone")
                        .fix("give the subgroup \"storage\": \"logged\" in the layout, and set [PERS] file_path; or wait "
                             "for stable()"));
  }
  std::unique_lock lock(mutex_);
  const auto over = [&] { return reached_unlocked(stage) || ended_.has_value(); };
  if (!over()) {
    if (handlers_->is_one()) {
      throw Exception(Error(ErrorKind::would_block, "a handler cannot wait for a replicated call: its group waits for the "
                                                    "handler's return, at the latest when the view changes")
                          .fix("keep the future, and wait for it on a thread of the application"));
    }
    if (!limit) {
      changed_.wait(lock, over);
    } else if (!changed_.wait_for(lock, *limit, over)) {
      const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(*limit).count();
      throw Exception(Error(ErrorKind::timed_out, "the replicated call was not " + std::string(to_string(stage)) +
                                                      " within " + std::to_string(milliseconds) + " ms; it goes on"));
    }
  }
  if (!reached_unlocked(stage)) throw Exception(*ended_);
}

void PartedAnswer::add(bool piece_threw, std::uint64_t left_then, std::span<const std::byte> piece) {
  const bool first = bytes.empty();
  if (piece.empty() || left_then > answer_bytes_max) throw BadBytes("a piece of an answer is empty, or of too large a one");
  if (!first && (piece_threw != threw || left_then + piece.size() != left)) throw BadBytes("its pieces do not fit");
  threw = piece_threw;
  left = left_then;
  bytes.insert(bytes.end(), piece.begin(), piece.end());
}

void ReplicatedCall::store(NodeId from, bool threw, std::span<const std::byte> bytes) {
  if (threw) {
    store_thrown(from, take_exception(bytes));
  } else {
    store_value(from, bytes);
  }
  answered_.push_back(from);
  std::erase(awaited_, from);
  changed_.notify_all();
}

bool ReplicatedCall::on_answer(NodeId from, bool threw, std::uint64_t left, std::span<const std::byte> piece) {
  const std::lock_guard lock(mutex_);
  if (contains(lost_, from)) return true;
  if (contains(answered_, from) || (delivered_ && !contains(awaited_, from))) return false;
  auto parted = std::find_if(parted_.begin(), parted_.end(), [&](const PartedAnswer& each) { return each.from == from; });
  if (parted == parted_.end() && left == 0) {
    store(from, threw, piece);
    return true;
  }
  if (parted == parted_.end()) parted = parted_.insert(parted_.end(), PartedAnswer{from});
  parted->add(threw, left, piece);
  if (left > 0) return true;
  const std::vector<std::byte> whole = std::move(parted->bytes);
  parted_.erase(parted);
  store(from, threw, whole);
  return true;
}

bool ReplicatedCall::on_refusal(NodeId from, const Error& why) {
  const std::lock_guard lock(mutex_);
  if (way_ != CallWay::chosen) return false;
  if (contains(lost_, from)) return true;
  if (!contains(awaited_, from)) return false;
  store_thrown(from, std::make_exception_ptr(Exception(why)));
  std::erase(awaited_, from);
  changed_.notify_all();
  return true;
}

// A result that was kept may have come with a state, of which the bytes of results were not read.
void ReplicatedCall::on_own_result(NodeId self, bool threw, std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  if (store_bytes(threw, bytes)) return;
  try {
    if (threw) return store_thrown(self, take_exception(bytes));
    store_value(self, bytes);
  } catch (const BadBytes& bad) {
    const Exception unreadable(Error(ErrorKind::bad_input, "the result that is kept of a client's request cannot be read")
                                   .because(Error(ErrorKind::bad_input, bad.what())));
    store_thrown(self, std::make_exception_ptr(unreadable));
  }
}

void ReplicatedCall::on_own_refusal(NodeId self, std::exception_ptr why) {
  const std::lock_guard lock(mutex_);
  store_thrown(self, std::move(why));
}

void ReplicatedCall::on_place(const MessagePlace& place) {
  const std::lock_guard lock(mutex_);
  store_place(place);
}

void ReplicatedCall::on_delivery(std::span<const NodeId> others) {
  const std::lock_guard lock(mutex_);
  for (const NodeId node : others) {
    if (!contains(answered_, node)) awaited_.push_back(node);
  }
  delivered_ = true;
  on_stage(CallStage::delivered);
  changed_.notify_all();
}

void ReplicatedCall::on_stable() {
  const std::lock_guard lock(mutex_);
  stable_ = true;
  on_stage(CallStage::stable);
  changed_.notify_all();
}

void ReplicatedCall::on_durable() {
  const std::lock_guard lock(mutex_);
  durable_ = true;
  on_stage(CallStage::durable);
  changed_.notify_all();
}

void ReplicatedCall::on_view(std::span<const NodeId> members, std::span<const NodeId> anew) {
  const auto lost = [&](NodeId node) { return !contains(members, node) || contains(anew, node); };
  const std::lock_guard lock(mutex_);
  for (const NodeId node : awaited_) {
    if (!lost(node)) continue;
    store_lost(node);
    lost_.push_back(node);
  }
  std::erase_if(parted_, [&](const PartedAnswer& parted) { return lost(parted.from); });
  std::erase_if(awaited_, lost);
  changed_.notify_all();
}

void ReplicatedCall::on_end(const Error& why) {
  const std::lock_guard lock(mutex_);
  ended_ = why;
  on_ended(why);
  changed_.notify_all();
}

// Ids start anywhere, so that answers to a former incarnation of this node meet no call of this one.
OpenCalls::OpenCalls() : next_id_((std::uint64_t{std::random_device{}()} << 31) + 1) {}

std::uint64_t OpenCalls::add(std::shared_ptr<ReplicatedCall> call) {
  const std::lock_guard lock(mutex_);
  if (ended_) throw Exception(*ended_);
  open_.push_back({next_id_, std::move(call)});
  return next_id_++;
}

std::optional<std::uint64_t> OpenCalls::add_at(std::shared_ptr<ReplicatedCall> call, NodeId of) {
  const std::lock_guard lock(mutex_);
  if (ended_) throw Exception(*ended_);
  if (!contains(members_, of)) return std::nullopt;
  open_.push_back({next_id_, std::move(call)});
  return next_id_++;
}

// Membership is looked at and the call is added in one step: every view after it is one that the call hears of.
OpenCalls::Queried OpenCalls::add_query(const std::shared_ptr<ReplicatedCall>& call, std::optional<NodeId> of) {
  const std::lock_guard lock(mutex_);
  if (ended_) throw Exception(*ended_);
  Queried queried;
  if (!of) {
    queried.members = members_;
  } else if (contains(members_, *of)) {
    queried.members = {*of};
  }
  call->on_delivery(of ? std::span<const NodeId>(&*of, 1) : std::span<const NodeId>(members_));
  if (queried.members.empty()) return queried;
  queried.id = next_id_++;
  open_.push_back({queried.id, call});
  return queried;
}

void OpenCalls::drop(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  std::erase_if(open_, [&](const Open& open) { return open.id == id; });
}

std::shared_ptr<ReplicatedCall> OpenCalls::find(std::uint64_t id) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::lower_bound(open_.begin(), open_.end(), id,
                                      [](const Open& open, std::uint64_t sought) { return open.id < sought; });
  return found == open_.end() || found->id != id ? nullptr : found->call;
}

void OpenCalls::forget_if_done(std::uint64_t id) {
  const std::shared_ptr<ReplicatedCall> call = find(id);
  if (call && call->reached(CallStage::answered)) drop(id);
}

void OpenCalls::on_delivery(std::uint64_t id, const CallPlace& place, std::span<const NodeId> others) {
  const std::shared_ptr<ReplicatedCall> call = find(id);
  if (!call) return;
  if (place.sequence) {
    const std::lock_guard lock(mutex_);
    unstable_.push_back({*place.sequence, call});
  } else {
    call->on_stable();
  }
  call->on_place(place.at);
  call->on_delivery(others);
  // A replica that takes its deliveries late hears of it when they are durable already.
  if (place.version) {
    const std::lock_guard lock(mutex_);
    if (*place.version < durable_) {
      call->on_durable();
    } else {
      undurable_.push_back({*place.version, call});
    }
  }
  forget_if_done(id);
}

void OpenCalls::on_stable(SequenceNumber frontier) {
  const std::lock_guard lock(mutex_);
  const auto first_unstable = std::find_if(unstable_.begin(), unstable_.end(),
                                           [&](const Unstable& entry) { return entry.sequence >= frontier; });
  for (auto entry = unstable_.begin(); entry != first_unstable; ++entry) {
    if (const std::shared_ptr<ReplicatedCall> call = entry->call.lock()) call->on_stable();
  }
  unstable_.erase(unstable_.begin(), first_unstable);
}

void OpenCalls::on_durable(std::uint64_t version) {
  const std::lock_guard lock(mutex_);
  durable_ = version;
  const auto first = std::find_if(undurable_.begin(), undurable_.end(),
                                  [&](const Undurable& entry) { return entry.version >= version; });
  for (auto entry = undurable_.begin(); entry != first; ++entry) {
    if (const std::shared_ptr<ReplicatedCall> call = entry->call.lock()) call->on_durable();
  }
  undurable_.erase(undurable_.begin(), first);
}

void OpenCalls::begin(std::span<const NodeId> members) {
  const std::lock_guard lock(mutex_);
  members_.assign(members.begin(), members.end());
}

void OpenCalls::on_view(std::span<const NodeId> members, std::span<const NodeId> anew) {
  const std::lock_guard lock(mutex_);
  members_.assign(members.begin(), members.end());
  // A member that installs the next view has delivered everything that was delivered in this one.
  for (const Unstable& entry : unstable_) {
    if (const std::shared_ptr<ReplicatedCall> call = entry.call.lock()) call->on_stable();
  }
  unstable_.clear();
  for (const Open& open : open_) open.call->on_view(members, anew);
  std::erase_if(open_, [](const Open& open) { return open.call->reached(CallStage::answered); });
}

void OpenCalls::on_end(const Error& why) {
  const std::lock_guard lock(mutex_);
  ended_ = why;
  for (const Open& open : open_) open.call->on_end(why);
  for (const Unstable& entry : unstable_) {
    if (const std::shared_ptr<ReplicatedCall> call = entry.call.lock()) call->on_end(why);
  }
  for (const Undurable& entry : undurable_) {
    if (const std::shared_ptr<ReplicatedCall> call = entry.call.lock()) call->on_end(why);
  }
  open_.clear();
  unstable_.clear();
  undurable_.clear();
}

}  // namespace spindrift::replicated
