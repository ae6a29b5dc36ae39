// A participant's membership, and what it tells and hears of endpoints.
#include <spindrift/dds/domain_core.hpp>

#include <algorithm>
#include <istream>
#include <iterator>
#include <ostream>

#include <spindrift/core/config/without_file.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/dds/endings.hpp>
#include <spindrift/dds/endpoint_word.hpp>

namespace spindrift::topics {
namespace {

constexpr std::uint8_t liveliness_max = 2;

constexpr const char* topic_prefix = "dds.";
/// The subgroup that is created or dropped for a participant that leaves, so that the view changes.
constexpr const char* handover_subgroup = "dds-handover";

const char* reliability_of(const SubgroupView& subgroup) {
  return subgroup.mode == DeliveryMode::ordered ? "RELIABLE" : "BEST_EFFORT";
}

/// The largest messages of which the least ring holds as many as it must.
constexpr std::uint64_t varying_bytes_max = (std::uint64_t{1} << 18) - 16;

}  // namespace

Profile topic_profile(std::uint64_t sample_bytes, std::uint64_t usual_bytes_max) {
  Profile profile;
  const std::uint64_t bytes = sample_bytes == 0 ? varying_bytes_max : sizeof(SampleEnvelope) + sample_bytes;
  if (bytes <= usual_bytes_max) return profile;
  profile.message_bytes_max = bytes;
  profile.ring_bytes = derived_ring_bytes(bytes);
  return profile;
}

void await_endings() { Endings::of_process().await(); }

std::string domain_group_name(std::uint32_t domain) { return "dds-" + std::to_string(domain); }

std::string topic_subgroup_name(const std::string& topic) {
  if (std::string name = topic_prefix + topic; valid_subgroup_name(name)) return name;
  std::string name = topic.substr(0, 40);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !valid_subgroup_name(std::string(1, c)); }, '_');
  return topic_prefix + name + "-" + digest_of(topic).to_string().substr(0, 16);
}

DomainCore::DomainCore(std::uint32_t domain, const EndpointQos& told, DomainWatch watch)
    : domain_(domain),
      listeners_(monitor_),
      timers_(monitor_),
      heart_([this] { assert_alive(own_.id, 0); }),
      own_{.kind = EndpointKind::participant, .topic = "of the domain", .qos = told},
      hubs_{.watch = std::move(watch)},
      histories_(monitor_, errands_, hubs_, [this] { announce_self(); }) {}

Config DomainCore::config(std::uint32_t domain, const std::string& file, const std::vector<ConfigOverride>& overrides) {
  return value_or_throw(file.empty() ? config_without_file(domain_group_name(domain), {endpoints_subgroup}, overrides)
                                     : Config::read(file, overrides));
}

std::shared_ptr<DomainCore> DomainCore::join(std::uint32_t domain, const EndpointQos& told, const Config& config,
                                             JoinAs as, DomainWatch watch) {
  // A listener may drop the last reference; its thread cannot wait for itself.
  const auto end = [](DomainCore* ending) {
    if (!ending->listeners_.is_current()) return delete ending;
    Endings::of_process().add(std::thread([ending] { delete ending; }));
  };
  std::shared_ptr<DomainCore> core(new DomainCore(domain, told, std::move(watch)), end);
  core->enter(config);
  if (as == JoinAs::participant) core->take_part();
  return core;
}

