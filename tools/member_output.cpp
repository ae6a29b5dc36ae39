// A list of copies that changes hands, and the pause of the subgroup when it is long.
#include "member_output.hpp"

#include <utility>

#include <spindrift/core/limits.hpp>

namespace spindrift::tools {

MemberOutput::MemberOutput(std::string subgroup, bool json, std::optional<std::uint64_t> most)
    : name_(std::move(subgroup)), printer_(json, most), thread_(value_or_throw(start_thread([this] { run(); }))) {}

MemberOutput::~MemberOutput() {
  end();
  thread_.join();
}

void MemberOutput::take(Subgroup& subgroup) {
  if (subgroup.name() == name_) subgroup.on_delivery([this, &subgroup](auto batch) { keep(subgroup, batch); });
}

void MemberOutput::keep(Subgroup& subgroup, std::span<const Delivery> batch) {
  const std::lock_guard lock(mutex_);
  if (source_ != Source::open) return;
  for (const Delivery& each : batch) {
    if (delivered_.end == 0) delivered_.begin = each.version;
    delivered_.end = each.version + 1;
    if (each.version < start_.version || each.view < start_.view) continue;
    Kept& kept = kept_.emplace_back(Kept{each, {each.payload.begin(), each.payload.end()}});
    kept.delivery.payload = kept.bytes;
    kept_bytes_ += sizeof(Kept) + kept.bytes.size();
    if (!start_.last || kept_.size() <= *start_.last) continue;
    kept_bytes_ -= sizeof(Kept) + kept_.front().bytes.size();
    kept_.pop_front();
  }
  if (start_.last) return;
  if (kept_bytes_ >= waiting_bytes_max) {
    subgroup.pause();
    paused_ = &subgroup;
  }
  changed_.notify_all();
}

void MemberOutput::begin_with(const OutputStart& start) {
  const std::lock_guard lock(mutex_);
  start_ = start;
  printer_.show_log_versions();
}

void MemberOutput::release() {
  const std::lock_guard lock(mutex_);
  start_.last.reset();
  changed_.notify_all();
}

MemberOutput::Span MemberOutput::delivered() {
  const std::lock_guard lock(mutex_);
  return delivered_;
}

void MemberOutput::on_joined(Session& session) {
  const std::lock_guard lock(mutex_);
  joined_ = &session;
  if (source_ == Source::done) session.request_stop();
}

void MemberOutput::end() {
  const std::lock_guard lock(mutex_);
  source_ = Source::ended;
  paused_ = nullptr;
  joined_ = nullptr;
  changed_.notify_all();
}

bool MemberOutput::await_printed(std::optional<std::chrono::milliseconds> limit) {
  std::unique_lock lock(mutex_);
  const auto printed = [this] { return state_ != State::printing && kept_.empty(); };
  if (limit) return changed_.wait_for(lock, *limit, printed);
  changed_.wait(lock, printed);
  return true;
}

void MemberOutput::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ready() || source_ == Source::ended; });
    if (kept_.empty()) return;
    const std::deque<Kept> taken = std::exchange(kept_, {});
    kept_bytes_ = 0;
    go_on();
    state_ = State::printing;
    lock.unlock();
    print(taken);
    lock.lock();
    state_ = State::waiting;
    if (printer_.done() && source_ == Source::open) {
      source_ = Source::done;
      kept_.clear();
      go_on();  // to leave
      if (joined_ != nullptr) joined_->request_stop();
    }
    changed_.notify_all();
  }
}

void MemberOutput::go_on() {
  if (paused_ != nullptr) std::exchange(paused_, nullptr)->resume();
}

void MemberOutput::print(const std::deque<Kept>& taken) {
  for (const Kept& each : taken) printer_.print(each.delivery);
  printer_.flush();
}

}  // namespace spindrift::tools
