// The description of a type that a participant announces, and bytes and JSON that are to be a sample of it: a type that is
// taken is the same when its description is read again, and a sample the same when it has gone through JSON.
#include "fuzz.hpp"

#include <spindrift/dds/dynamic_sample.hpp>
#include <spindrift/dds/portable_sample.hpp>
#include <spindrift/dds/type_idl.hpp>

using spindrift::fuzz::expect;
using namespace spindrift::topics;

namespace {

/// Maps have no order.
bool same(const SampleJson& one, const SampleJson& other) { return nlohmann::json(one) == nlohmann::json(other); }

void check_sample(const DynamicSample& sample) {
  const auto again = DynamicSample::from_bytes(sample.type(), sample.bytes());
  expect(again.ok() && again->key() == sample.key(), "bytes of a sample are a sample");
  const auto back = DynamicSample::from_json(sample.type(), sample.json());
  expect(back.ok(), "the JSON of a sample is a sample");
  expect(same(back->json(), sample.json()), "a sample survives being JSON");
  expect(DynamicSample::from_json(sample.type(), back->json())->bytes() == back->bytes(), "JSON has one form as bytes");
  const auto recorded = from_portable_bytes(sample.type(), portable_bytes(sample));
  expect(recorded.ok() && recorded->json() == sample.json(), "a sample survives being recorded");
  const auto key = portable_key(*sample.type(), portable_bytes(sample));
  expect(key.ok(), "a sample has a key");
  const auto of_key = from_portable_key(sample.type(), *key);
  expect(of_key.ok() && of_key->key() == sample.key(), "a key makes a sample of the same instance");
}

}  // namespace

// The input: the description, a zero, then the bytes or the JSON of a sample.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = spindrift::fuzz::as_text(data, size);
  const std::size_t end = std::min(input.find('\0'), input.size());
  const auto parsed = DynamicType::parse(input.substr(0, end));
  if (!parsed) {
    expect(!parsed.error().place().empty() && !parsed.error().fix().empty(), "an error has a place and a fix");
    return 0;
  }
  const std::string& full = parsed->named().empty() ? parsed->description() : parsed->named();
  expect(full == input.substr(0, end), "a type is described as it was");
  const std::uint64_t bytes = std::max(parsed->root().size, parsed->root().wire_bytes_min);
  if (bytes > 100'000) return 0;  // such samples take their time as JSON
  const auto type = std::make_shared<const DynamicType>(*parsed);
  const std::string_view rest = end < input.size() ? input.substr(end + 1) : std::string_view();
  expect(!idl_of(*type).name.empty(), "a type has a name in IDL");
  if (const auto sample = from_portable_bytes(type, std::as_bytes(std::span(rest)))) check_sample(*sample);
  if (const auto sample = from_portable_key(type, std::as_bytes(std::span(rest)))) check_sample(*sample);
  if (const auto sample = DynamicSample::from_bytes(type, std::as_bytes(std::span(rest)))) check_sample(*sample);
  const auto json = SampleJson::parse(rest, nullptr, false);
  if (json.is_discarded()) return 0;
  if (const auto sample = DynamicSample::from_json(type, json)) check_sample(*sample);
  return 0;
}
