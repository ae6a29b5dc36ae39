// A member in a process of its own that lets clients in, for tests that kill it.
//
//   served_peer CONFIG
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "till.hpp"

int main(int count, char** arguments) {
  using namespace spindrift;
  if (count != 2) return EXIT_FAILURE;
  try {
    Group group(value_or_throw(Config::read(arguments[1])));
    group.subgroup("ticks").on_delivery([](std::span<const Delivery>) {});
    auto till = group.replicated<Till>("orders");
    till.loaded();
    till.offer();
    std::puts("lets clients in");
    std::fflush(stdout);
    group.wait();
    return EXIT_SUCCESS;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return EXIT_FAILURE;
  }
}
