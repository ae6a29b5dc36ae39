// Figures 8, 9 and 13: many subgroups with the same members (sections 4.1.3 and 4.3).
#include <array>
#include <map>
#include <string>

#include <spindrift/bench/papers/model/sheet.hpp>

namespace spindrift::bench::model {

namespace {

constexpr std::array<std::uint32_t, 5> subgroup_counts{1, 2, 5, 10, 50};

std::string among(std::uint32_t subgroups) {
  return std::to_string(subgroups) + (subgroups == 1 ? " subgroup" : " subgroups");
}

/// By number of subgroups, then by number of members.
using Outcomes = std::map<std::uint32_t, std::map<std::uint32_t, Outcome>>;

/// All send in one subgroup and in no other.
Outcomes one_active(Sheet& sheet, const Panel& panel, const System& system) {
  Outcomes outcomes;
  for (const std::uint32_t subgroups : subgroup_counts) {
    for (const std::uint32_t members : sheet.sizes()) {
      if (members == 3 || members == 6 || members == 11 || members == 14) continue;
      Experiment experiment = continuous(system, members, members);
      experiment.subgroups = subgroups;
      experiment.rounds = system.policy.turn.messages == 1 ? 130 : 1000;
      const Outcome& outcome = outcomes[subgroups][members] = sheet.run(experiment);
      sheet.point(panel, among(subgroups), members, outcome.gigabytes_per_second);
    }
  }
  return outcomes;
}

/// Throughput with `more` subgroups over that with `fewer`, mean over the sizes of the group.
double ratio(const Outcomes& outcomes, std::uint32_t more, std::uint32_t fewer) {
  double sum = 0;
  for (const auto& [members, outcome] : outcomes.at(more))
    sum += outcome.gigabytes_per_second / outcomes.at(fewer).at(members).gigabytes_per_second;
  return sum / static_cast<double>(outcomes.at(more).size());
}

void figure_8(Sheet& sheet) {
  const Panel panel{"one active among several, before Spindle", "members", "GB/s"};
  const Outcomes outcomes = one_active(sheet, panel, baseline());
  const std::uint32_t largest = sheet.largest();
  sheet.claim("throughput with 2 subgroups over that with 1, mean", "times", 0.82, ratio(outcomes, 2, 1));
  sheet.claim("throughput with 50 subgroups over that with 1, mean", "times", 0.10, ratio(outcomes, 50, 1));
  sheet.claim("time spent on the active one of 2", "%", 54, 100 * outcomes.at(2).at(largest).active);
  sheet.claim("time spent on the active one of 50 (the paper: less than)", "%", 15,
              100 * outcomes.at(50).at(largest).active);
}

void figure_9(Sheet& sheet) {
  const Panel theirs{"one active among several, Spindle's batching", "members", "GB/s"};
  const Panel ours{"one active among several, Spindrift", "members", "GB/s"};
  const Outcomes outcomes = one_active(sheet, theirs, spindle(spindle_batching));
  one_active(sheet, ours, product());
  sheet.claim("throughput with 5 subgroups over that with 1 (the paper: above 1)", "times", 1, ratio(outcomes, 5, 1));
  sheet.claim("throughput with 10 subgroups over that with 2 (the paper: above 1)", "times", 1, ratio(outcomes, 10, 2));
  struct Row {
    std::uint32_t subgroups;
    double active, sent, received, delivered;
  };
  for (const Row& row : {Row{2, 99, 6.20, 49.36, 127.74}, {10, 90, 21.67, 79.15, 334.48}, {50, 48, 50.45, 207.46, 638.57}}) {
    const Outcome& outcome = outcomes.at(row.subgroups).at(sheet.largest());
    const std::string of = ", " + among(row.subgroups);
    sheet.claim("time spent on the active one" + of, "%", row.active, 100 * outcome.active);
    sheet.claim("mean batch sent" + of, "messages", row.sent, outcome.sent.mean());
    sheet.claim("mean batch received" + of, "messages", row.received, outcome.received.mean());
    sheet.claim("mean batch delivered" + of, "messages", row.delivered, outcome.delivered.mean());
  }
}

void figure_13(Sheet& sheet) {
  for (const System& system : {baseline(), spindle(spindle_all), product()}) {
    const Panel panel{"all subgroups active, " + system.name, "members", "GB/s"};
    for (const std::uint32_t subgroups : {1u, 2u, 5u, 10u, 20u}) {
      for (const std::uint32_t members : sheet.sizes()) {
        if (members == 3 || members == 11 || members == 6 || members == 10 || members == 14) continue;
        Experiment experiment = continuous(system, members, members);
        experiment.subgroups = experiment.active_subgroups = subgroups;
        experiment.rounds = 1000;  // ten windows, or what is on the way at the end counts too much
        if (system.policy.turn.messages == 1) experiment.rounds = std::max<std::uint64_t>(60, 200 / subgroups);
        sheet.point(panel, among(subgroups), members, sheet.run(experiment).gigabytes_per_second);
      }
    }
  }
}

constexpr FigureEntry entries[] = {{"8", "figure 8: idle subgroups before", figure_8},
                                   {"9", "figure 9: idle subgroups", figure_9},
                                   {"13", "figure 13: active subgroups", figure_13}};

}  // namespace

std::span<const FigureEntry> subgroup_figures() { return entries; }

}  // namespace spindrift::bench::model
