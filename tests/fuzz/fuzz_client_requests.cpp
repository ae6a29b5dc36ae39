// The bytes that a client sends to a member: whatever they are, they are refused or a request, which is the same when it is
// written again, and lies in them.
#include <spindrift/group/client_messages.hpp>

#include <vector>

#include "fuzz.hpp"

using namespace spindrift;
using namespace spindrift::clients;
using spindrift::fuzz::expect;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto request = decode_request(bytes);
  if (!request) {
    static_cast<void>(request.error().to_string());
    return 0;
  }
  const auto ask = static_cast<std::uint32_t>(request->ask);
  expect(ask >= 1 && ask <= ask_last, "it asks for something known");
  expect(!request->subgroup.empty() && request->subgroup.size() <= subgroup_bytes_max, "a name has a bound");
  expect(has_method(request->ask) || request->arguments.empty(), "arguments are for methods");
  expect(request_bytes(*request) == size, "nothing is left over");
  std::vector<std::byte> again(size);
  encode(*request, again);
  expect(std::equal(again.begin(), again.end(), bytes.begin()), "a request survives its own encoding");
  return 0;
}
