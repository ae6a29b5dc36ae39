// Figures 16 to 18: everything together, and one publisher with each quality of service (sections 4.5 and 4.6).
#include <map>
#include <string>

#include <spindrift/bench/papers/model/sheet.hpp>

namespace spindrift::bench::model {

namespace {

void figures_16_and_17(Sheet& sheet) {
  const Panel throughput{"throughput of 10 KB messages", "members", "GB/s"};
  const Panel latency{"latency of 10 KB messages", "members", "us"};
  std::map<std::string, Outcome> all;  // all senders, largest group
  for (const Pattern& pattern : patterns) {
    for (const System& system : {baseline(), spindle(spindle_all), product()}) {
      for (const std::uint32_t members : sheet.sizes()) {
        const Outcome outcome = sheet.run(continuous(system, members, pattern.senders(members)));
        sheet.point(throughput, system.name + ", " + pattern.name, members, outcome.gigabytes_per_second);
        sheet.point(latency, system.name + ", " + pattern.name, members, outcome.latency_us);
        if (pattern.part == 1) all[system.name] = outcome;
      }
    }
  }
  const Outcome& before = all[baseline().name];
  const Outcome& after = all[spindle(spindle_all).name];
  sheet.claim("before, all senders, largest group", "GB/s", 1, before.gigabytes_per_second, Sheet::Place{throughput, 16});
  sheet.claim("Spindle, all senders, largest group", "GB/s", 9.7, after.gigabytes_per_second, Sheet::Place{throughput, 16});
  sheet.claim("latency before over Spindle (the paper: nearly two orders)", "times", 100,
              before.latency_us / after.latency_us);
  sheet.claim("Spindrift over the paper's Spindle, all senders, largest group", "GB/s", 9.7,
              all[product().name].gigabytes_per_second);
}

void figure_18(Sheet& sheet) {
  constexpr double disk_bytes_per_ns = 2;  // assumed: an SSD
  struct Quality {
    const char* name;
    DeliveryMode mode;
    bool copy;
    bool disk;
  };
  std::map<std::string, double> rates;
  for (const System& system : {baseline(), spindle(spindle_all), product()}) {
    const Panel panel{"one publisher, 10 KB samples, " + system.name, "subscribers", "GB/s"};
    for (const Quality& quality : {Quality{"unordered", DeliveryMode::unordered, false, false},
                                   {"atomic", DeliveryMode::ordered, false, false},
                                   {"volatile", DeliveryMode::ordered, true, false},
                                   {"logged", DeliveryMode::ordered, true, true}}) {
      for (const std::uint32_t members : sheet.sizes()) {
        Experiment experiment = continuous(system, members, 1);
        experiment.mode = quality.mode;
        experiment.copies.out = quality.copy;
        if (quality.disk) experiment.message_upcall_ns = static_cast<double>(experiment.message_bytes) / disk_bytes_per_ns;
        const double rate = sheet.run(experiment).gigabytes_per_second;
        sheet.point(panel, quality.name, members - 1, rate);
        if (system.lock == Lock::released_to_post) rates[quality.name] = rate;
      }
    }
  }
  sheet.claim("Spindle: atomic over unordered, most subscribers (the paper: nearly the same)", "times", 1,
              rates["atomic"] / rates["unordered"]);
}

constexpr FigureEntry entries[] = {{"16", "figures 16 and 17: all together", figures_16_and_17},
                                   {"18", "figure 18: qualities of service", figure_18}};

}  // namespace

std::span<const FigureEntry> final_figures() { return entries; }

}  // namespace spindrift::bench::model
