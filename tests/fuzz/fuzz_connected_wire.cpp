// The bytes that a process on another host may send before and after it is linked: greetings, control messages, small
// writes.
#include "fuzz.hpp"

#include <vector>

#include <spindrift/fabric/connected/heard_lists.hpp>
#include <spindrift/fabric/connected/wire.hpp>

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::connected;
using spindrift::fuzz::expect;

namespace {

void check_greeting(std::span<const std::byte> bytes) {
  const auto greeting = decode_greeting(bytes);
  if (!greeting) return;
  const GreetingBytes again = encode(*greeting);
  expect(greeting->incarnation != 0 && std::equal(again.begin(), again.end(), bytes.begin()),
         "a greeting survives its own encoding");
}

void check_writes(std::span<const std::byte> writes) {
  const std::span<const std::byte> all = writes;
  std::vector<std::byte> again;
  while (!writes.empty()) {
    const auto write = take_write(writes);
    if (!write) return;
    expect(write->bytes.size() <= small_write_bytes_max, "a small write is small");
    expect(write->bytes.data() >= all.data() && write->bytes.data() + write->bytes.size() <= all.data() + all.size(),
           "a write's bytes lie in its message");
    if (!append(again, *write)) return;
  }
  if (!again.empty())
    expect(std::equal(all.begin(), all.end(), again.begin() + header_bytes), "writes survive their encoding");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  check_greeting(bytes);
  const auto control = decode_control(bytes);
  if (!control) return 0;
  if (control->kind == Kind::writes) check_writes(control->payload);
  if (control->kind == Kind::exposed) {
    const Exposure& exposure = control->exposure;
    expect(exposure.bytes > 0 && exposure.address + exposure.bytes > exposure.address,
           "an exposure has bytes, in one piece");
    const ExposureBytes again = encode(exposure);
    expect(std::equal(again.begin(), again.end(), bytes.begin()), "an exposure survives its own encoding");
  }
  if (control->kind == Kind::revoked) {
    expect(!control->payload.empty() && control->rest <= revoked_bytes_max, "a part of lists has bytes, and an end");
    HeardLists heard;
    const auto whole = heard.take(control->payload, control->rest, Time{});
    if (whole && *whole) expect(control->rest == 0 && (*whole)->size() == control->payload.size(), "lists are whole");
  }
  return 0;
}
