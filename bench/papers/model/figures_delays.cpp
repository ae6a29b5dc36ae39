// Figures 10 to 12 and 15, and section 3.5: senders that fall behind, the lock, slow upcalls, copies.
#include <map>
#include <string>

#include <spindrift/bench/papers/model/sheet.hpp>

namespace spindrift::bench::model {

namespace {

void claim_delays(Sheet& sheet, double peak, double undelayed, const std::map<std::uint32_t, Outcome>& by_100) {
  sheet.claim("peak of all cases", "GB/s", 10.0, peak);
  sheet.claim("peak of all cases over that with none delayed (the paper: above 1)", "times", 1, peak / undelayed);
  const Outcome& largest = by_100.at(sheet.largest());
  sheet.claim("nulls: steps of the delayed sender over those of another, one by 100 us, largest group", "times", 517.0 / 189,
              largest.null_runs_delayed / largest.null_runs_continuous);
  for (const auto& [members, us] : {std::pair{2u, 3.779}, {8u, 1.617}, {16u, 1.192}}) {
    const auto found = by_100.find(members);
    if (found == by_100.end()) continue;
    sheet.claim("between deliveries, one delayed by 100 us, " + std::to_string(members) + " members", "us", us,
                1e6 / found->second.messages_per_second);
  }
}

void figure_10(Sheet& sheet) {
  const Panel theirs{"some senders delayed, Spindle's batching and null-sends", "members", "GB/s"};
  const Panel ours{"some senders delayed, Spindrift", "members", "GB/s"};
  struct ModeledDelay {
    const char* name;
    Ticks delay_ns;
  };
  double peak = 0;
  double undelayed = 0;  // its peak
  const auto run = [&](const System& system, std::uint32_t members, bool half, const ModeledDelay& delay) {
    Experiment experiment = continuous(system, members, members);
    experiment.delayed = half ? members / 2 : 1;
    experiment.delay_ns = delay.delay_ns;
    const Outcome outcome = sheet.run(experiment);
    const std::string series = std::string(half ? "half delayed " : "one delayed ") + delay.name;
    sheet.point(system.in_turn ? theirs : ours, series, members, outcome.gigabytes_per_second);
    return outcome;
  };
  std::map<std::uint32_t, Outcome> by_100;
  for (const std::uint32_t members : sheet.sizes()) {
    for (const System& system : {spindle(spindle_nulls), product()}) {
      const Outcome none = sheet.run(continuous(system, members, members));
      sheet.point(system.in_turn ? theirs : ours, "none delayed", members, none.gigabytes_per_second);
      if (system.in_turn) undelayed = std::max(undelayed, none.gigabytes_per_second);
    }
    for (const bool half : {false, true}) {
      for (const ModeledDelay& delay :
           {ModeledDelay{"1 us", 1e3}, ModeledDelay{"100 us", 100e3}, ModeledDelay{"for ever", for_ever}}) {
        const Outcome outcome = run(spindle(spindle_nulls), members, half, delay);
        peak = std::max(peak, outcome.gigabytes_per_second);
        if (!half && delay.delay_ns == 100e3) by_100[members] = outcome;
        run(product(), members, half, delay);
      }
    }
  }
  claim_delays(sheet, peak, undelayed, by_100);
}

void figure_11(Sheet& sheet) {
  const Panel panel{"null-sends while all send, batching", "members", "GB/s"};
  double worst = 1;
  double one = 1;
  double last = 1;
  for (const Pattern& pattern : patterns) {
    for (const std::uint32_t members : sheet.sizes()) {
      const std::uint32_t senders = pattern.senders(members);
      const double without = sheet.run(continuous(spindle(spindle_batching), members, senders)).gigabytes_per_second;
      const double with = sheet.run(continuous(spindle(spindle_nulls), members, senders)).gigabytes_per_second;
      sheet.point(panel, std::string("without nulls, ") + pattern.name, members, without);
      sheet.point(panel, std::string("with nulls, ") + pattern.name, members, with);
      if (pattern.part == 0) one = std::min(one, with / without);
      if (pattern.part != 1) continue;
      worst = std::min(worst, with / without);
      last = with / without;
    }
  }
  sheet.claim("with nulls over without, all senders, least (the paper: down to)", "times", 0.75, worst);
  sheet.claim("with nulls over without, all senders, largest group (the paper: above 1)", "times", 1, last);
  sheet.claim("with nulls over without, one sender, least", "times", 1, one);
}

void figure_12(Sheet& sheet) {
  const Panel panel{"posting after the lock's release, all senders", "members", "GB/s"};
  std::map<std::uint32_t, double> released;
  double gain = 0;
  for (const std::uint32_t members : sheet.sizes()) {
    double held = 0;
    for (const System& system : {spindle(spindle_nulls), spindle(spindle_all), product()}) {
      const double rate = sheet.run(continuous(system, members, members)).gigabytes_per_second;
      sheet.point(panel, system.name, members, rate);
      if (system.lock == Lock::held_while_posting) held = rate;
      if (system.lock == Lock::released_to_post) released[members] = rate;
    }
    gain += released[members] / held / static_cast<double>(sheet.sizes().size());
  }
  sheet.claim("gain, mean over sizes", "times", 1.4, gain);
  sheet.claim("throughput with 4 members", "GB/s", 9.7, released[4], Sheet::Place{panel, 4});
  const std::uint32_t largest = sheet.largest();
  sheet.claim("throughput in the largest group", "GB/s", 9.7, released[largest], Sheet::Place{panel, 16});
}

void section_3_5(Sheet& sheet) {
  const Panel panel{"upcalls that take their time, all senders, largest group", "upcall us", "GB/s"};
  const std::uint32_t members = sheet.largest();
  double undisturbed = 0;
  struct Upcall {
    Ticks ns;
    double paper;
  };
  for (const Upcall& upcall : {Upcall{0, 1}, {1e3, 0.91}, {100e3, 0.10}, {1e6, 0.01}}) {
    for (const System& system : {baseline(), spindle(spindle_all), product()}) {
      Experiment experiment = continuous(system, members, members);
      experiment.message_upcall_ns = upcall.ns;
      if (upcall.ns >= 100e3) experiment.rounds = 40;
      if (upcall.ns >= 100e3) experiment.window = 20;
      const double rate = sheet.run(experiment).gigabytes_per_second;
      sheet.point(panel, system.name, upcall.ns / 1e3, rate);
      if (system.policy.turn.messages != 1) continue;
      if (upcall.ns == 0) undisturbed = rate;
      if (upcall.ns > 0) {
        sheet.claim("before Spindle, upcalls of " + std::to_string(static_cast<int>(upcall.ns / 1e3)) + " us over none",
                    "times", upcall.paper, rate / undisturbed);
      }
    }
  }
}

void figure_15(Sheet& sheet) {
  const Panel theirs{"messages copied in and out, Spindle", "members", "GB/s"};
  const Panel ours{"messages copied in and out, Spindrift", "members", "GB/s"};
  double all = 0;
  std::map<bool, double> small;
  for (const bool copies : {false, true}) {
    for (const System& system : {spindle(spindle_all), product()}) {
      for (const Pattern& pattern : patterns) {
        for (const std::uint32_t members : sheet.sizes()) {
          Experiment experiment = continuous(system, members, pattern.senders(members));
          experiment.copies = {copies, copies};
          const double rate = sheet.run(experiment).gigabytes_per_second;
          sheet.point(system.in_turn ? theirs : ours, (copies ? "copied, " : "in place, ") + std::string(pattern.name),
                      members, rate);
          if (system.in_turn && copies && pattern.part == 1) all = rate;
        }
      }
    }
    Experiment experiment = continuous(spindle(spindle_all), sheet.largest(), sheet.largest());
    experiment.message_bytes = 1;
    experiment.copies = {copies, copies};
    small[copies] = sheet.run(experiment).messages_per_second;
  }
  sheet.claim("copied, all senders, largest group", "GB/s", 7.5, all, Sheet::Place{theirs, 16});
  sheet.claim("messages of 1 B, copied over in place", "times", 1, small[true] / small[false]);
}

constexpr FigureEntry entries[] = {{"10", "figure 10: delayed senders", figure_10},
                                   {"11", "figure 11: null-sends", figure_11},
                                   {"12", "figure 12: the lock", figure_12},
                                   {"upcalls", "section 3.5: slow upcalls", section_3_5},
                                   {"15", "figure 15: copies", figure_15}};

}  // namespace

std::span<const FigureEntry> delay_figures() { return entries; }

}  // namespace spindrift::bench::model
