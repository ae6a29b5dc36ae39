// The file in which a member shows its domain's endpoints, which a broken disk or another program of the user may have
// written: what is taken for one is one, and the same when it is written and read again.
#include "fuzz.hpp"

#include <spindrift/dds/endpoints_file.hpp>

using spindrift::fuzz::expect;
using namespace spindrift::topics;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto shown = parse_endpoints(std::as_bytes(std::span(data, size)));
  if (!shown) {
    expect(!shown.error().fix().empty(), "an error has a fix");
    return 0;
  }
  for (const auto& [id, facts] : shown->endpoints) {
    expect(id == facts.id, "an endpoint is found by its id");
    expect(!facts.topic.empty() && facts.topic.size() <= topic_name_bytes_max, "the name of a topic has a bound");
  }
  const auto again = parse_endpoints(bytes_of(*shown));
  expect(again.ok() && *again == *shown, "a domain survives being written and read");
  return 0;
}
