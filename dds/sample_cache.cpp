// A reader's cache: how samples come in, what makes room for them, and which are handed out with which states.
#include <spindrift/dds/sample_cache.hpp>

#include <algorithm>
#include <iterator>

namespace spindrift::topics {
namespace {

constexpr std::size_t spare_max = 1024;

/// When it expires, without an overflow.
std::int64_t expiry(const SampleEnvelope& header) {
  return header.lifespan_ns >= endless - std::max<std::int64_t>(header.source_timestamp, 0)
             ? endless
             : header.source_timestamp + header.lifespan_ns;
}

}  // namespace

SampleCache::~SampleCache() {
  instances_.clear();
  stored_.clear_and_dispose(std::default_delete<Stored>());
  spare_.clear_and_dispose(std::default_delete<Stored>());
}

SampleCache::Outcome SampleCache::add(const SampleEnvelope& header, std::shared_ptr<const void> data, std::int32_t strength,
                                      std::int64_t now_ns) {
  const auto kind = static_cast<SampleKind>(header.kind);
  auto found = instances_.find(header.key.words);
  if (kind != SampleKind::data) {
    if (found == instances_.end()) return Outcome::unknown;
    return change(found->second, header, kind, now_ns);
  }
  if (expiry(header) <= now_ns) return Outcome::unwanted;
  if (found == instances_.end()) {
    if (rules_.instances_max > 0 && instances_.size() >= rules_.instances_max) return Outcome::too_many_instances;
    found = instances_.emplace(header.key.words, Instance{}).first;
  }
  Instance& instance = found->second;
  if (!wanted(instance, header, strength)) return Outcome::unwanted;
  const Outcome room = make_room(instance);
  if (room == Outcome::no_room) {
    if (instance.samples.empty() && instance.writers.empty()) instances_.erase(found);
    return room;
  }
  revive(instance);
  instance.writers.insert(header.writer);
  instance.last_source = header.source_timestamp;
  if (!instance.key) instance.key = data;
  store(instance, header, std::move(data));
  return room;
}

bool SampleCache::wanted(Instance& instance, const SampleEnvelope& header, std::int32_t strength) const {
  if (rules_.exclusive) {
    // The strongest owns the instance; of equally strong ones the first by its id, so that all readers agree.
    const auto stronger = [](const auto& some, const auto& other) {
      return some.first != other.first ? some.first > other.first : some.second < other.second;
    };
    const std::pair here{strength, header.writer};
    if (instance.owner && instance.owner->second != header.writer && !stronger(here, *instance.owner)) return false;
    instance.owner = here;
  }
  if (rules_.separation_ns > 0 && instance.last_source &&
      header.source_timestamp - *instance.last_source < rules_.separation_ns) {
    return false;
  }
  // In the order of the sources, what is older than all that a history of the last ones holds would be dropped at once.
  return !(rules_.by_source && rules_.depth > 0 && instance.samples.size() >= rules_.depth &&
           header.source_timestamp < instance.samples.front().sample.source_timestamp);
}

SampleCache::Outcome SampleCache::make_room(Instance& instance) {
  Outcome outcome = Outcome::stored;
  while (rules_.depth > 0 && instance.samples.size() >= rules_.depth) {
    Stored& going = instance.samples.front();
    if (going.sample.sample_state == sample_not_read && going.sample.data) outcome = Outcome::overwrote;
    drop(going);
  }
  if (rules_.waits) return outcome;
  const bool instance_full = rules_.instance_samples_max > 0 && instance.samples.size() >= rules_.instance_samples_max;
  const bool all_full = rules_.samples_max > 0 && stored_.size() >= rules_.samples_max;
  return instance_full || all_full ? Outcome::no_room : outcome;
}

void SampleCache::revive(Instance& instance) {
  if (instance.state == instance_alive) return;
  ++(instance.state == instance_disposed ? instance.disposed_generation : instance.no_writers_generation);
  instance.state = instance_alive;
  instance.view_state = view_new;
}

SampleCache::Outcome SampleCache::store(Instance& instance, const SampleEnvelope& header, std::shared_ptr<const void> data) {
  auto made = spare_.empty() ? std::make_unique<Stored>() : std::unique_ptr<Stored>(&spare_.front());
  if (!spare_.empty()) spare_.pop_front();
  made->sample = {.data = std::move(data),
                  .instance = header.key,
                  .writer = header.writer,
                  .source_timestamp = header.source_timestamp,
                  .disposed_generation = instance.disposed_generation,
                  .no_writers_generation = instance.no_writers_generation};
  made->instance = &instance;
  made->expires_ns = expiry(header);
  instance.samples.insert(place_in(instance.samples, header.source_timestamp), *made);
  stored_.insert(place_in(stored_, header.source_timestamp), *made);
  made.release();  // the chain has it now
  return Outcome::stored;
}

template <class Chain>
typename Chain::iterator SampleCache::place_in(Chain& chain, std::int64_t source_timestamp) const {
  auto place = chain.end();
  if (!rules_.by_source) return place;
  while (place != chain.begin() && std::prev(place)->sample.source_timestamp > source_timestamp) --place;
  return place;
}

SampleCache::Outcome SampleCache::change(Instance& instance, const SampleEnvelope& header, SampleKind kind,
                                         std::int64_t now_ns) {
  const std::uint32_t before = instance.state;
  const bool owns = !rules_.exclusive || !instance.owner || instance.owner->second == header.writer;
  const bool disposes = kind == SampleKind::dispose || kind == SampleKind::both;
  if (disposes && owns) instance.state = instance_disposed;
  if (kind == SampleKind::unregister || kind == SampleKind::both) {
    instance.writers.erase(header.writer);
    if (owns) instance.owner.reset();
    if (instance.writers.empty() && instance.state == instance_alive) instance.state = instance_no_writers;
  } else if (owns) {
    instance.writers.insert(header.writer);
  }
  if (instance.state == before) {
    forget_if_done(header.key);
    return Outcome::unwanted;
  }
  instance.ended_ns = now_ns;
  SampleEnvelope news = header;  // it does not expire, and is the last of its instance
  news.lifespan_ns = endless;
  if (instance.last_source) news.source_timestamp = std::max(news.source_timestamp, *instance.last_source);
  return store(instance, news, nullptr);
}

bool SampleCache::on_gone(const EndpointId& writer, std::int64_t now_ns) {
  bool changed = false;
  std::vector<Digest> touched;
  for (auto& [key, instance] : instances_) {
    if (instance.writers.contains(writer)) touched.push_back(Digest{key});
  }
  for (const Digest& key : touched) {
    SampleEnvelope header;
    header.key = key;
    header.writer = writer;
    changed = change(instances_.at(key.words), header, SampleKind::unregister, now_ns) == Outcome::stored || changed;
  }
  return changed;
}

bool SampleCache::selects(const SampleSelection& which, const Stored& stored, std::int64_t now_ns) {
  const ReadSample& sample = stored.sample;
  const Instance& instance = *stored.instance;
  if (stored.expires_ns <= now_ns || (sample.sample_state & which.sample_states) == 0) return false;
  if ((instance.view_state & which.view_states) == 0 || (instance.state & which.instance_states) == 0) return false;
  if (which.instance && !(*which.instance == sample.instance)) return false;
  return !which.matches || (sample.data && which.matches(sample.data.get()));
}

bool SampleCache::any(const SampleSelection& which, std::int64_t now_ns) const {
  return std::ranges::any_of(stored_, [&](const Stored& each) { return selects(which, each, now_ns); });
}

std::optional<Digest> SampleCache::next_instance(const SampleSelection& which, std::int64_t now_ns) const {
  for (auto each = which.behind ? instances_.upper_bound(which.behind->words) : instances_.begin(); each != instances_.end();
       ++each) {
    const bool any = std::ranges::any_of(each->second.samples, [&](const Stored& of) { return selects(which, of, now_ns); });
    if (any) return Digest{each->first};
  }
  return std::nullopt;
}

std::vector<ReadSample> SampleCache::get(const SampleSelection& asked, bool take, std::int64_t now_ns) {
  SampleSelection which = asked;
  if (which.behind || which.from_first) {
    which.instance = next_instance(which, now_ns);
    if (!which.instance) return {};
  }
  const Found found = find(which, now_ns);
  std::vector<ReadSample> samples;
  samples.reserve(found.asked.size());
  for (Stored* const each : found.asked) {
    ReadSample& sample = samples.emplace_back(take ? std::move(each->sample) : each->sample);
    sample.view_state = each->instance->view_state;
    sample.instance_state = each->instance->state;
    each->sample.sample_state = sample_read;
  }
  rank(samples, found.asked);
  for (const Stored* const each : found.asked) each->instance->view_state = view_not_new;
  const auto let_go = [&](Stored& stored) {
    const Digest key = stored.sample.instance;
    drop(stored);
    forget_if_done(key);
  };
  for (std::size_t i = 0; take && i < found.asked.size(); ++i) let_go(*found.asked[i]);
  for (Stored* const each : found.expired) let_go(*each);
  return samples;
}

SampleCache::Found SampleCache::find(const SampleSelection& which, std::int64_t now_ns) {
  Found found;
  found.asked.reserve(std::min(which.most, stored_.size()));
  for (Stored& each : stored_) {
    if (each.expires_ns <= now_ns) found.expired.push_back(&each);
    if (found.asked.size() >= which.most) break;
    if (selects(which, each, now_ns)) found.asked.push_back(&each);
  }
  return found;
}

void SampleCache::rank(std::vector<ReadSample>& samples, const std::vector<Stored*>& stored) {
  struct Last {
    std::uint32_t behind = 0;
    std::uint32_t generation = 0;
  };
  const auto generation = [](const auto& of) { return of.disposed_generation + of.no_writers_generation; };
  std::map<const Instance*, Last> last;
  auto of_instance = last.end();
  for (std::size_t i = samples.size(); i-- > 0;) {
    ReadSample& each = samples[i];
    const Instance* const instance = stored[i]->instance;
    if (of_instance == last.end() || of_instance->first != instance)
      of_instance = last.try_emplace(instance, Last{0, generation(each)}).first;
    each.sample_rank = of_instance->second.behind++;
    each.generation_rank = of_instance->second.generation - generation(each);
    each.absolute_generation_rank = generation(*instance) - generation(each);
  }
}

void SampleCache::drop(Stored& stored) {
  stored.instance->samples.erase(stored.instance->samples.iterator_to(stored));
  stored_.erase(stored_.iterator_to(stored));
  if (spare_.size() >= spare_max) return std::default_delete<Stored>()(&stored);
  stored.sample.data.reset();
  spare_.push_front(stored);
}

// An instance that nobody writes and of which nothing is left would stay for ever.
void SampleCache::forget_if_done(const Digest& key) {
  const auto found = instances_.find(key.words);
  if (found == instances_.end()) return;
  const Instance& instance = found->second;
  if (instance.state != instance_alive && instance.samples.empty() && instance.writers.empty()) instances_.erase(found);
}

void SampleCache::change_lifecycle(std::int64_t no_writers_ns_max, std::int64_t disposed_ns_max) noexcept {
  rules_.no_writers_ns_max = no_writers_ns_max;
  rules_.disposed_ns_max = disposed_ns_max;
}

std::int64_t SampleCache::purge(std::int64_t now_ns) {
  const auto behind = [&](std::int64_t from, std::int64_t length) {
    return length < endless - from ? from + length : endless;
  };
  // Whatever ends meanwhile is due later.
  std::int64_t next = behind(now_ns, std::min(rules_.no_writers_ns_max, rules_.disposed_ns_max));
  if (next == endless) return next;
  std::vector<Digest> over;
  for (const auto& [key, instance] : instances_) {
    if (instance.state == instance_alive) continue;
    const std::int64_t due =
        behind(instance.ended_ns, instance.state == instance_disposed ? rules_.disposed_ns_max : rules_.no_writers_ns_max);
    if (due <= now_ns)
      over.push_back(Digest{key});
    else
      next = std::min(next, due);
  }
  for (const Digest& key : over) {
    Instance& instance = instances_.at(key.words);
    while (!instance.samples.empty()) drop(instance.samples.front());
    forget_if_done(key);
  }
  return next;
}

std::vector<Digest> SampleCache::alive() const {
  std::vector<Digest> keys;
  for (const auto& [key, instance] : instances_) {
    if (instance.state == instance_alive) keys.push_back(Digest{key});
  }
  return keys;
}

bool SampleCache::full() const {
  if (!rules_.waits) return false;
  if (rules_.samples_max > 0 && stored_.size() >= rules_.samples_max) return true;
  return rules_.instance_samples_max > 0 && std::any_of(instances_.begin(), instances_.end(), [&](const auto& each) {
           return each.second.samples.size() >= rules_.instance_samples_max;
         });
}

std::shared_ptr<const void> SampleCache::key_value(const Digest& instance) const {
  const auto found = instances_.find(instance.words);
  return found == instances_.end() ? nullptr : found->second.key;
}

}  // namespace spindrift::topics