void DomainCore::enter(const Config& config) {
  GroupOptions options;
  options.on_view = [this](const NewView& news) { on_view(news); };
  options.on_created = [this](Subgroup& subgroup) {
    if (subgroup.name().starts_with(topic_prefix)) take_topic(subgroup);
  };
  group_ = std::make_unique<Group>(config, std::move(options));
  const View view = group_->view();
  const auto rank = view.rank_of(group_->self());
  {
    const std::lock_guard lock(monitor_.mutex);
    own_.id = {group_->self().value(), 0, rank ? view.incarnations.at(rank->value()) : 0};
  }
  if (view.in_layout(endpoints_subgroup) == nullptr) {
    throw Exception(
        Error(ErrorKind::bad_config, std::string("the layout has no subgroup ") + endpoints_subgroup)
            .at(config.name())
            .fix(std::string("add {\"name\": \"") + endpoints_subgroup + "\"} to it, with all nodes as members"));
  }
  for (const SubgroupView& each : view.of_layout()) {
    if (!each.topics.empty()) take_topic(group_->subgroup(each.name));
  }
  group_->on_failure([this](const Error& why) { on_failure(why); });
  Subgroup& endpoints = group_->subgroup(endpoints_subgroup);
  endpoints.on_state([this](std::ostream& to) { save(to); }, [this](std::istream& from) { load(from); });
  endpoints.on_delivery([this](std::span<const Delivery> batch) { on_endpoints(batch); });
  group_->loaded();
  listeners_.start(config.polling().calls_listeners ? ListenersOn::poller : ListenersOn::thread);
  timers_.start();
  errands_.start();
  endpoints_.start(value_or_throw(open_endpoints_directory(config)), group_->self());
}

void DomainCore::take_part() {
  const std::lock_guard lock(monitor_.mutex);
  histories_.begin(own_.id, endpoints_.table());
}

DomainCore::~DomainCore() { end(); }

void DomainCore::end() {
  listeners_.stop();
  timers_.stop();
  heart_.stop();
  try {
    if (group_) group_->leave(leave_patience, handover_subgroup);
  } catch (const Exception&) {  // its own end: it was logged
  }
  endpoints_.stop();
  errands_.stop();  // behind that: one may wait for room in a subgroup that others do not take
}

void DomainCore::take_topic(Subgroup& subgroup) {
  {
    const std::lock_guard lock(monitor_.mutex);
    histories_.add(subgroup);
    hubs_.holds.try_emplace(&subgroup, subgroup, errands_);
  }
  subgroup.on_delivery([this, &subgroup](std::span<const Delivery> batch) {
    if (on_samples(subgroup, batch) == ListenersOn::poller) listeners_.call_here();
  });
}

TopicHub& DomainCore::hub(const std::string& topic) { return hubs_.all[digest_of_topic(topic)]; }

void DomainCore::open_hub(const std::string& topic, Subgroup& subgroup) {
  TopicHub& opened = hub(topic);
  opened.come_by(subgroup);
  opened.hold_by(hubs_.holds.try_emplace(&subgroup, subgroup, errands_).first->second);
}

void DomainCore::end_later(const std::shared_ptr<WriterCore>& writer) {
  errands_.add([this, writer] {
    constexpr std::int64_t look_ns = 100'000'000;
    bool over = true;
    try {
      writer->end();
      over = writer->await_delivered(look_ns);
    } catch (const Exception& thrown) {
      over = thrown.error().kind() != ErrorKind::timed_out;
    }
    over ? retire(*writer) : end_later(writer);
  });
}

void DomainCore::retire(const WriterCore& writer) noexcept {
  withdraw(writer.facts().id);
  const std::lock_guard lock(monitor_.mutex);
  hub(writer.facts().topic).remove_writer(writer.facts().id);
}

Subgroup& DomainCore::topic_subgroup(const EndpointFacts& facts, const TypeSupport& type, bool logged) {
  const DeliveryMode mode = facts.qos.reliability == 0 ? DeliveryMode::unordered : DeliveryMode::ordered;
  const View view = group_->view();
  for (const SubgroupView& each : view.subgroups) {
    const bool listed = std::find(each.topics.begin(), each.topics.end(), facts.topic) != each.topics.end();
    if (!listed) continue;
    if (each.mode != mode) {
      throw Exception(Error(ErrorKind::refused, "the layout's subgroup " + each.name +
                                                    ", which carries it, is for topics that are " + reliability_of(each))
                          .at("topic " + facts.topic)
                          .fix("make the topic with that Reliability, or change the subgroup's mode in the layout"));
    }
    if (logged && each.storage != SubgroupStorage::logged) break;
    return group_->subgroup(each.name);
  }
  if (logged) {
    throw Exception(Error(ErrorKind::unsupported,
                          "PERSISTENT samples are kept in the journal of a logged subgroup, and no such one "
                          "carries the topic")
                        .at("topic " + facts.topic)
                        .fix("name the topic in the layout, in \"topics\" of a subgroup with \"storage\": \"logged\""));
  }
  AddedSubgroup added;
  added.name = topic_subgroup_name(facts.topic);
  added.mode = mode;
  added.profile = topic_profile(type.in_place_bytes, group_->subgroup(endpoints_subgroup).message_bytes_max());
  return group_->create_subgroup(added);
}

