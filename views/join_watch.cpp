// Candidates by how long they wait.
#include <spindrift/views/join_watch.hpp>

#include <algorithm>

namespace spindrift::views {
namespace {

/// Connections of nodes that reach each other are up by then.
constexpr Duration worth_telling = std::chrono::seconds(1);

}  // namespace

std::vector<JoinWatch::Waiting> JoinWatch::look(std::span<const Waiting> waiting, Time now) {
  std::vector<Waiting> due;
  std::erase_if(known_, [&](const Known& known) {
    return std::none_of(waiting.begin(), waiting.end(), [&](const Waiting& each) { return each.who == known.who; });
  });
  for (const Waiting& each : waiting) {
    auto known = std::find_if(known_.begin(), known_.end(), [&](const Known& one) { return one.who == each.who; });
    if (known == known_.end()) known = known_.insert(known_.end(), Known{each.who, now});
    if (known->told || now - known->since < worth_telling) continue;
    known->told = true;
    due.push_back(each);
  }
  return due;
}

}  // namespace spindrift::views
