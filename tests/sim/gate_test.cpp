// Fresh seeds are clean, the same seed gives the same run, every bug that the simulator ever found stays fixed, and what a
// run must notice it notices.
#include <catch2/catch.hpp>

#include <fstream>
#include <sstream>

#include <spindrift/core/log.hpp>

#include "cluster.hpp"
#include "gate.hpp"

namespace spindrift::sim {
namespace {

/// One of so many seeds and regressions is played: a sanitizer looks for other faults than the checkers do.
constexpr std::uint64_t share = SPINDRIFT_SIM_SHARE;

void silence() { REQUIRE(log::set_levels("off").ok()); }

/// Runs seeds with something planted until it took effect; what the checkers said then.
template <class Plant>
std::string found(Plant&& plant) {
  silence();
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Options options = Options::of(seed);
    Cluster cluster(options);
    bool planted = false;
    plant(cluster, planted);
    cluster.run();
    if (planted) return cluster.report().violation() ? cluster.report().violation()->invariant : "nothing";
  }
  return "never planted";
}

template <class Change>
std::string found_in_deliveries(Change&& change) {
  return found([&](Cluster& cluster, bool& planted) {
    cluster.set_tamper(
        [&planted, change](Cluster& at, std::uint32_t rank, std::uint32_t subgroup, std::vector<Delivery>& batch) {
          if (planted || at.options().view.subgroups[subgroup].mode != DeliveryMode::ordered) return;
          planted = change(at, rank, batch);
        });
  });
}

/// Raises a word of a member's own row behind its back.
template <class Choose>
std::string found_in_rows(Choose&& choose) {
  return found([&](Cluster& cluster, bool& planted) {
    cluster.set_meddler([&planted, choose](Cluster& at, std::uint32_t rank) {
      if (planted || at.checker().deliveries() < 5) return;
      for (std::uint32_t s = 0; s < at.options().view.subgroups.size() && !planted; ++s) {
        const auto& block = at.ledger().layout(Rank(rank)).subgroup(SubgroupId(s));
        if (!block || at.options().view.subgroups[s].mode != DeliveryMode::ordered) continue;
        const std::uint64_t offset = choose(*block);
        auto* row = const_cast<std::byte*>(at.ledger().row(Rank(rank)));
        store_release(row + offset, load_acquire(row + offset) + 1000);
        planted = true;
      }
    });
  });
}

}  // namespace

TEST_CASE("the same seed gives the same trace hash, another seed another") {
  silence();
  const GateResult first = run_gate({.first = 100, .seeds = 20 / share, .on_seed = {}});
  const GateResult again = run_gate({.first = 100, .seeds = 20 / share, .on_seed = {}});
  const GateResult other = run_gate({.first = 101, .seeds = 20 / share, .on_seed = {}});
  CHECK(first.hash == again.hash);
  CHECK(first.events == again.events);
  CHECK(first.hash != other.hash);
}

