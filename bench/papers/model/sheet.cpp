// Points and claims as lines of a report, and the list of all figures.
#include <spindrift/bench/papers/model/sheet.hpp>

#include <algorithm>
#include <array>

namespace spindrift::bench::model {

namespace {

constexpr std::uint64_t quick_rounds = 60;
constexpr auto in_the_paper = "in the paper";  ///< the series of the paper's own numbers

}  // namespace

std::vector<std::uint32_t> Sheet::sizes(std::uint32_t most) const {
  if (quick_) return {2, std::min(4u, most)};
  std::vector<std::uint32_t> sizes;
  for (const std::uint32_t size : {2u, 3u, 4u, 6u, 8u, 10u, 11u, 12u, 14u, 16u}) {
    if (size <= most) sizes.push_back(size);
  }
  return sizes;
}

Outcome Sheet::run(Experiment experiment) const {
  if (quick_) {
    experiment.rounds = std::min(experiment.rounds, quick_rounds);
    experiment.window = std::min(experiment.window, quick_rounds / 4);
    return model::run(experiment);
  }
  // Slow to simulate, and alike with every seed: a member that delivers one message a step has no batches, and many members
  // even out.
  if (experiment.system.policy.turn.messages == 1 || experiment.members > 64) return model::run(experiment);
  std::array<Outcome, 3> outcomes;
  for (Outcome& outcome : outcomes) {
    outcome = model::run(experiment);
    ++experiment.seed;
  }
  const auto slower = [](const Outcome& a, const Outcome& b) { return a.messages_per_second < b.messages_per_second; };
  std::nth_element(outcomes.begin(), outcomes.begin() + 1, outcomes.end(), slower);
  return outcomes[1];
}

void Sheet::point(const Panel& panel, const std::string& series, double x, double value) {
  const std::string bench = "model, " + title_ + (panel.title.empty() ? "" : ": " + panel.title);
  auto found = std::find_if(panels_.begin(), panels_.end(), [&](const auto& each) { return each.front().bench == bench; });
  if (found == panels_.end()) found = panels_.emplace(panels_.end());
  found->push_back({bench, {{"series", series}, {panel.x_name, x}}, panel.unit, {value}, {}});
}

void Sheet::claim(const std::string& what, const std::string& unit, double paper, double here, std::optional<Place> place) {
  claims_.push_back({"model, " + title_ + ": " + in_the_paper, {{"claim", what}}, unit, {here}, {paper}});
  if (place) point(place->panel, in_the_paper, place->x, paper);
}

void Sheet::finish() {
  for (const std::vector<Figure>& panel : panels_) {
    for (const Figure& figure : panel) report_.add(figure);
  }
  for (const Figure& claim : claims_) report_.add(claim);
}

Experiment continuous(const System& system, std::uint32_t members, std::uint32_t senders) {
  Experiment experiment;
  experiment.system = system;
  experiment.members = members;
  experiment.senders = senders;
  // One message per step makes long runs slow, and shorter ones as exact. Threads that share a lock and are slow for a while
  // hold the others up, so runs must last for many such phases.
  experiment.rounds = 2000;
  if (system.lock != Lock::none) experiment.rounds = 40'000 / senders;
  if (system.policy.turn.messages == 1) experiment.rounds = 300;
  return experiment;
}

std::span<const FigureEntry> figures() {
  static const std::vector<FigureEntry> all = [] {
    std::vector<FigureEntry> entries;
    for (const auto part : {batching_figures(), subgroup_figures(), delay_figures(), final_figures(), beyond_figures()})
      entries.insert(entries.end(), part.begin(), part.end());
    return entries;
  }();
  return all;
}

}  // namespace spindrift::bench::model
