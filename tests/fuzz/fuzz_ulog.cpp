// A flight recording of any bytes: what is valid is read, every sample lies inside of the file, damage is said.
#include <ulog.hpp>

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using spindrift::fuzz::expect;
  const auto input = std::as_bytes(std::span(data, size));
  const auto recording = spindrift::ulog::Recording::parse({input.begin(), input.end()}, "fuzz.ulg");
  if (!recording) {
    expect(recording.error().kind() == spindrift::ErrorKind::bad_input, "a file that is no recording is bad input");
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
  return 0;
}
