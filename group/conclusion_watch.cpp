// Finding who holds up the end of a view.
#include <spindrift/group/conclusion_watch.hpp>

#include <algorithm>
#include <chrono>

#include <spindrift/core/log.hpp>

namespace spindrift::group {
namespace {

const Channel* busy_one(const Channels& channels) {
  const auto found = std::find_if(channels.begin(), channels.end(), [](const auto& channel) { return channel->busy(); });
  return found == channels.end() ? nullptr : found->get();
}

std::int64_t milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

Error stuck(const Channel& channel, Duration lasted) {
  return Error(ErrorKind::handler_failed, "a handler of subgroup " + channel.name() + " was at work for " +
                                              std::to_string(milliseconds(lasted)) +
                                              " ms while the view was to end, and everybody waited for it")
      .fix("let it return, or raise [SPINDRIFT] handler_stuck_after_ms");
}

}  // namespace

std::string awaited_applications(const views::Member& member, const Channels& channels) {
  std::string text;
  const auto add = [&](NodeId node, const std::string& subgroup) {
    text += (text.empty() ? "node " : ", node ") + std::to_string(node.value()) + ", at work in subgroup " + subgroup;
  };
  const Channel* const own = member.state() == views::MemberState::concluding ? busy_one(channels) : nullptr;
  if (own != nullptr) add(member.self(), own->name());
  if (member.state() != views::MemberState::installing) return text;
  views::Epoch& present = *member.epoch();
  for (std::uint32_t i = 0; i < present.view().members.size(); ++i) {
    const auto at_work = present.line(Rank(i)).at_work;
    if (!at_work || present.table().attached(Rank(i)) || present.change().suspected().contains(Rank(i))) continue;
    add(present.view().members[i], views::name_at_work(present.view(), *at_work));
  }
  return text;
}

ConclusionWatch::Finding ConclusionWatch::look(const views::Member& member, const Channels& channels, Time now) {
  const Channel* const busy = member.state() == views::MemberState::concluding ? busy_one(channels) : nullptr;
  if (busy == nullptr) {
    waiting_.reset();
    return {};
  }
  if (!waiting_ || waiting_->whose != busy || waiting_->batch != busy->batches_given())
    waiting_ = {busy, busy->batches_given(), now, now + report_after};
  const Duration lasted = now - waiting_->since;
  const bool judges = stuck_after_ != Duration{};
  if (judges && lasted >= stuck_after_) return {never, stuck(*busy, lasted)};
  if (now >= waiting_->next_report) {
    waiting_->next_report = now + report_interval;
    log::warn(log::Room::group, "the view cannot end: a handler is at work, and all members wait for it",
              {{"subgroup", busy->name()}, {"ms", milliseconds(lasted)}});
  }
  return {judges ? std::min(waiting_->next_report, waiting_->since + stuck_after_) : waiting_->next_report, std::nullopt};
}

}  // namespace spindrift::group
