// Taking messages for pieces, and comparing what processes hear of objects (M12).
#include "objects.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace spindrift::sim {
namespace {

constexpr std::uint64_t pieces_of_an_object = 5;
constexpr std::uint64_t piece_bytes = 8;
constexpr std::uint64_t objects_of_a_thread = 1 << 20;

const char* name_of(ObjectEnd::Why why) {
  switch (why) {
    case ObjectEnd::Why::complete: return "complete";
    case ObjectEnd::Why::withdrawn: return "withdrawn";
    case ObjectEnd::Why::sender_gone: return "without its sender";
    case ObjectEnd::Why::pieces_lost: return "with pieces lost";
    case ObjectEnd::Why::met_midway: return "met midway";
    case ObjectEnd::Why::moved_out: return "moved out";
  }
  return "?";
}

}  // namespace

Objects::Participant& Objects::participant(std::uint32_t process, std::uint32_t subgroup) {
  return participants_[{process, subgroup}];
}

// A node's next start numbers its objects as the one before did: a process that takes one for the other is found.
std::uint64_t Objects::number_of(std::uint32_t stream, std::uint64_t counter) const {
  const auto& streams = history_.streams();
  const auto of_same = [&](const Stream& other) { return other.process == streams[stream].process; };
  const auto thread = static_cast<std::uint64_t>(std::count_if(streams.begin(), streams.begin() + stream, of_same));
  return thread * objects_of_a_thread + counter / pieces_of_an_object;
}

void Objects::on_delivery(std::uint32_t process, std::uint32_t subgroup, const Delivery& delivery) {
  if (plan_.subgroups[subgroup].mode == DeliveryMode::unordered) return;
  MessageHead message;
  std::memcpy(&message, delivery.payload.data(), sizeof message);
  const std::uint64_t offset = message.counter() % pieces_of_an_object * piece_bytes;
  const ObjectTracker::Head head{static_cast<std::uint64_t>(ObjectTracker::Kind::piece),
                                 number_of(message.stream(), message.counter()), offset, pieces_of_an_object * piece_bytes};
  std::array<std::byte, sizeof head + piece_bytes> bytes{};
  std::memcpy(bytes.data(), &head, sizeof head);
  Delivery piece = delivery;
  piece.payload = bytes;

  Participant& here = participant(process, subgroup);
  const auto taken = here.tracker.take(piece);
  const auto* const step = std::get_if<ObjectTracker::Step>(&taken);
  if (step == nullptr) return report_.violate("M12", "a piece of an object is refused: " + std::get<2>(taken).what);
  if (step->piece && offset == 0) {
    here.begun[{delivery.sender, head.object}] = history_.streams()[message.stream()].process;
  }
  if (step->end) note_end(process, subgroup, *step->end);
}

void Objects::on_boundary(std::uint32_t process, std::uint32_t subgroup, const ObjectBoundary& boundary) {
  for (const ObjectEnd& end : participant(process, subgroup).tracker.on_view(boundary)) note_end(process, subgroup, end);
}

// A process that was moved out knows no more than that, and one that met an object midway nothing of its end.
void Objects::note_end(std::uint32_t process, std::uint32_t subgroup, const ObjectEnd& end) {
  Participant& here = participant(process, subgroup);
  const auto begun = here.begun.find({end.sender, end.object});
  if (end.why == ObjectEnd::Why::met_midway) {
    if (begun != here.begun.end()) violate(process, end, "but had its first piece");
    return;
  }
  if (begun == here.begun.end()) return violate(process, end, "but did not have its first piece");
  const Name name{subgroup, begun->second, end.object};
  here.begun.erase(begun);
  report_.hit(end.why == ObjectEnd::Why::complete ? Probe::object_complete : Probe::object_given_up);
  if (end.why == ObjectEnd::Why::moved_out) return;
  const Told& first = told_.try_emplace(name, Told{end.why, end.bytes, process}).first->second;
  if (first.why == end.why && first.bytes == end.bytes) return;
  violate(process, end,
          "process " + std::to_string(first.process) + " that it is " + name_of(first.why) + " after " +
              std::to_string(first.bytes));
}

void Objects::violate(std::uint32_t process, const ObjectEnd& end, const std::string& what) {
  const std::string object = std::to_string(end.object) + " of node " + std::to_string(end.sender.value());
  report_.violate("M12", "process " + std::to_string(process) + " hears that object " + object + " is " + name_of(end.why) +
                             " after " + std::to_string(end.bytes) + " bytes, " + what);
}

std::optional<std::string> Objects::left_open(const std::vector<std::uint32_t>& core) const {
  const auto in_core = [&](std::uint32_t process) { return std::find(core.begin(), core.end(), process) != core.end(); };
  for (const auto& [where, here] : participants_) {
    if (!in_core(where.first)) continue;
    const std::string who = "process " + std::to_string(where.first);
    for (const auto& [object, sender] : here.begun) {
      if (in_core(sender)) continue;
      return who + " waits for object " + std::to_string(object.second) + " of node " +
             std::to_string(object.first.value()) + ", whose process is gone";
    }
    if (here.tracker.under_way() > history_.streams().size()) {
      return who + " remembers more objects than there are threads";
    }
  }
  return std::nullopt;
}

}  // namespace spindrift::sim
