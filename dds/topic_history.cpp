// A topic's history: what is kept of each instance, and how two histories become one.
#include <spindrift/dds/topic_history.hpp>

#include <algorithm>
#include <random>

namespace spindrift::topics {

namespace {
constexpr std::uint8_t transient_local = 1;
}

// A peer that chooses keys does not know which of them fall together here.
std::size_t TopicHistory::PlaceHash::operator()(const Place& place) const noexcept {
  static const std::uint64_t seed = std::random_device()();
  const std::uint64_t mixed = (place.key.words[0] ^ place.key.words[1] ^ place.writer.number ^ seed) * 0x9e3779b97f4a7c15;
  return mixed ^ (mixed >> 32U);
}

TopicHistory::Place TopicHistory::place_of(const SampleEnvelope& header) {
  return {header.durability == transient_local ? header.writer : EndpointId{}, header.key};
}

void TopicHistory::keep(KeptSample sample) {
  const std::size_t depth = sample.header.depth;
  if (depth == 0) return;
  auto& of_instance = kept_[place_of(sample.header)];
  while (of_instance.size() > depth) of_instance.pop_front();
  if (of_instance.size() < depth) {
    of_instance.emplace_back(next_++, std::move(sample));
    return;
  }
  of_instance.splice(of_instance.end(), of_instance, of_instance.begin());  // the oldest one's memory
  of_instance.back() = {next_++, std::move(sample)};
}

void TopicHistory::add(const SampleEnvelope& header, std::span<const std::byte> bytes) {
  const bool leaves = header.kind == static_cast<std::uint8_t>(SampleKind::unregister);
  if (header.depth == 0 || leaves) return;
  keep({header, std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end())});
}

void TopicHistory::on_gone(const EndpointId& writer) {
  std::erase_if(kept_, [&](const auto& each) { return each.first.writer == writer; });
}

void TopicHistory::load(TopicHistory before) {
  std::vector<KeptSample> since = take();
  *this = std::move(before);
  for (KeptSample& each : since) keep(std::move(each));
}

std::vector<KeptSample> TopicHistory::take() {
  std::vector<KeptSample> taken = all();
  kept_.clear();
  return taken;
}

std::vector<KeptSample> TopicHistory::all() const {
  std::vector<const Placed*> in_order;
  for (const auto& [place, samples] : kept_) {
    for (const Placed& each : samples) in_order.push_back(&each);
  }
  std::ranges::sort(in_order, {}, [](const Placed* each) { return each->first; });
  std::vector<KeptSample> all;
  all.reserve(in_order.size());
  for (const Placed* const each : in_order) all.push_back(each->second);
  return all;
}

}  // namespace spindrift::topics
