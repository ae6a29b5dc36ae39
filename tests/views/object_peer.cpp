// A member in a process of its own, for objects_end_test: sends one object after another until it is killed.
//
//   object_peer CONFIG BYTES
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "object_fixture.hpp"

int main(int count, char** arguments) {
  using namespace spindrift;
  if (count != 3) return EXIT_FAILURE;
  try {
    const std::uint64_t bytes = std::stoull(arguments[2]);
    Group group(value_or_throw(Config::read(arguments[1])));
    Receiver receiver(group);
    for (std::uint64_t object = 1;; ++object) send(receiver, group.self().value(), object, bytes);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return EXIT_FAILURE;
  }
}
