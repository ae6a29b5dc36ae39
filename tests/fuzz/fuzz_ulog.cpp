// A flight recording of any bytes: what is valid is read, every sample lies inside of the file, damage is said; a topic's
// format is a type or refused with a place and a fix, and then each of its samples is one of that type.
#include <map>

#include <spindrift/dds/dynamic_sample.hpp>

#include <ulog.hpp>
#include <ulog_type.hpp>

#include "fuzz.hpp"

namespace {

using spindrift::fuzz::expect;
using namespace spindrift;

void check_types(const ulog::Recording& recording) {
  constexpr std::size_t checked_max = 2000;  // each is taken apart, and there may be many
  std::map<std::uint16_t, ulog::SampleType> types;
  for (std::uint16_t topic = 0; topic < recording.topics().size(); ++topic) {
    auto type = ulog::SampleType::of(recording.formats(), recording.topics()[topic].name);
    if (!type) {
      const Error& why = type.error();
      expect(why.kind() == ErrorKind::bad_input, "a format that is no type is bad input");
      expect(!why.place().empty() && !why.fix().empty(), "a refusal has place and fix");
      continue;
    }
    types.emplace(topic, std::move(type).value());
  }
  std::vector<std::byte> bytes;
  for (const auto& sample : std::span(recording.samples()).first(std::min(checked_max, recording.samples().size()))) {
    const auto found = types.find(sample.topic);
    if (found == types.end()) continue;
    found->second.write(sample, bytes);
    expect(bytes.size() <= found->second.bytes_max(), "no sample is larger than the largest of its type");
    expect(topics::DynamicSample::from_bytes(found->second.type(), bytes).ok(), "a sample is one of its type");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  const auto recording = ulog::Recording::parse({input.begin(), input.end()}, "fuzz.ulg");
  if (!recording) {
    expect(recording.error().kind() == ErrorKind::bad_input, "a file that is no recording is bad input");
    return 0;
  }
  std::uint64_t bytes = 0;
  unsigned sum = 0;
  for (const auto& sample : recording->samples()) {
    expect(sample.topic < recording->topics().size(), "a sample is of a known topic");
    expect(sample.fields.size() <= recording->topics()[sample.topic].bytes_max, "no sample is larger than the largest");
    bytes += sample.fields.size();
    for (const std::byte byte : sample.fields) sum += std::to_integer<unsigned>(byte);  // the sanitizer looks here
  }
  std::uint64_t samples = 0;
  for (const auto& topic : recording->topics()) samples += topic.samples;
  expect(samples == recording->samples().size(), "the topics' counts add up");
  expect(bytes <= size && sum <= 255 * size, "samples do not overlap");
  check_types(*recording);
  return 0;
}
