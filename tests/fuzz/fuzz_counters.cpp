// A counters file of any bytes, as `top` and others would read it from a process that they do not trust.
#include <spindrift/core/counters.hpp>

#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using spindrift::fuzz::expect;
  static const int file = ::memfd_create("counters", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  expect(::ftruncate(file, 0) == 0 && ::pwrite(file, data, size, 0) == static_cast<ssize_t>(size), "the input is written");

  const auto counters = spindrift::CounterBlock::read_file(path);
  if (!counters) {
    expect(counters.error().kind() == spindrift::ErrorKind::bad_input, "a broken file is bad input");
    return 0;
  }
  for (const auto& counter : *counters) {
    expect(!counter.name.empty() && counter.name.size() <= 119, "names have 1 to 119 characters");
    for (const char character : counter.name) expect(character > ' ' && character <= '~', "names are printable");
  }
  return 0;
}
