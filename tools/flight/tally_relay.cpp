// Keeping, telling and taking up.
#include "flight/tally_relay.hpp"

#include <algorithm>
#include <utility>

namespace spindrift::tools {
namespace {

const std::shared_ptr<const topics::DynamicType>& tally_type() {
  static const auto type = std::make_shared<const topics::DynamicType>(
      value_or_throw(topics::DynamicType::parse(std::string(tally_topic) + "{view=u64,tally=string}")));
  return type;
}

}  // namespace

std::uint64_t tally_bytes_max(std::size_t topics) noexcept {
  constexpr std::uint64_t of_topic = 300;  // its name has up to 256 bytes in a layout, and most are short
  constexpr std::uint64_t around = 4096;
  return around + topics * of_topic;
}

topics::AnnouncedTopic announced_tally() {
  topics::AnnouncedTopic topic;
  topic.name = tally_topic;
  topic.type = tally_type();
  topic.description = topic.type->description();
  topic.qos.reliability = 1;
  return topic;
}

topics::DynamicSample sample_of(const TallyMessage& message) {
  topics::SampleJson json;
  json["view"] = message.view;
  json["tally"] = message.text;
  return value_or_throw(topics::DynamicSample::from_json(tally_type(), json));
}

std::optional<TallyMessage> tally_from(std::span<const std::byte> bytes) {
  const auto sample = topics::DynamicSample::from_bytes(tally_type(), bytes);
  if (!sample) return std::nullopt;
  const topics::SampleJson json = sample->json();
  return TallyMessage{json.at("view").get<std::uint64_t>(), json.at("tally").get<std::string>()};
}

std::optional<TallyMessage> TallyRelay::begin_view(const views::NewView& news) {
  const auto came = [&](NodeId node) { return std::ranges::find(news.joined, node) != news.joined.end(); };
  const auto flies = [&](NodeId node) { return parts_.view.rank_of(node).has_value(); };
  if (news.view.id == ViewId(0)) ready_ = true;
  if (!ready_) {
    kept_.emplace_back(news.view);
    return std::nullopt;
  }
  some_came_ = some_came_ || (news.view.id != ViewId(0) && std::ranges::any_of(news.joined, flies));
  const auto oldest = std::ranges::find_if(news.view.members, [&](NodeId node) { return flies(node) && !came(node); });
  std::optional<TallyMessage> told;
  if (some_came_ && oldest != news.view.members.end() && *oldest == self_) told = {news.view.id.value(), tally_.save_all()};
  tally_.begin_view(news.view);
  return told;
}

void TallyRelay::add(SubgroupId subgroup, const Delivery& delivery, std::optional<std::size_t> topic,
                     std::span<const std::byte> sample) {
  if (ready_) return tally_.add(subgroup, delivery, topic, sample);
  const auto before = static_cast<std::size_t>(sample.data() - delivery.payload.data());
  kept_.emplace_back(Kept{subgroup, delivery, topic, {delivery.payload.begin(), delivery.payload.end()}, before});
}

void TallyRelay::on_tally(const TallyMessage& message) {
  const auto is_it = [&](const auto& each) {
    const View* const view = std::get_if<View>(&each);
    return view != nullptr && view->id.value() == message.view;
  };
  const auto begin = std::ranges::find_if(kept_, is_it);
  if (ready_ || begin == kept_.end()) return;
  ready_ = true;
  tally_.begin_view(std::get<View>(*begin));
  tally_.load_all(message.text);
  for (auto each = begin + 1; each != kept_.end(); ++each) {
    if (const View* const view = std::get_if<View>(&*each)) {
      tally_.begin_view(*view);
      continue;
    }
    Kept& kept = std::get<Kept>(*each);
    kept.delivery.payload = kept.message;
    tally_.add(kept.subgroup, kept.delivery, kept.topic, std::span(kept.message).subspan(kept.sample_at));
  }
  kept_.clear();
}

}  // namespace spindrift::tools
