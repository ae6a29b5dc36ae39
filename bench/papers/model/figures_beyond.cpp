// Figures beyond the paper: large groups, faster links, small messages, windows.
#include <string>

#include <spindrift/bench/papers/model/sheet.hpp>

namespace spindrift::bench::model {

namespace {

constexpr double best_in_the_paper = 9.7e9 / 10240;  ///< messages per second, section 4.3

Link link_of(double gigabits) {
  Link link;
  link.bytes_per_ns = gigabits / 8;
  return link;
}

std::string speed(double gigabits) { return std::to_string(static_cast<int>(gigabits)) + " Gb/s"; }

void windows(Sheet& sheet) {
  const Panel throughput{"throughput, all senders, 10 KB, largest group", "window", "GB/s"};
  const Panel latency{"latency, all senders, 10 KB, largest group", "window", "us"};
  const std::uint32_t members = sheet.largest();
  for (const std::uint64_t window : {5u, 10u, 20u, 50u, 100u, 200u, 500u, 1000u}) {
    Experiment experiment = continuous(product(), members, members);
    experiment.window = window;
    experiment.rounds = std::max<std::uint64_t>(3000, 8 * window);
    const Outcome outcome = sheet.run(experiment);
    sheet.point(throughput, product().name, static_cast<double>(window), outcome.gigabytes_per_second);
    sheet.point(latency, product().name, static_cast<double>(window), outcome.latency_us);
    if (window != 100 && window != 1000) continue;
    sheet.claim("window " + std::to_string(window) + ", over the paper's best", "GB/s", 9.7, outcome.gigabytes_per_second);
  }
}

void rates(Sheet& sheet) {
  const Panel panel{"messages of 128 B, all senders, window 1000", "members", "messages/s"};
  double rate = 0;
  for (const System& system : {spindle(spindle_all), product()}) {
    for (const std::uint32_t members : sheet.sizes()) {
      Experiment experiment = continuous(system, members, members);
      experiment.message_bytes = 128;
      experiment.window = 1000;
      experiment.rounds = 8000;
      rate = sheet.run(experiment).messages_per_second;
      sheet.point(panel, system.name, members, rate);
    }
  }
  sheet.claim("Spindrift, 128 B, largest group, over the paper's best rate", "messages/s", best_in_the_paper, rate);
}

/// Everybody sends; as many members as the paper had, and more.
void scale(Sheet& sheet) {
  const Panel throughput{"all senders, window 32: throughput, 10 KB", "members", "GB/s"};
  const Panel rate{"all senders, window 32: rate, 128 B", "members", "messages/s"};
  const Panel latency{"all senders, window 32: latency, 128 B", "members", "us"};
  const Panel posting{"all senders, window 32: the poller's time for posting, 128 B", "members", "%"};
  for (const double gigabits : {100.0, 200.0, 400.0}) {
    for (const std::uint32_t members : {16u, 32u, 64u, 128u, 256u, 512u, 1024u}) {
      // From 512 on a run takes minutes: small messages only, of which the link's speed matters least.
      const bool large_group = members > 256;
      if ((sheet.quick() && members > 16) || (large_group && gigabits == 200)) continue;
      Experiment experiment = continuous(product(), members, members);
      experiment.link = link_of(gigabits);
      experiment.window = 32;
      experiment.rounds = members <= 64 ? 600 : large_group ? 80 : 130;
      const std::string series = "Spindrift, " + speed(gigabits);
      if (!large_group) sheet.point(throughput, series, members, sheet.run(experiment).gigabytes_per_second);
      experiment.message_bytes = 128;
      const Outcome small = sheet.run(experiment);
      sheet.point(rate, series, members, small.messages_per_second);
      sheet.point(latency, series, members, small.latency_us);
      sheet.point(posting, series, members, 100 * small.posting);
    }
  }
}

/// One sends; what a message costs its sender and what its receivers pay to say that they have it.
void one_sender(Sheet& sheet) {
  const Panel throughput{"one sender, 10 KB: throughput", "members", "GB/s"};
  const Panel writes{"one sender, one message at a time: writes of all members per message and member", "members", "writes"};
  const Panel latency{"one sender, one message at a time, 128 B: latency", "members", "us"};
  for (const std::uint32_t members : {2u, 4u, 8u, 16u, 32u, 64u, 128u, 256u, 512u, 1024u}) {
    if (sheet.quick() && members > 4) continue;
    for (const double gigabits : {100.0, 400.0}) {
      Experiment experiment = continuous(product(), members, 1);
      experiment.link = link_of(gigabits);
      experiment.rounds = members <= 128 ? 1000 : 400;
      sheet.point(throughput, "Spindrift, " + speed(gigabits), members, sheet.run(experiment).gigabytes_per_second);
    }
    Experiment experiment = continuous(product(), members, 1);
    experiment.message_bytes = 128;
    experiment.window = 1;
    experiment.rounds = 40;
    const Outcome outcome = sheet.run(experiment);
    sheet.point(writes, "Spindrift", members, outcome.writes);
    sheet.point(latency, "Spindrift", members, outcome.latency_us);
  }
}

/// Shows how much hangs on the least certain of the costs.
void posting_costs(Sheet& sheet) {
  const Panel large{"10 KB, all senders, largest group", "ns to post to a peer", "GB/s"};
  const Panel small{"128 B, all senders, largest group, window 1000", "ns to post to a peer", "messages/s"};
  const std::uint32_t members = sheet.largest();
  for (const double post_ns : {60.0, 120.0, 240.0, 500.0, 1000.0, 2000.0}) {
    Experiment experiment = continuous(product(), members, members);
    experiment.system.software.post_ns = post_ns;
    experiment.system.software.post_more_ns = post_ns / 4;
    sheet.point(large, product().name, post_ns, sheet.run(experiment).gigabytes_per_second);
    experiment.message_bytes = 128;
    experiment.window = 1000;
    experiment.rounds = 8000;
    sheet.point(small, product().name, post_ns, sheet.run(experiment).messages_per_second);
  }
}

/// Compares ways to hand on large messages. Each way with as many bytes on their way; all senders too, for nobody knows how
/// many will send.
void relay(Sheet& sheet) {
  struct Way {
    const char* name;
    smc::Relay relay;
  };
  constexpr Way ways[] = {{"direct", smc::relay::direct},
                          {"rotation", smc::relay::rotation},
                          {"chain", smc::relay::chain},
                          {"binomial tree", smc::relay::tree}};
  constexpr std::uint64_t kilobyte = 1000;
  for (const std::uint64_t kilobytes : {100u, 1000u}) {
    for (const Pattern& pattern : {patterns[2], patterns[0]}) {
      const std::string what = std::to_string(kilobytes) + " KB, " + pattern.name;
      const Panel throughput{what + ": throughput", "members", "GB/s"};
      const Panel latency{what + ", one message at a time: latency", "members", "us"};
      for (const Way& way : ways) {
        for (const std::uint32_t members : {2u, 3u, 4u, 6u, 8u, 12u, 16u}) {
          if (sheet.quick() && members > 4) continue;
          Experiment experiment = continuous(product(), members, pattern.senders(members));
          experiment.message_bytes = kilobytes * kilobyte;
          experiment.large = way.relay;
          experiment.window = 32;
          experiment.rounds = 200;
          sheet.point(throughput, way.name, members, sheet.run(experiment).gigabytes_per_second);
          experiment.window = 1;
          experiment.rounds = 60;
          sheet.point(latency, way.name, members, sheet.run(experiment).latency_us);
        }
      }
    }
  }
}

constexpr FigureEntry entries[] = {{"windows", "beyond: windows", windows},
                                   {"rates", "beyond: small messages", rates},
                                   {"scale", "beyond: large groups", scale},
                                   {"one", "beyond: one sender", one_sender},
                                   {"relay", "beyond: large messages, handed on", relay},
                                   {"posting", "beyond: the cost of posting", posting_costs}};

}  // namespace

std::span<const FigureEntry> beyond_figures() { return entries; }

}  // namespace spindrift::bench::model
