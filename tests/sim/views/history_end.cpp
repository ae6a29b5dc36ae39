// States that go from member to member, and what everybody owes everybody in the end.
#include <algorithm>
#include <cstring>

#include "../payload.hpp"
#include "history.hpp"

namespace spindrift::sim {
namespace {

/// The head of every state.
struct StateHead {
  std::uint64_t log = 0;
  std::uint64_t position = 0;
  std::uint64_t digest = 0;
  std::uint64_t view = 0;  ///< whose newcomers it is for
};

/// Bytes of one state cannot pass for those of another.
std::uint64_t filling_of(const StateHead& head, std::size_t bytes) { return mix(head.digest ^ head.view << 32 ^ bytes); }

}  // namespace

void History::on_dropped(std::uint32_t index, std::uint32_t subgroup, std::uint64_t messages) {
  if (messages == 0) violate("M8", index, "told that nothing was dropped");
  participant(index, subgroup).dropped += messages;
  check_no_leftovers(index, subgroup);
  if (plan_.subgroups[subgroup].mode == DeliveryMode::unordered) report_.hit(Probe::unordered_dropped);
}

std::vector<std::byte> History::save_state(std::uint32_t index, std::uint32_t subgroup) {
  const Participant& here = participant(index, subgroup);
  const bool ordered = plan_.subgroups[subgroup].mode == DeliveryMode::ordered;
  if (ordered && !here.log) violate("J1", index, "is asked for a state that it has not");
  // Saved while the next view is made, before its application hears of it.
  const std::uint64_t next = processes_[index].view ? processes_[index].view->value() + 1 : 0;
  const StateHead head{here.log.value_or(0), here.position, here.digest, next};
  std::vector<std::byte> bytes(std::max<std::size_t>(sizeof head, plan_.subgroups[subgroup].state_bytes));
  std::memcpy(bytes.data(), &head, sizeof head);
  fill_payload(std::span(bytes).subspan(sizeof head), filling_of(head, bytes.size()), 0, bytes.size() - sizeof head);
  return bytes;
}

// J1: the state that arrives is what the log gives at its position, byte for byte.
void History::load_state(std::uint32_t index, std::uint32_t subgroup, std::span<const std::byte> state) {
  StateHead head;
  const std::size_t bytes = std::max<std::size_t>(sizeof head, plan_.subgroups[subgroup].state_bytes);
  if (state.size() != bytes) return violate("J1", index, "a state of another size arrived");
  std::memcpy(&head, state.data(), sizeof head);
  if (!payload_matches(state.subspan(sizeof head), filling_of(head, bytes))) {
    return violate("J1", index, "a state's bytes are not those that were saved");
  }
  // J3: with the view ended the transfer. Its source did not know yet of which revival the next one would come.
  if (static_cast<std::uint32_t>(head.view) != static_cast<std::uint32_t>(processes_[index].view->value()))
    return violate("J3", index, "a state that was saved for another view arrived");
  report_.hit(Probe::state_loaded);
  if (plan_.subgroups[subgroup].mode == DeliveryMode::unordered) return;
  if (head.log >= logs_.size() || logs_[head.log].subgroup != subgroup || head.position > logs_[head.log].keys.size() ||
      logs_[head.log].digests[head.position] != head.digest) {
    return violate("J1", index, "a state that no member ever had arrived");
  }
  Participant& here = participant(index, subgroup);
  here.log = static_cast<std::uint32_t>(head.log);
  here.position = head.position;
  here.digest = head.digest;
  const auto began = logs_[head.log].boundaries.find(*processes_[index].view);
  if (began != logs_[head.log].boundaries.end() && head.position > began->second) {
    violate("J1", index, "a state from behind the boundary at which its view began");
  }
}

// J3: a transfer that comes to nothing takes the state from nobody: a process that had it when the last view began has it
// still.
void History::check_untouched(std::uint32_t index, std::uint32_t subgroup, const View& view, bool loading) {
  Participant& here = participant(index, subgroup);
  if (here.settled && loading) violate("J3", index, "is to load a state that it has");
  here.settled = here.member ? !loading : here.settled && subgroup_at(view, subgroup).members.empty();
}

// J6: members that leave in order do not take a state along while one that stays was to get it. A process that was there
// before hears of every failure.
void History::check_loss(std::uint32_t index, std::uint32_t subgroup, const views::NewView& news) {
  if (*processes_[index].first_view == news.view.id || !news.failed.empty()) return;
  const View* const before = right_before(news.view.id);
  if (before == nullptr) return;
  for (const NodeId node : subgroup_at(*before, subgroup).members) {
    const auto stays = news.view.rank_of(node);
    const std::uint64_t incarnation = before->incarnations[before->rank_of(node)->value()];
    if (!stays || news.view.incarnations[stays->value()] != incarnation) continue;
    return violate("J6", index,
                   "the state of subgroup " + std::to_string(subgroup) + " is lost although nobody failed, and node " +
                       std::to_string(node.value()) + " was to get it");
  }
}

void History::check_transfer(std::uint32_t index, ViewId began) {
  if (processes_[index].ended) return violate("J3", index, "a state still comes after the end");
  if (processes_[index].view != began)
    violate("J3", index, "a transfer goes on that ended with view " + std::to_string(began.value()));
}

// M8, L2: what a live process of the core committed is with everybody, or was reported as dropped.
std::optional<std::string> History::incomplete(const std::vector<std::uint32_t>& core) {
  const auto in_core = [&](std::uint32_t process) { return std::find(core.begin(), core.end(), process) != core.end(); };
  for (const Stream& stream : streams_) {
    if (!in_core(stream.process)) continue;
    Participant& sender = participant(stream.process, stream.subgroup);
    if (sender.member && stream.committed != stream.issued) return "a message is being written";
    if (!sender.member || plan_.subgroups[stream.subgroup].logged) continue;  // an inadequate subgroup: its messages wait
    if (plan_.subgroups[stream.subgroup].mode == DeliveryMode::unordered && sender.reloaded) continue;
    if (std::max(stream.delivered + sender.dropped, stream.forgiven) < stream.committed) {
      return "node " + std::to_string(processes_[stream.process].node) + " sent " + std::to_string(stream.committed) +
             " messages of a thread to subgroup " + std::to_string(stream.subgroup) + ", " +
             std::to_string(stream.delivered) + " are delivered";
    }
  }
  for (const std::uint32_t process : core) {
    for (std::uint32_t s = 0; s < plan_.subgroups.size(); ++s) {
      Participant& here = participant(process, s);
      if (!here.member || plan_.subgroups[s].mode == DeliveryMode::unordered || plan_.subgroups[s].logged) continue;
      const std::vector<std::uint32_t>& logs = logs_of_[s];
      if (!here.log && (logs_[logs.back()].keys.empty() || plan_.subgroups[s].state_bytes == 0)) continue;
      if (!here.log)
        return "node " + std::to_string(processes_[process].node) + " has no state of subgroup " + std::to_string(s);
      const Log& log = logs_[*here.log];
      if (*here.log != logs.back() || here.position != log.keys.size()) {
        return "node " + std::to_string(processes_[process].node) + " delivered " + std::to_string(here.position) + " of " +
               std::to_string(log.keys.size()) + " messages of subgroup " + std::to_string(s);
      }
      if (here.digest != log.digests.back()) return "the states differ";
    }
  }
  return incomplete_unordered(core);
}

void History::check_left(std::uint32_t process) {
  note_last_view(process);
  for (std::uint32_t s = 0; s < plan_.subgroups.size(); ++s) {
    if (plan_.subgroups[s].mode == DeliveryMode::unordered || plan_.subgroups[s].logged) continue;
    // A member without the state has handed nothing over itself, and the others may keep what it sent until they are ready.
    if (!participant(process, s).log) continue;
    std::uint64_t owed = 0;
    for (const Stream& stream : streams_) {
      if (stream.process == process && stream.subgroup == s)
        owed += stream.committed - std::min(stream.committed, std::max(stream.delivered, stream.forgiven));
    }
    if (owed > participant(process, s).dropped)
      violate("M8", process, "left before " + std::to_string(owed) + " of its messages were delivered");
  }
}

// M7: a leaver has delivered what those deliver that go on to the next view.
void History::note_last_view(std::uint32_t process) {
  for (std::uint32_t s = 0; s < plan_.subgroups.size(); ++s) {
    const Participant& here = participant(process, s);
    if (plan_.subgroups[s].mode == DeliveryMode::unordered || !here.member || !here.log) continue;
    const ViewId next(processes_[process].view->value() + 1);
    Log& log = logs_[*here.log];
    log.left[next].emplace_back(process, here.position);
    check_leavers(log, next);
  }
}

void History::check_leavers(Log& log, ViewId next) {
  const auto boundary = log.boundaries.find(next);
  if (boundary == log.boundaries.end()) return;
  for (const auto& [process, position] : log.left[next]) {
    if (position != boundary->second)
      violate(
          "M7", process,
          "left with " + std::to_string(position) + " messages, others went on with " + std::to_string(boundary->second));
  }
  log.left.erase(next);
}

// A process that was there all the time misses at most what the sender was told.
std::optional<std::string> History::incomplete_unordered(const std::vector<std::uint32_t>& core) {
  for (std::uint32_t s = 0; s < plan_.subgroups.size(); ++s) {
    if (plan_.subgroups[s].mode == DeliveryMode::ordered) continue;
    for (const std::uint32_t sender : core) {
      if (!participant(sender, s).member) continue;
      std::uint64_t sent = 0;
      for (const Stream& stream : streams_) {
        if (stream.process == sender && stream.subgroup == s)
          sent += stream.committed - std::min(stream.committed, stream.forgiven);
      }
      for (const std::uint32_t receiver : core) {
        const Participant& there = participant(receiver, s);
        if (*processes_[receiver].first_view > *processes_[sender].first_view || !there.member || there.reloaded) continue;
        const std::uint64_t got = participant(receiver, s).got[sender];
        if (got + participant(sender, s).dropped >= sent) continue;
        return "node " + std::to_string(processes_[receiver].node) + " misses " + std::to_string(sent - got) +
               " unordered messages of node " + std::to_string(processes_[sender].node) + ", which was told of " +
               std::to_string(participant(sender, s).dropped);
      }
    }
  }
  return std::nullopt;
}

void History::check_complete(const std::vector<std::uint32_t>& core) {
  if (const auto what = incomplete(core)) report_.violate("M8", *what);
}

}  // namespace spindrift::sim
