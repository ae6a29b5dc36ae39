// Nodes with records of views, whose processes hear each other at once and found a group together.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <catch2/catch.hpp>

#include <spindrift/core/result.hpp>
#include <spindrift/views/founding.hpp>

#include "one_subgroup.hpp"
#include "paper_memory.hpp"

namespace spindrift::views {

inline const GroupIdentity group{"g", {1, 2}};

inline std::vector<NodeId> ids(std::vector<std::uint32_t> numbers) {
  std::vector<NodeId> all;
  for (const std::uint32_t number : numbers) all.emplace_back(number);
  return all;
}

/// A view of the processes before: node n was 100 + n.
inline RecordedView recorded(std::uint64_t id, std::vector<std::uint32_t> nodes, bool founded = false) {
  RecordedView view{ViewId(id), {}, {}, founded};
  for (const std::uint32_t node : nodes) view.members.push_back({NodeId(node), 100 + node});
  return view;
}

/// A node, its memory, and the process of it that looks for a group.
struct Process {
  Process(std::uint32_t id, PaperMemory& memory_of_node, std::uint64_t incarnation, std::vector<std::uint32_t> named,
          LayoutFunction layout)
      : who{NodeId(id), incarnation}, memory(memory_of_node), record(&memory, true) {
    REQUIRE(record.begin(incarnation));
    founding = std::make_unique<Founding>(who, ids(std::move(named)), std::move(layout), Roster{}, &record);
  }
  [[nodiscard]] Founding::Met met() const { return {who, !view}; }

  Join who;
  PaperMemory& memory;
  OwnRecord record;
  std::unique_ptr<Founding> founding;
  std::optional<View> view;
};

/// Nodes 0 to 5, the processes of which hear each other at once. Nodes 0, 1 and 2 are the named founders.
struct Nodes {
  void remember(std::uint32_t node, std::optional<RecordedView> last, std::vector<RecordedView> accepted = {}) {
    memories[node].stored = ViewRecord{100, std::move(last), std::move(accepted)};
  }
  Process& start(std::uint32_t node) {
    processes[node] = std::make_unique<Process>(node, memories[node], 500 + 10 * ++starts + node, named, layout);
    for (auto& [id, process] : processes) process->founding->on_lost();
    return *processes[node];
  }
  void stop(std::uint32_t node) {
    processes.erase(node);
    for (auto& [id, process] : processes) process->founding->on_lost();
  }
  [[nodiscard]] std::vector<Founding::Met> met_by(std::uint32_t node) const {
    std::vector<Founding::Met> met;
    for (const auto& [id, process] : processes) {
      if (id != node) met.push_back(process->met());
    }
    return met;
  }
  /// One step of that process: its messages, which are not delivered.
  std::vector<Addressed> step(std::uint32_t node) {
    Process& process = *processes.at(node);
    if (process.view) return {};
    Founding::Step step = process.founding->step(met_by(node), {}, apart);
    if (step.view) process.view = step.view->view;
    return std::move(step.messages);
  }
  void deliver(std::uint32_t from, const Addressed& addressed) {
    const auto at = processes.find(addressed.to.value());
    if (at == processes.end() || at->second->view) return;
    Founding& to = *at->second->founding;
    const Join sender = processes.at(from)->who;
    const auto message = decode(addressed.message, group, {});
    REQUIRE(message);
    if (const auto* const asked = std::get_if<PromiseRequest>(&*message)) {
      requests.push_back(*asked);
      REQUIRE(to.on_request(sender, *asked));
    } else if (const auto* const promise = std::get_if<Promise>(&*message)) {
      ++promises;
      to.on_promise(sender.node, *promise);
    } else {
      REQUIRE(std::holds_alternative<Remembered>(*message));
      to.on_remembered(sender, std::get<Remembered>(*message));
    }
  }
  /// Steps of all until nobody has anything to say.
  void run() {
    for (bool progress = true; progress;) {
      progress = false;
      std::vector<std::uint32_t> all;
      for (const auto& [id, process] : processes) all.push_back(id);
      for (const std::uint32_t id : all) {
        for (const Addressed& each : step(id)) {
          deliver(id, each);
          progress = true;
        }
      }
    }
  }
  [[nodiscard]] const std::optional<View>& founded_by(std::uint32_t node) const { return processes.at(node)->view; }
  [[nodiscard]] const std::vector<RecordedView>& accepted(std::uint32_t node) const {
    return memories[node].stored->accepted;
  }

  std::vector<std::uint32_t> named{0, 1, 2};
  LayoutFunction layout = one_subgroup;  // of the files of those that are started
  PaperMemory memories[6];
  std::map<std::uint32_t, std::unique_ptr<Process>> processes;
  std::vector<Apart> apart;
  std::vector<PromiseRequest> requests;  // those that were delivered
  int promises = 0;
  std::uint64_t starts = 0;
};

inline Result<void> force(Nodes& nodes, std::uint32_t node, std::vector<std::uint32_t> named, bool really = true,
                          std::uint32_t newest = revivals_since) {
  std::vector<Founding::Met> met = nodes.met_by(node);
  for (Founding::Met& each : met) each.versions.newest = newest;
  return nodes.processes.at(node)->founding->force(ids(std::move(named)), really, met, nodes.apart);
}

/// The error and what to do; empty: there is none.
inline std::string refusal(Nodes& nodes, std::uint32_t node, std::vector<std::uint32_t> named) {
  const auto outcome = force(nodes, node, std::move(named));
  return outcome ? "" : outcome.error().to_string() + "; " + outcome.error().fix();
}

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

template <class T>
std::vector<T> of_kind(const std::vector<Addressed>& messages) {
  std::vector<T> all;
  for (const Addressed& each : messages) {
    const auto message = decode(each.message, group, {});
    REQUIRE(message);
    if (const auto* const one = std::get_if<T>(&*message)) all.push_back(*one);
  }
  return all;
}

}  // namespace spindrift::views
