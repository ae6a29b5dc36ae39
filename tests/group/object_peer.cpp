// A member in a process of its own, for tests that kill it: sends one object of so many bytes after another, or takes part
// without sending.
//
//   object_peer CONFIG [BYTES]
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "object_fixture.hpp"

int main(int count, char** arguments) {
  using namespace spindrift;
  if (count != 2 && count != 3) return EXIT_FAILURE;
  try {
    Group group(value_or_throw(Config::read(arguments[1])));
    Receiver receiver(group);
    if (count == 2) {
      group.wait();
      return EXIT_SUCCESS;
    }
    const std::uint64_t bytes = std::stoull(arguments[2]);
    for (std::uint64_t object = 1;; ++object) send(receiver, group.self().value(), object, bytes);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return EXIT_FAILURE;
  }
}
