// A topic's history: what is kept of each instance, and how two histories become one.
#include <spindrift/dds/topic_history.hpp>

#include <algorithm>

namespace spindrift::topics {

namespace {
constexpr std::uint8_t transient_local = 1;
}

TopicHistory::Place TopicHistory::place_of(const SampleEnvelope& header) {
  return {header.durability == transient_local ? header.writer : EndpointId{}, header.key};
}

void TopicHistory::keep(KeptSample sample) {
  auto& of_instance = kept_[place_of(sample.header)];
  const std::size_t depth = sample.header.depth;
  of_instance.emplace_back(next_++, std::move(sample));
  while (of_instance.size() > depth) of_instance.pop_front();
}

void TopicHistory::add(const SampleEnvelope& header, std::span<const std::byte> bytes) {
  const bool leaves = header.kind == static_cast<std::uint8_t>(SampleKind::unregister);
  if (header.depth == 0 || leaves) return;
  keep({header, std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end())});
}

void TopicHistory::on_gone(const EndpointId& writer) {
  std::erase_if(kept_, [&](const auto& each) { return each.first.writer == writer; });
}

void TopicHistory::load(std::vector<KeptSample> before) {
  std::vector<KeptSample> since = take();
  for (KeptSample& each : before) keep(std::move(each));
  for (KeptSample& each : since) keep(std::move(each));
}

std::vector<KeptSample> TopicHistory::take() {
  std::vector<KeptSample> taken = all();
  kept_.clear();
  return taken;
}

std::vector<KeptSample> TopicHistory::all() const {
  std::map<std::uint64_t, const KeptSample*> in_order;
  for (const auto& [place, samples] : kept_) {
    for (const auto& [at, sample] : samples) in_order.emplace(at, &sample);
  }
  std::vector<KeptSample> all;
  all.reserve(in_order.size());
  for (const auto& [at, sample] : in_order) all.push_back(*sample);
  return all;
}

}  // namespace spindrift::topics
