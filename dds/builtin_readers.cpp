// News of endpoints as samples of built-in topics.
#include <spindrift/dds/builtin_readers.hpp>

#include <spindrift/dds/builtin_topics.hpp>

namespace spindrift::topics {

void BuiltinReaders::add(const std::shared_ptr<ReaderCore>& reader, const EndpointTable& table) {
  readers_.emplace(reader->facts().id, reader);
  for (const auto& [id, facts] : table.all()) {
    if (reader->facts().topic == builtin_topic_name(facts.kind)) tell(*reader, facts, SampleKind::data);
  }
}

void BuiltinReaders::on_told(const EndpointFacts& facts) { tell_all(facts, SampleKind::data); }
void BuiltinReaders::on_gone(const EndpointFacts& facts) { tell_all(facts, SampleKind::both); }

void BuiltinReaders::tell_all(const EndpointFacts& facts, SampleKind kind) {
  for (const auto& [id, reader] : readers_) {
    if (reader->facts().topic == builtin_topic_name(facts.kind)) tell(*reader, facts, kind);
  }
}

void BuiltinReaders::tell(ReaderCore& reader, const EndpointFacts& facts, SampleKind kind) {
  SampleEnvelope header;
  header.writer = facts.id.process();
  header.source_timestamp = wall_ns();
  header.key = facts.id.name();
  header.kind = static_cast<std::uint8_t>(kind);
  reader.on_news(header, kind == SampleKind::data ? builtin_sample(facts) : nullptr);
}

}  // namespace spindrift::topics