void DomainCore::ignore(const EndpointId& id) {
  const auto& all = endpoints_.table().all();
  const auto named = all.find(id);
  if (named != all.end() && named->second.kind == EndpointKind::topic)
    ignored_.add_topic(id.process(), named->second.topic);
  else
    ignored_.add(id);
  for (const auto& [other, facts] : all) {
    const bool matches = facts.kind == EndpointKind::writer || facts.kind == EndpointKind::reader;
    if (matches && ignored_.holds(facts)) hub(facts.topic).ignore(other);
  }
}

void DomainCore::beat_for(const EndpointId& writer, std::int64_t lease_ns) {
  heart_.add(writer, lease_ns);
  timers_.add(own_.id, [this](std::int64_t now_ns) { return heart_.check(now_ns); });
}
void DomainCore::beat_no_more_for(const EndpointId& writer) { heart_.remove(writer); }

void DomainCore::on_endpoints(std::span<const Delivery> batch) {
  const std::lock_guard lock(monitor_.mutex);
  for (const Delivery& each : batch) {
    endpoints_.on_message(each);
    on_endpoint_message(each);
  }
  endpoints_.look();
  timers_.look_again();
  monitor_.changed.notify_all();
  ProcessBell::of_process().ring();
}

namespace {
EndpointId get_id(ByteReader& from) {
  EndpointId id;
  id.node = from.get<std::uint32_t>();
  id.number = from.get<std::uint32_t>();
  id.incarnation = from.get<std::uint64_t>();
  return id;
}

/// Takes it out of the table, as gone. Nothing: it was not in it any more.
std::optional<EndpointFacts> forget(const EndpointId& id, EndpointTable& table, BuiltinReaders& readers) {
  auto facts = table.remove(id);
  if (facts) readers.on_gone(*facts);
  return facts;
}
}  // namespace

void DomainCore::on_endpoint_message(const Delivery& delivery) {
  ByteReader reader(delivery.payload);
  const auto word = reader.get<std::uint8_t>();
  if (word == static_cast<std::uint8_t>(EndpointWord::here)) {
    if (auto facts = get_endpoint(reader); facts && reader.ok() && facts->id.node == delivery.sender.value()) {
      auto refusal = endpoints_.table().add(*facts);
      if (!refusal) {
        builtin_readers_.on_told(*facts);
        if (facts->kind != EndpointKind::participant) hub(facts->topic).on_endpoint(*facts, ignored_.holds(*facts));
      }
      if (refusal) hub(facts->topic).on_inconsistent();
      if (facts->id.node == own_.id.node) outcomes_.emplace(facts->id, std::move(refusal));
      return;
    }
  } else if (word == static_cast<std::uint8_t>(EndpointWord::gone)) {
    const EndpointId id = get_id(reader);
    if (reader.ok() && id.node == delivery.sender.value()) {
      if (const auto facts = forget(id, endpoints_.table(), builtin_readers_)) hub(facts->topic).on_removed(*facts);
      return;
    }
  }
  if (word == static_cast<std::uint8_t>(EndpointWord::alive)) {
    const EndpointId id = get_id(reader);
    const auto liveliness = reader.get<std::uint8_t>();
    if (reader.complete() && id.node == delivery.sender.value() && liveliness <= liveliness_max)
      return hubs_.on_alive(id, liveliness);
  }
  log::warn(log::Room::dds, "a member says of endpoints what no participant says, and it was left out",
            {{"node", delivery.sender}});
}