TEST_CASE("fresh seeds violate nothing") {
  silence();
  const GateResult result = run_gate({.first = 1, .seeds = 150 / share, .on_seed = {}});
  INFO((result.failure ? result.failure->options + "\n" + result.failure->invariant + ": " + result.failure->what : ""));
  CHECK_FALSE(result.failure.has_value());
  CHECK(result.deliveries > 10'000 / share);
}

TEST_CASE("fresh seeds violate nothing with split rows") {
  silence();
  const GateResult result = run_gate({.first = 1, .seeds = 100 / share, .split_rows = true, .on_seed = {}});
  INFO((result.failure ? result.failure->options + "\n" + result.failure->invariant + ": " + result.failure->what : ""));
  CHECK_FALSE(result.failure.has_value());
  CHECK(result.deliveries > 10'000 / share);
}

TEST_CASE("seeds that once found a bug are clean") {
  silence();
  std::ifstream list(SPINDRIFT_SIM_REGRESSIONS);
  REQUIRE(list.good());
  std::uint64_t replayed = 0;
  for (std::string line; std::getline(list, line);) {
    std::istringstream words(line);
    std::uint64_t seed = 0;
    if (line.empty() || line[0] == '#' || !(words >> seed)) continue;
    if (replayed++ % share != 0) continue;
    // By itself every third seed is one of a run with one view.
    for (const auto kind : {GateOptions::Kind::both, GateOptions::Kind::views}) {
      const GateResult result = run_gate({.first = seed, .seeds = 1, .kind = kind, .on_seed = {}});
      INFO(line << "\n" << (result.failure ? result.failure->invariant + ": " + result.failure->what : ""));
      CHECK_FALSE(result.failure.has_value());
    }
  }
  CHECK(replayed > 0);
}

TEST_CASE("wrong bytes at delivery are found (M1)") {
  static const std::array<std::byte, 4096> wrong{std::byte{1}};
  CHECK(found_in_deliveries([](Cluster&, std::uint32_t, std::vector<Delivery>& batch) {
          for (Delivery& delivery : batch) {
            if (delivery.payload.size() < 8 || delivery.payload.size() > wrong.size()) continue;
            delivery.payload = std::span(wrong).first(delivery.payload.size());
            return true;
          }
          return false;
        }) == "M1");
}

TEST_CASE("a second delivery of a message is found (M2)") {
  CHECK(found_in_deliveries([](Cluster&, std::uint32_t, std::vector<Delivery>& batch) {
          batch.push_back(batch.back());
          return true;
        }) == "M2");
}

TEST_CASE("a skipped message is found (M3)") {
  CHECK(found_in_deliveries([](Cluster&, std::uint32_t, std::vector<Delivery>& batch) {
          if (batch.size() < 2) return false;
          batch.erase(batch.begin());
          return true;
        }) == "M3");
}

TEST_CASE("another order is found even if it were the same everywhere (M4)") {
  CHECK(found_in_deliveries([](Cluster&, std::uint32_t, std::vector<Delivery>& batch) {
          batch.front().sequence = SequenceNumber(batch.front().sequence.value() + 1);
          return true;
        }) == "M4");
}

TEST_CASE("a delivery before everybody holds the message is found (M5w)") {
  CHECK(found_in_deliveries([](Cluster& cluster, std::uint32_t rank, std::vector<Delivery>&) {
          for (std::uint32_t other = 0; other < cluster.options().nodes.size(); ++other) {
            if (other == rank) continue;
            for (std::uint32_t s = 0; s < cluster.options().view.subgroups.size(); ++s) {
              const auto& mine = cluster.ledger().layout(Rank(rank)).subgroup(SubgroupId(s));
              const auto& theirs = cluster.ledger().layout(Rank(other)).subgroup(SubgroupId(s));
              if (mine && theirs)
                store_release(const_cast<std::byte*>(cluster.ledger().row(Rank(other))) + theirs->received, 0);
            }
          }
          return cluster.options().view.subgroups.size() == 1 && cluster.options().view.subgroups[0].members.size() > 1;
        }) == "M5w");
}

TEST_CASE("an acknowledgement of what is not there is found (M5w)") {
  CHECK(found_in_rows([](const sst::SubgroupBlock& block) { return block.received; }) == "M5w");
  CHECK(found_in_rows([](const sst::SubgroupBlock& block) { return block.delivered; }) == "M5w");
}

TEST_CASE("a counter that runs ahead of its records is found (R2)") {
  CHECK(found([&](Cluster& cluster, bool& planted) {
          cluster.set_meddler([&planted](Cluster& at, std::uint32_t rank) {
            if (planted || at.checker().deliveries() < 5) return;
            for (std::uint32_t s = 0; s < at.options().view.subgroups.size() && !planted; ++s) {
              const auto& block = at.ledger().layout(Rank(rank)).subgroup(SubgroupId(s));
              if (!block || block->ring == 0) continue;
              auto* row = const_cast<std::byte*>(at.ledger().row(Rank(rank)));
              store_release(row + block->committed, load_acquire(row + block->committed) + 5);
              planted = true;
            }
          });
        }) == "R2");
}

TEST_CASE("a word that falls is found (S2)") {
  CHECK(found([&](Cluster& cluster, bool& planted) {
          cluster.set_meddler([&planted](Cluster& at, std::uint32_t rank) {
            if (planted || at.checker().deliveries() < 5) return;
            store_release(const_cast<std::byte*>(at.ledger().row(Rank(rank))) + at.ledger().layout(Rank(rank)).phase(), 0);
            planted = true;
          });
        }) == "S2");
}

TEST_CASE("a step that writes another's row is found (S1)") {
  CHECK(found([&](Cluster& cluster, bool& planted) {
          cluster.set_meddler([&planted](Cluster& at, std::uint32_t rank) {
            const std::uint32_t other = rank == 0 ? 1 : 0;
            if (planted || at.checker().deliveries() < 5) return;
            auto* word =
                const_cast<std::byte*>(at.ledger().row(Rank(other))) + at.ledger().layout(Rank(other)).activity_word(0);
            store_release(word, load_acquire(word) + 1);
            planted = true;
          });
        }) == "S1");
}

TEST_CASE("a message that is sent and never arrives is found (L2)") {
  CHECK(found([&](Cluster& cluster, bool& planted) {
          cluster.set_meddler([&planted](Cluster& at, std::uint32_t) {
            if (planted) return;
            ++at.ledger().book(0, 0).committed_messages;
            planted = true;
          });
        }) == "L2");
}

TEST_CASE("a group that does not go quiet is found (M10)") {
  Options options = Options::of(3);
  options.events_max = 100;
  silence();
  Cluster cluster(options);
  cluster.run();
  REQUIRE(cluster.report().violation());
  CHECK(cluster.report().violation()->invariant == "M10");
}

}  // namespace spindrift::sim
