// Figures 1 and 3 to 7: the write, and opportunistic batching in one subgroup (sections 3.2, 4.1.1 and 4.1.2).
#include <array>
#include <map>
#include <string>

#include <spindrift/bench/papers/model/network.hpp>
#include <spindrift/bench/papers/model/sheet.hpp>

namespace spindrift::bench::model {

namespace {

/// One write of `bytes` over an idle link, from its post until it is visible.
double write_latency_us(const Link& link, std::uint64_t bytes) {
  const MirrorLayout::Interval all{0, bytes};
  Network network(2, {.link = link, .software = {}, .rings_at = bytes}, {bytes, {&all, 1}}, [](std::uint32_t) {});
  std::vector<std::byte> source(bytes);
  const fabric::Operation write{.peer = fabric::PeerId(1), .local = source.data(), .bytes = bytes, .region = {}};
  value_or_throw(network.endpoint(0).post({&write, 1}));
  return network.next_landing(1) / 1e3;
}

void figure_1(Sheet& sheet) {
  const Panel panel{"", "bytes", "us"};
  const Link link;
  for (std::uint64_t bytes = 1; bytes <= 65536; bytes *= 4)
    sheet.point(panel, "one write", static_cast<double>(bytes), write_latency_us(link, bytes));
  sheet.claim("latency of 1 B (calibrated)", "us", 1.73, write_latency_us(link, 1), Sheet::Place{panel, 1});
  sheet.claim("latency of 4 KB (calibrated)", "us", 2.46, write_latency_us(link, 4096), Sheet::Place{panel, 4096});
}

void figure_3(Sheet& sheet) {
  const Panel panel{"throughput of 10 KB messages", "members", "GB/s"};
  std::map<std::string, std::map<std::uint32_t, double>> before, batching;
  for (const Pattern& pattern : patterns) {
    for (const std::uint32_t members : sheet.sizes()) {
      const std::uint32_t senders = pattern.senders(members);
      for (const System& system : {baseline(), spindle(spindle_batching), product()}) {
        const double rate = sheet.run(continuous(system, members, senders)).gigabytes_per_second;
        sheet.point(panel, system.name + ", " + pattern.name, members, rate);
        if (system.name == baseline().name) before[pattern.name][members] = rate;
        if (system.policy.null_sends == false && system.policy.turn.messages > 1) batching[pattern.name][members] = rate;
      }
    }
  }
  const auto gain = [&](const char* pattern) {
    double sum = 0;
    for (const auto& [members, rate] : batching[pattern]) sum += rate / before[pattern][members];
    return sum / static_cast<double>(batching[pattern].size());
  };
  sheet.claim("batching's gain, all senders, mean over sizes", "times", 9, gain("all senders"));
  sheet.claim("batching's gain, half senders, mean", "times", 6, gain("half senders"));
  sheet.claim("batching's gain, one sender, mean", "times", 3, gain("one sender"));
  auto& all = batching["all senders"];
  const std::uint32_t largest = sheet.largest();
  sheet.claim("batching's gain, all senders, largest group", "times", 16, all[largest] / before["all senders"][largest]);
  double peak = 0;
  for (const auto& [members, rate] : all) peak = std::max(peak, rate);
  sheet.claim("batching's peak, at 11 members", "GB/s", 8.03, peak, Sheet::Place{panel, 11});
}

void figure_4(Sheet& sheet) {
  std::map<std::uint64_t, double> at_largest;
  for (const System& system : {spindle(spindle_batching), product()}) {
    const Panel panel{"messages of different sizes, " + system.name, "members", "messages/s"};
    for (const std::uint64_t bytes : {1u, 128u, 1024u, 10240u}) {
      for (const std::uint32_t members : sheet.sizes()) {
        Experiment experiment = continuous(system, members, members);
        experiment.message_bytes = bytes;
        const double rate = sheet.run(experiment).messages_per_second;
        sheet.point(panel, std::to_string(bytes) + " B", members, rate);
        if (system.in_turn) at_largest[bytes] = rate;
      }
    }
  }
  sheet.claim("rate of 1 B messages over that of 10 KB, batching", "times", 1, at_largest[1] / at_largest[10240]);
}

/// Claims what happened for the paper's million messages of each of 16 senders.
void claim_counters(Sheet& sheet, const Outcome& before, const Outcome& batching, double members) {
  const double messages = 1e6 * members;
  const auto pushes = [&](const Outcome& outcome) { return outcome.lists / (members - 1) * messages / 1e6; };
  const auto posting = [&](const Outcome& outcome) { return outcome.posting * messages / outcome.messages_per_second; };
  sheet.claim("pushes before", "million", 18.2, pushes(before));
  sheet.claim("pushes with batching", "million", 1.1, pushes(batching));
  sheet.claim("time to post before", "s", 64.84, posting(before));
  sheet.claim("time to post with batching", "s", 4.29, posting(batching));
  sheet.claim("sender waits for space before", "%", 97.6, 100 * before.waiting);
  sheet.claim("sender waits for space with batching", "%", 52.7, 100 * batching.waiting);
}

void figure_5(Sheet& sheet) {
  const Panel throughput{"batching, stage by stage: throughput", "members", "GB/s"};
  const Panel latency{"batching, stage by stage: latency", "members", "us"};
  std::array<Outcome, spindle_batching + 1> at_largest;
  for (int stage = 0; stage <= spindle_batching; ++stage) {
    const System system = spindle(stage);
    for (const std::uint32_t members : sheet.sizes()) {
      const Outcome outcome = sheet.run(continuous(system, members, members));
      sheet.point(throughput, system.name, members, outcome.gigabytes_per_second);
      sheet.point(latency, system.name, members, outcome.latency_us);
      at_largest[static_cast<std::size_t>(stage)] = outcome;
    }
  }
  claim_counters(sheet, at_largest.front(), at_largest.back(), sheet.largest());
}

void figure_6(Sheet& sheet) {
  const Panel panel{"windows, batching, all senders", "members", "GB/s"};
  const Panel best{"windows at the largest group", "window", "GB/s"};
  std::map<std::uint64_t, std::map<std::uint32_t, double>> rates;
  std::map<std::uint32_t, double> before;
  for (const std::uint32_t members : sheet.sizes()) {
    before[members] = sheet.run(continuous(baseline(), members, members)).gigabytes_per_second;
    for (const std::uint64_t window : {5u, 10u, 20u, 50u, 100u, 500u, 1000u}) {
      Experiment experiment = continuous(spindle(spindle_batching), members, members);
      experiment.window = window;
      experiment.rounds = std::max<std::uint64_t>(experiment.rounds, 8 * window);
      const double rate = rates[window][members] = sheet.run(experiment).gigabytes_per_second;
      sheet.point(panel, "window " + std::to_string(window), members, rate);
      if (members != sheet.largest()) continue;
      sheet.point(best, "Spindle, batching", static_cast<double>(window), rate);
      experiment.system = product();
      sheet.point(best, "Spindrift", static_cast<double>(window), sheet.run(experiment).gigabytes_per_second);
    }
  }
  double gain = 0;
  for (const auto& [members, rate] : rates[5]) gain += rate / before[members] / static_cast<double>(rates[5].size());
  sheet.claim("window 5 over the baseline with 100, mean", "times", 4.5, gain);
  const std::uint32_t largest = sheet.largest();
  sheet.claim("window 1000 over 100, largest group (the paper: below 1)", "times", 1,
              rates[1000][largest] / rates[100][largest]);
}

void figure_7(Sheet& sheet) {
  const Panel panel{"batch sizes, batching, all senders", "batch", "% of batches"};
  const std::uint32_t members = sheet.largest();
  const Outcome outcome = sheet.run(continuous(spindle(spindle_batching), members, members));
  struct Stage {
    const char* name;
    const Batches& batches;
    double paper;
  };
  for (const Stage& stage :
       {Stage{"sent", outcome.sent, 1.72}, {"received", outcome.received, 22.18}, {"delivered", outcome.delivered, 35.19}}) {
    for (std::size_t size = 1; size < 100; ++size) {
      const double share =
          100.0 * static_cast<double>(stage.batches.histogram[size]) / static_cast<double>(stage.batches.count);
      if (share > 0) sheet.point(panel, stage.name, static_cast<double>(size), share);
    }
    sheet.claim(std::string("mean batch, ") + stage.name, "messages", stage.paper, stage.batches.mean());
  }
}

constexpr FigureEntry entries[] = {{"1", "figure 1: a write's latency", figure_1}, {"3", "figure 3: one subgroup", figure_3},
                                   {"4", "figure 4: message sizes", figure_4},     {"5", "figure 5: stages", figure_5},
                                   {"6", "figure 6: windows", figure_6},           {"7", "figure 7: batch sizes", figure_7}};

}  // namespace

std::span<const FigureEntry> batching_figures() { return entries; }

}  // namespace spindrift::bench::model