ListenersOn DomainCore::on_samples(Subgroup& subgroup, std::span<const Delivery> batch) {
  const std::lock_guard lock(monitor_.mutex);
  const std::int64_t now_ns = wall_ns();
  std::vector<TopicHub*> spoken;  // the topics of which something came
  for (const Delivery& each : batch) {
    if (histories_.on_message(subgroup, each) || hubs_.on_mark(subgroup, each, own_.id)) continue;
    auto message = parse_sample(each.payload, each.sender.value());
    if (!message) {
      log::warn(log::Room::dds, "a message is no sample, and was left out", {{"node", each.sender}});
      continue;
    }
    const SampleEnvelope& header = message->header;
    TopicHub& hub = hubs_.of(header.topic, subgroup);
    if (std::ranges::find(spoken, &hub) == spoken.end()) spoken.push_back(&hub);
    message->version = each.version;
    if (hubs_.watch.on_message) hubs_.watch.on_message(subgroup, each, *message);
    hub.on_message(*message, now_ns);
    const bool gone = header.kind == static_cast<std::uint8_t>(SampleKind::gone);
    if (gone) forget(header.writer, endpoints_.table(), builtin_readers_);
    if (const auto lease = hub.lease_kind(header.writer)) hubs_.on_alive(header.writer, *lease);
  }
  // While the view changes nothing can be written without waiting, which listeners may on their thread alone.
  const ListenersOn on = subgroup.blocked().empty() ? listeners_.lend() : ListenersOn::thread;
  for (TopicHub* const each : spoken) each->end_batch();
  endpoints_.look();
  monitor_.changed.notify_all();
  return on;
}

void DomainCore::on_view(const NewView& news) {
  if (hubs_.watch.on_view) hubs_.watch.on_view(news);
  const std::lock_guard lock(monitor_.mutex);
  endpoints_.on_view(news.view);
  std::map<std::uint64_t, std::vector<EndpointFacts>> failed;
  for (EndpointFacts& each : endpoints_.table().retain(news.view)) {
    builtin_readers_.on_gone(each);
    failed[digest_of_topic(each.topic)].push_back(std::move(each));
  }
  for (auto& [topic, hub] : hubs_.all) {
    const auto hold = hubs_.holds.find(hub.home());
    const auto mark = [&] { return hold == hubs_.holds.end() ? 0 : hold->second.mark(own_.id); };
    hub.on_view({std::move(failed[topic]), mark});
  }
  histories_.on_view(news.view, endpoints_.table());
  endpoints_.look();
  monitor_.changed.notify_all();
  ProcessBell::of_process().ring();
}

void DomainCore::on_failure(const Error& why) {
  const std::lock_guard lock(monitor_.mutex);
  failure_ = why;
  endpoints_.on_failure();
  const std::string words = why.to_string();
  log::error(log::Room::dds, "this participant has ended, and with it its readers and writers", {{"reason", words}});
  for (auto& [topic, hub] : hubs_.all) hub.on_closed(words);
  monitor_.changed.notify_all();
  ProcessBell::of_process().ring();
}

void DomainCore::save(std::ostream& to) {
  ByteWriter writer;
  {
    const std::lock_guard lock(monitor_.mutex);
    writer.put(static_cast<std::uint64_t>(endpoints_.table().all().size()));
    for (const auto& [id, facts] : endpoints_.table().all()) put(writer, facts);
  }
  const std::vector<std::byte> bytes = writer.take();
  to.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

void DomainCore::load(std::istream& from) {
  const std::string bytes(std::istreambuf_iterator<char>(from), {});
  ByteReader reader(std::as_bytes(std::span(bytes)));
  const auto broken = [] {
    return Exception(Error(ErrorKind::bad_input, "what a participant sent of the domain is cut off, or none")
                         .at(std::string("the state of subgroup ") + endpoints_subgroup)
                         .fix("let all participants be of one release"));
  };
  const View view = group_->view();
  const std::lock_guard lock(monitor_.mutex);
  for (auto count = reader.get<std::uint64_t>(); count > 0; --count) {
    auto facts = get_endpoint(reader);
    if (!facts) throw broken();
    static_cast<void>(endpoints_.table().add(std::move(*facts)));
  }
  static_cast<void>(endpoints_.table().retain(view));
  endpoints_.look();
  for (const auto& [id, facts] : endpoints_.table().all()) {
    if (facts.kind != EndpointKind::participant) hub(facts.topic).on_endpoint(facts, false);
  }
  if (!reader.complete()) throw broken();
}

}  // namespace spindrift::topics
