// The check of a message of samples.
#include <spindrift/dds/sample_message.hpp>

#include <cstring>

namespace spindrift::topics {

std::optional<SampleMessage> parse_sample(std::span<const std::byte> message, std::uint32_t sender) {
  if (message.size() < sizeof(SampleEnvelope)) return std::nullopt;
  SampleMessage parsed;
  std::memcpy(&parsed.header, message.data(), sizeof(SampleEnvelope));
  parsed.bytes = message.subspan(sizeof(SampleEnvelope));
  const SampleEnvelope& header = parsed.header;
  if (header.form != SampleEnvelope::current_form || header.writer.node != sender || header.writer.number == 0)
    return std::nullopt;
  if (header.kind > static_cast<std::uint8_t>(SampleKind::gone) || header.durability > 3 || header.lifespan_ns < 0)
    return std::nullopt;
  // A topic keeps something for late joiners if and only if it says how much.
  if ((header.durability == 0) != (header.depth == 0) || header.sequence == 0) return std::nullopt;
  return parsed;
}

}  // namespace spindrift::topics
