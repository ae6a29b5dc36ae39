// A member in a process of its own, for tests that kill it: it makes one client's requests after another, and says what came
// of each.
//
//   client_peer CONFIG SESSION WORD
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <string>

#include "till.hpp"

int main(int count, char** arguments) {
  using namespace spindrift;
  if (count != 4) return EXIT_FAILURE;
  try {
    const ClientSessionId session{std::stoull(arguments[2]), std::stoull(arguments[3])};
    Group group(value_or_throw(Config::read(arguments[1])));
    group.subgroup("ticks").on_delivery([](std::span<const Delivery>) {});
    auto till = group.replicated<Till>("orders");
    std::deque<Future<std::uint64_t>> calls;
    for (std::uint64_t number = 0;; ++number) {
      calls.push_back(pay(till, session, number));
      if (calls.size() < under_way) continue;
      std::printf("request %llu: %llu\n", static_cast<unsigned long long>(number + 1 - under_way),
                  static_cast<unsigned long long>(calls.front().get()));
      std::fflush(stdout);
      calls.pop_front();
    }
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return EXIT_FAILURE;
  }
}
