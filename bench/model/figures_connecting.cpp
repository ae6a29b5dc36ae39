// KRCore's figures 8 to 10, 14 and 15 over modelled cards, beside the numbers that the paper states.
#include <array>
#include <string>
#include <vector>

#include <spindrift/bench/model/connecting.hpp>
#include <spindrift/bench/model/sheet.hpp>

namespace spindrift::bench::model {

namespace {

const CardCosts costs;
constexpr std::uint32_t most = 240;
constexpr std::uint32_t hosts = 10;

std::vector<std::uint32_t> clients_of(const Sheet& sheet) {
  if (sheet.quick()) return {1, 20};
  return {1, 10, 20, 40, 60, 80, 120, 160, 200, most};
}

std::uint32_t connections_of(const Sheet& sheet) { return sheet.quick() ? 20 : 200; }

void figure_8a(Sheet& sheet) {
  const Panel rate{"connections", "clients", "connections/s"};
  const Panel latency{"latency of a connection", "clients", "us"};
  std::vector<ConnectingOutcome> outcomes;
  for (const std::uint32_t clients : clients_of(sheet)) {
    outcomes.push_back(run_connecting(costs, clients, connections_of(sheet)));
    sheet.point(rate, "virtual queue pairs, peer looked up", clients, outcomes.back().per_second);
    sheet.point(latency, "virtual queue pairs, peer looked up", clients, outcomes.back().latency_us);
  }
  sheet.claim("one client, peer known: the system call, which is given", "us", 0.9, costs.connect_call_ns / 1000);
  sheet.claim("one client, peer looked up", "us", 5.4, outcomes.front().latency_us, Sheet::Place{latency, 1});
  sheet.claim("reads for a lookup", "reads", 2, outcomes.front().reads_each);
  sheet.claim("240 clients", "connections/s", 22e6, outcomes.back().per_second, Sheet::Place{rate, most});
}

void figure_8b(Sheet& sheet) {
  const Panel panel{"full mesh", "workers", "us"};
  double by_host = 0;
  for (const std::uint32_t workers : sheet.quick() ? std::vector{20u} : std::vector{20u, 60u, 120u, 180u, most}) {
    by_host = run_mesh(costs, workers, hosts);
    sheet.point(panel, "ten hosts, one cache each", workers, by_host);
    sheet.point(panel, "a cache for each worker", workers, run_mesh(costs, workers, workers));
  }
  sheet.claim("240 workers on ten hosts", "us", 81, by_host, Sheet::Place{panel, most});
}

void figure_9a(Sheet& sheet) {
  const Panel rate{"lookups", "clients", "lookups/s"};
  const Panel latency{"latency of a lookup", "clients", "us"};
  ConnectingOutcome reads;
  ConnectingOutcome answers;
  for (const std::uint32_t clients : clients_of(sheet)) {
    reads = run_connecting(costs, clients, connections_of(sheet));
    answers = run_asking(costs, clients);
    for (const auto& [name, outcome] : {std::pair{"one-sided reads", &reads}, {"a thread that answers", &answers}}) {
      sheet.point(rate, name, clients, outcome->per_second);
      sheet.point(latency, name, clients, outcome->latency_us);
    }
  }
  sheet.claim("reads over a thread that answers, 240 clients", "times", 11.8, reads.per_second / answers.per_second);
  sheet.claim("latency of its answers over that of reads, at most", "times", 13, answers.latency_us / reads.latency_us);
}

void figure_10a(Sheet& sheet) {
  const double read = run_read(costs);
  sheet.claim("a read by verbs, which is given", "us", 2.15, costs.read_ns / 1000);
  sheet.claim("over a connected queue pair", "us", 3.15, read - costs.turn_ns / 1000);
  sheet.claim("over a connectionless queue pair", "us", 3.24, read);
}

void figure_14a(Sheet& sheet) {
  const Panel panel{"64 reads to 10 targets", "queue pairs", "us"};
  const double connected = costs.connected_batch_ns / 1000;
  std::vector<double> times;
  for (const std::uint32_t queue_pairs : {1u, 2u, 4u, 8u}) {
    times.push_back(run_batch(costs, queue_pairs, sheet.quick() ? 2 : 50));
    sheet.point(panel, "connectionless", queue_pairs, times.back());
    sheet.point(panel, "64 connected ones, which are given", queue_pairs, connected);
  }
  sheet.claim("pool of 1, to which the way there and back is fitted", "us", 99, times[0], Sheet::Place{panel, 1});
  sheet.claim("pool of 1 over connected ones", "times", 1.32, times[0] / connected);
  sheet.claim("less than connected ones, the smallest pool that is better: 2", "percent", 28,
              100 * (1 - times[1] / connected));
  sheet.claim("less than connected ones, at most: a pool of 8", "percent", 78, 100 * (1 - times[3] / connected));
}

void figure_15a(Sheet& sheet) {
  const Panel panel{"memory for peers", "peers", "MB"};
  constexpr std::uint32_t queue_pairs = 48;
  double last = 0;
  for (const std::uint32_t peers : {10u, 100u, 1000u, 5000u}) {
    last = (queue_pairs * costs.queue_pair_bytes + peers * costs.metadata_bytes) / 1e6;
    sheet.point(panel, "48 queue pairs and metadata of all peers", peers, last);
  }
  sheet.claim("5000 peers", "MB", 6.3, last, Sheet::Place{panel, 5000});
}

constexpr FigureEntry entries[] = {{"krcore-8a", "KRCore, figure 8a: one connection", figure_8a},
                                   {"krcore-8b", "KRCore, figure 8b: a full mesh", figure_8b},
                                   {"krcore-9a", "KRCore, figure 9a: the meta server", figure_9a},
                                   {"krcore-10a", "KRCore, figure 10a: a read", figure_10a},
                                   {"krcore-14a", "KRCore, figure 14a: the size of the pool", figure_14a},
                                   {"krcore-15a", "KRCore, figure 15a: memory", figure_15a}};

}  // namespace

std::span<const FigureEntry> connecting_figures() { return entries; }

}  // namespace spindrift::bench::model
