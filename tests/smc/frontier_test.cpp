// Round-robin arithmetic against a definition that counts one by one.
#include <catch2/catch.hpp>

#include <vector>

#include <spindrift/smc/frontier.hpp>

using namespace spindrift::smc;

namespace {

// M(sender, index) is held iff index < counts[sender].
std::uint64_t first_missing(const std::vector<std::uint64_t>& counts) {
  for (std::uint64_t sequence = 0;; ++sequence) {
    if (sequence / counts.size() >= counts[sequence % counts.size()]) return sequence;
  }
}

template <class Visit>
void for_small_counts(Visit&& visit) {
  for (std::uint64_t a = 0; a < 5; ++a) {
    for (std::uint64_t b = 0; b < 5; ++b) {
      visit(std::vector{a, b});
      for (std::uint64_t c = 0; c < 5; ++c) visit(std::vector{a, b, c});
    }
  }
}

}  // namespace

TEST_CASE("the received frontier is the first sequence number that is missing") {
  for_small_counts([](const auto& counts) { CHECK(received_frontier(counts) == first_missing(counts)); });
  CHECK(received_frontier(std::vector<std::uint64_t>{7}) == 7);
}

TEST_CASE("messages below a frontier are those whose sequence number is smaller") {
  for (std::uint64_t senders = 1; senders < 5; ++senders) {
    for (std::uint64_t rank = 0; rank < senders; ++rank) {
      for (std::uint64_t frontier = 0; frontier < 20; ++frontier) {
        std::uint64_t expected = 0;
        while (expected * senders + rank < frontier) ++expected;
        CHECK(messages_below(frontier, rank, senders) == expected);
      }
    }
  }
}

TEST_CASE("a sender owes nulls until its next message precedes nothing that is here") {
  for_small_counts([](const std::vector<std::uint64_t>& counts) {
    for (std::uint64_t rank = 0; rank < counts.size(); ++rank) {
      std::uint64_t expected = 0;  // smallest next index k such that no M(j,l) here has k < l, or k = l and rank < j
      for (bool precedes = true; precedes; expected += precedes) {
        precedes = false;
        for (std::uint64_t j = 0; j < counts.size(); ++j) {
          for (std::uint64_t l = 0; j != rank && l < counts[j]; ++l) precedes |= expected < l || (expected == l && rank < j);
        }
      }
      CHECK(count_owed(counts, rank) == expected);
    }
  });
}

TEST_CASE("null-sends end: when every sender has paid what it owes, nobody owes more") {
  for_small_counts([](std::vector<std::uint64_t> counts) {
    for (int round = 0; round < 3; ++round) {
      for (std::uint64_t rank = 0; rank < counts.size(); ++rank) {
        counts[rank] = std::max(counts[rank], count_owed(counts, rank));
      }
    }
    for (std::uint64_t rank = 0; rank < counts.size(); ++rank) CHECK(count_owed(counts, rank) <= counts[rank]);
  });
}
