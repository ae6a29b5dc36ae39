// Deliveries, states and views against what was sent and what others saw.
#include "history.hpp"

#include <algorithm>
#include <cstring>

#include "../payload.hpp"

namespace spindrift::sim {
namespace {

std::uint64_t check_of(std::uint64_t incarnation, std::uint64_t name, std::size_t bytes) {
  return mix(mix(incarnation ^ bytes << 48) ^ name);
}

}  // namespace

void History::violate(const char* invariant, std::uint32_t process, const std::string& what) {
  report_.violate(
      invariant, "node " + std::to_string(processes_[process].node) + " (process " + std::to_string(process) + "): " + what);
}

void History::on_start(std::uint32_t process, std::uint32_t node, std::uint64_t incarnation) {
  processes_.resize(process + 1);
  processes_[process].node = node;
  processes_[process].incarnation = incarnation;
  processes_[process].participants.resize(plan_.subgroups.size());
  by_incarnation_[incarnation] = process;
}

std::uint32_t History::add_stream(std::uint32_t process, std::uint32_t subgroup) {
  Stream& stream = streams_.emplace_back();
  stream.process = process;
  stream.subgroup = subgroup;
  return static_cast<std::uint32_t>(streams_.size() - 1);
}

void History::write_message(std::uint32_t id, std::span<std::byte> payload) {
  Stream& stream = streams_[id];
  MessageHead head;
  head.incarnation = processes_[stream.process].incarnation;
  head.name = std::uint64_t{id} << 32 | stream.issued++;
  head.check = check_of(head.incarnation, head.name, payload.size());
  std::memcpy(payload.data(), &head, sizeof head);
  fill_payload(payload.subspan(sizeof head), head.check, 0, payload.size() - sizeof head);
}

void History::on_committed(std::uint32_t id) {
  Stream& stream = streams_[id];
  ++stream.committed;
  stream.committed_in.push_back(processes_[stream.process].view.value_or(ViewId(0)));
  stream.delivered_in.emplace_back();
}

const View* History::view(ViewId id) const {
  const auto found = views_.find(id);
  return found == views_.end() ? nullptr : &found->second;
}

std::optional<std::uint32_t> History::process_of(std::uint64_t incarnation) const {
  const auto found = by_incarnation_.find(incarnation);
  return found == by_incarnation_.end() ? std::nullopt : std::optional(found->second);
}

void History::on_view(std::uint32_t index, const views::NewView& news, const std::vector<bool>& loading) {
  const View& view = news.view;
  if (founded_again(index, view)) report_.hit(Probe::founded_again);
  if (founded_by_memory(index, view)) check_founding(index, view);
  check_view(index, view);
  if (report_.failed()) return;
  check_changes(index, news);
  Process& process = processes_[index];
  process.view = view.id;
  if (!process.first_view) process.first_view = view.id;
  hash_ = mix(hash_ ^ std::uint64_t{index} << 32 ^ view.id.value());
  for (std::uint32_t s = 0; s < process.participants.size(); ++s) {
    Participant& here = process.participants[s];
    if (subgroup_at(view, s).dropped) {
      if (!std::exchange(here.there, false)) continue;
      if (here.log) note_boundary(index, s, view.id);
      check_silent(index, s);
      continue;
    }
    here.there = true;
    check_senders(index, s, view);
    here.member = subgroup_at(view, s).member_position(NodeId(process.node)).has_value();
    if (plan_.subgroups[s].logged) continue;  // it has no state, and its order is its log's
    if (here.lags > 0) --here.lags;
    ++here.resets;
    check_untouched(index, s, view, loading[s]);
    const bool lost = std::find(news.state_lost.begin(), news.state_lost.end(), SubgroupId(s)) != news.state_lost.end();
    if (lost) check_loss(index, s, news);
    // With the state went what was on its way into it.
    const bool forgives = lost && plan_.subgroups[s].mode == DeliveryMode::unordered;
    for (Stream& stream : streams_) {
      if (forgives && stream.subgroup == s) stream.forgiven = stream.issued;
    }
    if (loading[s]) here.lags = 2;  // with the state comes what its source had kept of earlier views
    // Messages that came while it still loaded are in the state that it loads now.
    if (loading[s] && *process.first_view != view.id) here.reloaded = true;
    if (plan_.subgroups[s].mode == DeliveryMode::unordered) continue;
    if (lost && !here.member) log_begun(s, view.id);
    if (!here.member) continue;
    if (lost && here.log)
      return violate("J1", index, "told that the state of subgroup " + std::to_string(s) + " is lost, but has it");
    if (lost && logs_of_[s].empty() && *process.first_view != view.id)
      return violate("J1", index,
                     "told that the state of subgroup " + std::to_string(s) + " is lost, which nobody ever had");
    if (is_new(s, view) || lost || logs_of_[s].empty()) begin_log(index, s, view.id);
    if (loading[s]) here.forget();
    if (!here.log && !loading[s] && plan_.subgroups[s].state_bytes > 0) begin_without_state(index, s, view);
    note_boundary(index, s, view.id);
  }
}

// The log that begins with that view. A process that comes late into a view may begin what others have long begun anew.
std::uint32_t History::log_begun(std::uint32_t subgroup, ViewId id) {
  std::vector<std::uint32_t>& logs = logs_of_[subgroup];
  auto at = logs.end();
  while (at != logs.begin() && logs_[*(at - 1)].begun > id) --at;
  if (at != logs.begin() && logs_[*(at - 1)].begun == id) return *(at - 1);
  const auto index = static_cast<std::uint32_t>(logs_.size());
  logs.insert(at, index);
  Log& log = logs_.emplace_back();
  log.subgroup = subgroup;
  log.begun = id;
  log.digests = {mix(logs_.size())};
  const View* const begins = this->view(id);
  log.whole = begins != nullptr && is_new(subgroup, *begins);
  for (std::uint32_t i = 0; log.whole && i < streams_.size(); ++i) {
    if (streams_[i].subgroup == subgroup) log.next[i] = streams_[i].committed;  // to one that was there before
  }
  return index;
}

// Whether that view is the first one that has the subgroup.
bool History::is_new(std::uint32_t subgroup, const View& view) const {
  const View* const before = before_of(view);
  return is_first(view.id) || (before != nullptr && subgroup_at(*before, subgroup).dropped);
}

// V23: who is no sender any more of a subgroup that was changed writes no message there.
void History::check_senders(std::uint32_t index, std::uint32_t subgroup, const View& view) {
  if (!plan_.subgroups[subgroup].added || subgroup_at(view, subgroup).sender_rank(NodeId(processes_[index].node))) return;
  const auto written = [&](const Stream& stream) {
    return stream.process == index && stream.subgroup == subgroup && stream.issued != stream.committed;
  };
  if (std::ranges::any_of(streams_, written))
    violate("V23", index, "is no sender of subgroup " + std::to_string(subgroup) + " while it writes a message there");
}

// V23: those who may send change only when all is delivered that was sent; so nothing of theirs is given up.
void History::check_no_leftovers(std::uint32_t index, std::uint32_t subgroup) {
  const View* const now = processes_[index].view ? view(*processes_[index].view) : nullptr;
  if (now == nullptr || !plan_.subgroups[subgroup].added || subgroup_at(*now, subgroup).members.empty()) return;
  if (!subgroup_at(*now, subgroup).sender_rank(NodeId(processes_[index].node)))
    violate("V23", index, "lost messages to subgroup " + std::to_string(subgroup) + ", of which it is no sender any more");
}

// V23: the subgroup is dropped, and this process was in it: all that it sent there is delivered, or was reported. From here
// on it is as if the subgroup had never been.
void History::check_silent(std::uint32_t index, std::uint32_t subgroup) {
  Participant& here = participant(index, subgroup);
  std::uint64_t owed = 0;
  for (Stream& stream : streams_) {
    if (stream.process != index || stream.subgroup != subgroup) continue;
    if (stream.issued != stream.committed)
      violate("V23", index, "subgroup " + std::to_string(subgroup) + " is dropped while a message to it is written");
    owed += stream.committed - std::min(stream.committed, std::max(stream.delivered, stream.forgiven));
    stream.delivered = stream.forgiven = stream.issued;  // what was reported is settled
    stream.skipped = 0;
  }
  // A state may have brought what it sent itself while it loaded.
  const bool by_state = plan_.subgroups[subgroup].mode == DeliveryMode::unordered && here.reloaded;
  if (owed > here.dropped && !by_state) {
    violate("V23", index,
            "subgroup " + std::to_string(subgroup) + " is dropped, and " + std::to_string(owed) +
                " messages to it were not delivered");
  }
  const std::uint32_t resets = here.resets + 1;
  here = {};
  here.resets = resets;
}

void History::begin_log(std::uint32_t index, std::uint32_t subgroup, ViewId id) {
  Participant& here = participant(index, subgroup);
  here.log = log_begun(subgroup, id);
  here.position = 0;
  here.digest = logs_[*here.log].digests[0];
}

// J1: a newcomer that is told of no state to come begins with none: nobody in the view may have one.
void History::begin_without_state(std::uint32_t index, std::uint32_t subgroup, const View& view) {
  for (const std::uint64_t incarnation : view.incarnations) {
    const std::uint32_t other = *process_of(incarnation);
    const Participant& there = participant(other, subgroup);
    if (other == index || !there.log || processes_[other].ended || logs_[*there.log].begun == view.id) continue;
    return violate("J1", index, "begins subgroup " + std::to_string(subgroup) + " without a state, though others have one");
  }
  // A process that was there hears of it if anybody of the view before had one.
  const View* const before = right_before(view.id);
  if (before != nullptr && *processes_[index].first_view != view.id && !subgroup_at(*before, subgroup).members.empty()) {
    for (const std::uint64_t incarnation : before->incarnations) {
      if (!participant(*process_of(incarnation), subgroup).log) continue;
      return violate("J1", index, "is not told that the state of subgroup " + std::to_string(subgroup) + " is lost");
    }
  }
  begin_log(index, subgroup, view.id);
}

// M5, M7: a process that goes from one view to the next has delivered the same before; at least what anybody, also a dead
// one, had.
void History::note_boundary(std::uint32_t index, std::uint32_t subgroup, ViewId id) {
  Participant& here = participant(index, subgroup);
  Log* const log = log_of(here);
  if (log == nullptr) return;
  const auto known = log->boundaries.find(id);
  if (here.lags > 0) {
    if (known != log->boundaries.end() && here.position > known->second) {
      violate("M7", index, "delivered more before view " + std::to_string(id.value()) + " than others");
    }
    return;
  }
  if (known == log->boundaries.end()) {
    log->boundaries[id] = here.position;
    check_leavers(*log, id);
    const View* const before = is_first(id) ? nullptr : right_before(id);
    const auto reached = before == nullptr ? log->reached.end() : log->reached.find(before->id);
    if (reached != log->reached.end() && reached->second > here.position) {
      violate("M5", index,
              "went to view " + std::to_string(id.value()) + " with " + std::to_string(here.position) +
                  " messages, but somebody delivered " + std::to_string(reached->second) + " before (subgroup " +
                  std::to_string(subgroup) + ")");
    }
  } else if (known->second != here.position) {
    violate("M7", index,
            "went to view " + std::to_string(id.value()) + " with " + std::to_string(here.position) +
                " messages, others with " + std::to_string(known->second) + " (subgroup " + std::to_string(subgroup) + ")");
  }
}

void History::note_reach(std::uint32_t index, Participant& here) {
  Log& log = *log_of(here);
  const ViewId id = *processes_[index].view;
  std::uint64_t& reached = log.reached[id];
  reached = std::max(reached, here.position);
  const View* const behind = this->behind(id);
  const auto next = behind == nullptr ? log.boundaries.end() : log.boundaries.find(behind->id);
  if (next != log.boundaries.end() && here.position > next->second) {
    violate("M5", index, "delivered in view " + std::to_string(id.value()) + " what those who went on did not");
  }
}

// M4: round-robin in the order of the senders of the view in which it was sent.
void History::check_place(std::uint32_t index, std::uint32_t subgroup, const Delivery& delivery) {
  const View* const in = view(delivery.view);
  if (in == nullptr) return violate("M4", index, "a delivery in a view that nobody had");
  const std::vector<NodeId>& senders = subgroup_at(*in, subgroup).senders;
  const std::uint32_t rank = delivery.sender_rank.value();
  if (rank >= senders.size() || senders[rank] != delivery.sender)
    return violate("M4", index, "a delivery names a sender and a rank that do not belong together");
  const bool ordered = plan_.subgroups[subgroup].mode == DeliveryMode::ordered;
  if (ordered && delivery.sequence.value() != delivery.index.value() * senders.size() + rank)
    violate("M4", index, "a sequence number that the round-robin order does not give");
}

// M1: the bytes are those that a process's application wrote, once committed.
void History::on_delivery(std::uint32_t index, std::uint32_t subgroup, const Delivery& delivery) {
  ++deliveries_;
  Process& process = processes_[index];
  MessageHead head;
  if (delivery.payload.size() < sizeof head) return violate("M1", index, "a message that nobody sent");
  std::memcpy(&head, delivery.payload.data(), sizeof head);
  const std::uint32_t id = head.stream();
  const std::uint64_t counter = head.counter();
  if (head.check != check_of(head.incarnation, head.name, delivery.payload.size()) || id >= streams_.size() ||
      !payload_matches(delivery.payload.subspan(sizeof head), head.check)) {
    return violate("M1", index, "the delivered bytes are not those that were sent");
  }
  Stream& stream = streams_[id];
  if (processes_[stream.process].incarnation != head.incarnation || stream.subgroup != subgroup ||
      counter >= stream.committed || processes_[stream.process].node != delivery.sender.value()) {
    return violate("M1", index, "a message that was not sent so");
  }
  if (!process.view) return violate("V1", index, "a delivery before the first view");
  if (process.ended) return violate("V5", index, "a delivery after the end");

  if (*process.view < stream.committed_in[counter]) {
    return violate("M6", index, "a message was delivered in a view before the one in which it was sent");
  }

  Participant& here = participant(index, subgroup);
  ++here.delivered;
  hash_ = mix(hash_ ^ std::uint64_t{index} << 56 ^ head.check);
  if (plan_.subgroups[subgroup].mode == DeliveryMode::unordered) {
    if (delivery.sequence.value() != 0)
      return violate("M11", index, "an unordered delivery with a place in the total order");
    deliver_unordered(index, here, id, counter);
    return check_sending_view(index, here, stream, counter);
  }
  if (plan_.subgroups[subgroup].logged) return;
  if (!here.log && !locate(index, subgroup, here, check_of(head.incarnation, head.name, 0))) return;

  // M4: the order within a view is that of the sequence numbers; a lower one belongs to a later view.
  const std::uint64_t sequence = delivery.sequence.value();
  if (here.sequence && sequence <= *here.sequence) {
    if (here.resets == 0) return violate("M4", index, "a sequence number fell within a view");
    here.resets = here.lags > 0 ? here.resets - 1 : 0;
  }
  here.sequence = sequence;
  deliver_ordered(index, here, id, counter);
  check_sending_view(index, here, stream, counter);
}

// M6: a message is delivered in one view: that in which it was sent, or, sent again, a later one with its sender in it. A
// handler that kept what it was given may hand it over late.
void History::check_sending_view(std::uint32_t index, const Participant& here, Stream& stream, std::uint64_t counter) {
  const ViewId in = *processes_[index].view;
  if (here.lags > 0) return;
  const auto rank = views_.at(in).rank_of(NodeId(processes_[stream.process].node));
  if (!rank || views_.at(in).incarnations[rank->value()] != processes_[stream.process].incarnation) {
    return violate("M6", index, "a message was delivered in a view that its sender is not in");
  }
  std::optional<ViewId>& first = stream.delivered_in[counter];
  if (!first) first = in;
  if (*first == in) return;
  violate("M6", index,
          "a message was delivered in view " + std::to_string(in.value()) + ", and in " + std::to_string(first->value()) +
              " by another");
}

// A subgroup whose application has no state: a newcomer begins where its view begins, or earlier if its source lagged.
bool History::locate(std::uint32_t index, std::uint32_t subgroup, Participant& here, std::uint64_t key) {
  const std::vector<std::uint32_t>& logs = logs_of_[subgroup];
  // It may be slow, and still in a view behind which others have begun anew.
  const auto begun = std::ranges::find_if(logs.rbegin(), logs.rend(),
                                          [&](std::uint32_t each) { return logs_[each].begun <= *processes_[index].view; });
  if (begun == logs.rend()) {
    violate("J1", index, "a delivery in a subgroup that never began");
    return false;
  }
  Log& log = logs_[*begun];
  if (log.begun == *processes_[index].view) {
    here.position = 0;
  } else if (plan_.subgroups[subgroup].state_bytes > 0) {
    violate("J1", index, "a delivery in subgroup " + std::to_string(subgroup) + " before its state");
    return false;
  } else {
    const auto found = log.place.find(key);
    here.position = found == log.place.end() ? log.keys.size() : found->second;
    const auto began = log.boundaries.find(*processes_[index].view);
    if (began != log.boundaries.end() && here.position > began->second && *processes_[index].first_view == began->first) {
      violate("J2", index, "a newcomer's first delivery is not the first of its view");
    }
  }
  here.log = *begun;
  here.digest = log.digests[here.position];
  return true;
}

// M2–M5, J1, J2: the next of the log, or its first to come.
void History::deliver_ordered(std::uint32_t index, Participant& here, std::uint32_t id, std::uint64_t counter) {
  Log& log = *log_of(here);
  const std::uint64_t key = check_of(processes_[streams_[id].process].incarnation, std::uint64_t{id} << 32 | counter, 0);
  const auto known = log.place.find(key);
  if (here.position < log.keys.size()) {
    if (log.keys[here.position] != key) {
      const bool again = known != log.place.end() && known->second < here.position;
      return violate(again ? "M2" : "M4", index,
                     again ? "a message was delivered twice"
                           : "its delivery " + std::to_string(here.position) + " of subgroup " +
                                 std::to_string(log.subgroup) + " is not that of others");
    }
  } else {
    if (known != log.place.end()) return violate("M2", index, "a message was delivered twice");
    Stream& stream = streams_[id];
    // The messages between were given up, and their sender knows how many. Or they went with a state that was lost.
    std::uint64_t& next = log.next[id];
    if (log.whole && counter > next) stream.skipped += counter - next;
    if (counter < next || (log.whole && stream.skipped > participant(stream.process, log.subgroup).dropped)) {
      return violate("M3", index,
                     "message " + std::to_string(counter) + " of a thread of node " +
                         std::to_string(processes_[stream.process].node) + " was delivered behind " + std::to_string(next) +
                         " others of it");
    }
    next = counter + 1;
    stream.delivered = std::max(stream.delivered, next);
    if (stream.committed_in[counter] < *processes_[index].view) report_.hit(Probe::sent_again);
    log.place[key] = log.keys.size();
    log.keys.push_back(key);
    log.digests.push_back(mix(log.digests.back() ^ key));
  }
  here.digest = mix(here.digest ^ key);
  ++here.position;
  note_reach(index, here);
}

// First in, first out per thread; what is missing was dropped at the end of a view.
void History::deliver_unordered(std::uint32_t index, Participant& here, std::uint32_t id, std::uint64_t counter) {
  std::uint64_t& next = here.next[id];
  if (counter < next) violate("M2", index, "a message was delivered twice or late");
  next = counter + 1;
  ++here.got[streams_[id].process];
  Stream& stream = streams_[id];
  if (stream.process == index) ++stream.delivered;
}

}  // namespace spindrift::sim
