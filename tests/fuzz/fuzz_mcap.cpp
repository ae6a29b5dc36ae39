// A recording of any bytes: what is whole is read, every message lies inside of the file and is of a channel that came, and
// damage and a cut are said with their places.
#include <mcap/reader.hpp>

#include <algorithm>
#include <cstring>

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using spindrift::fuzz::expect;
  const auto input = std::as_bytes(std::span(data, size));
  const auto source = [&](std::uint64_t offset, std::span<std::byte> into) -> spindrift::Result<std::size_t> {
    expect(offset <= input.size() && into.size() <= input.size() - offset, "nothing is read beyond the end");
    std::copy_n(input.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
    return into.size();
  };
  auto reader = spindrift::mcap::McapReader::over(source, size, "fuzz.mcap");
  if (!reader) return 0;
  std::uint64_t bytes = 0;
  unsigned sum = 0;
  for (;;) {
    const auto message = reader->next();
    if (!message) {
      expect(!message.error().place().empty() && !message.error().fix().empty(), "an error has a place and a fix");
      return 0;
    }
    if (!*message) break;
    const auto channel = reader->channels().find((*message)->channel_id);
    expect(channel != reader->channels().end(), "a message is of a channel that came");
    expect(channel->second.schema_id == 0 || reader->schemas().contains(channel->second.schema_id), "of a schema that came");
    bytes += (*message)->data.size();
    for (const std::byte byte : (*message)->data) sum += std::to_integer<unsigned>(byte);  // the sanitizer looks here
  }
  expect(bytes <= size && sum <= 255 * size, "messages do not overlap");
  expect(!reader->cut() || !reader->cut()->place().empty(), "a cut has a place");
  return 0;
}
