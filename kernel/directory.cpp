// Lookups under way: from server to server by a search, in one table by a reader, one read at a time.
#include <spindrift/kernel/directory.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/kernel/meta_values.hpp>

namespace spindrift::kernel {

namespace {

constexpr std::size_t read_bytes_max = std::max(MetaCluster::bytes, MetaEntry::bytes);

}  // namespace

Directory::Directory(const Clock& clock, const DirectoryOptions& options)
    : clock_(clock),
      options_(options),
      completions_(options.lookups_max),
      buffers_(options.lookups_max * read_bytes_max),
      nodes_(options.nodes_max),
      leases_(options.records_max, options.lease),
      lookups_(options.lookups_max) {}

Directory::~Directory() = default;

Result<void> Directory::open(Pool& pool, std::vector<MetaServer> servers) {
  CHECK(pool_ == nullptr);
  auto keys = pool.register_memory(buffers_, fabric::Access::read);
  if (!keys) return std::move(keys).error();
  buffer_keys_ = *keys;
  pool_ = &pool;
  for (MetaServer& server : servers) {
    known_as_[server.metadata] = server.node;
    doors_.push_back({std::move(server), PairId{}});
    if (auto opened = open_door(doors_.back()); !opened) return opened;
  }
  return {};
}

Result<void> Directory::open_door(Door& door) {
  auto pair = pool_->create(completions_, {.once = false, .messages = false});
  if (!pair) return std::move(pair).error();
  door.pair = *pair;
  return pool_->connect(*pair, door.server.metadata, Port{});
}

const Metadata* Directory::find(NodeId node) {
  const MetadataCache::Known* const known = nodes_.find(node);
  return known == nullptr ? nullptr : &known->metadata;
}

void Directory::look_up(NodeId node) { ask_for({node, std::nullopt}); }

std::optional<Directory::Answer> Directory::take_answer() {
  if (answers_.empty()) return std::nullopt;
  const Answer first = answers_.front();
  answers_.pop_front();
  return first;
}

RemoteMemory::Verdict Directory::check(const Metadata& peer, std::uint64_t key, std::uint64_t address, std::size_t bytes,
                                       fabric::Access access) {
  // The tables themselves are what all else is looked up in.
  for (const Door& door : doors_) {
    if (door.server.key == key && door.server.metadata == peer) return Verdict::allowed;
  }
  const auto known = known_as_.find(peer);
  if (known == known_as_.end()) return Verdict::unknown;
  switch (leases_.check({known->second, key, address, bytes, access}, clock_.now())) {
    case MemoryLeases::Verdict::allowed: return Verdict::allowed;
    case MemoryLeases::Verdict::refused: return Verdict::refused;
    case MemoryLeases::Verdict::unknown: break;
  }
  const Subject subject{known->second, key};
  if (const auto none = absent_.find(subject); none != absent_.end()) {
    absent_.erase(none);
    return Verdict::refused;
  }
  ask_for(subject);
  return Verdict::unknown;
}

void Directory::on_lost(NodeId node) {
  static_cast<void>(nodes_.on_lost(node));
  leases_.on_lost(node);
  std::erase_if(absent_, [&](const Subject& subject) { return subject.node == node; });
  for (Answer& answer : answers_) {
    if (answer.node == node) answer.state = MetaSearch::State::unanswered;
  }
  std::erase_if(known_as_, [&](const auto& known) { return known.second == node; });
  for (auto& lookup : lookups_) {
    if (lookup && lookup->subject.node == node) lookup->lost = true;
  }
}

void Directory::ask_for(const Subject& subject) {
  const bool under_way = std::any_of(lookups_.begin(), lookups_.end(), [&](const auto& lookup) {
    return lookup && lookup->subject == subject && !lookup->lost;
  });
  if (!under_way && std::find(waiting_.begin(), waiting_.end(), subject) == waiting_.end()) waiting_.push_back(subject);
}

bool Directory::progress() {
  bool any = false;
  std::array<Completion, 16> completions;
  for (std::size_t count = completions_.take(completions); count > 0; count = completions_.take(completions)) {
    for (const Completion& completion : std::span(completions).first(count)) {
      const auto place = static_cast<std::uint32_t>(completion.context);
      Lookup& lookup = *lookups_[place];
      if (completion.status != Status::done) {
        answered(place, MetaAnswer::no_answer);
        continue;
      }
      lookup.step = lookup.reader->on_read(buffer(place).first(lookup.step.bytes));
      follow(place);
    }
    any = true;
  }
  for (const std::uint32_t place : std::exchange(unposted_, {})) post(place);
  for (std::uint32_t place = 0; place < lookups_.size() && !waiting_.empty(); ++place) {
    if (lookups_[place]) continue;
    begin(place);
    any = true;
  }
  return any;
}

void Directory::begin(std::uint32_t place) {
  std::vector<NodeId> order;
  for (const Door& door : doors_) order.push_back(door.server.node);
  const Subject subject = waiting_.front();
  waiting_.pop_front();
  lookups_[place].emplace(
      Lookup{subject, MetaSearch(std::move(order), subject.memory.has_value()), std::nullopt, {}, clock_.now()});
  ask_next_server(place);
}

void Directory::ask_next_server(std::uint32_t place) {
  Lookup& lookup = *lookups_[place];
  const auto server = lookup.search.server();
  if (!server) return finish(place);
  const auto door = std::find_if(doors_.begin(), doors_.end(), [&](const Door& d) { return d.server.node == *server; });
  const std::uint64_t key =
      lookup.subject.memory ? meta_key_of(lookup.subject.node, *lookup.subject.memory) : meta_key_of(lookup.subject.node);
  lookup.began = clock_.now();
  lookup.reader.emplace(door->server.geometry, key);
  lookup.step = lookup.reader->start();
  follow(place);
}

void Directory::follow(std::uint32_t place) {
  Lookup& lookup = *lookups_[place];
  switch (lookup.step.kind) {
    case MetaStep::Kind::read: return post(place);
    case MetaStep::Kind::found:
      return answered(place, take_in(lookup, lookup.step.value) ? MetaAnswer::found : MetaAnswer::no_answer);
    case MetaStep::Kind::absent: return answered(place, MetaAnswer::absent);
    case MetaStep::Kind::contended:
    case MetaStep::Kind::bad_table: return answered(place, MetaAnswer::no_answer);
  }
}

void Directory::post(std::uint32_t place) {
  const Lookup& lookup = *lookups_[place];
  const NodeId server = *lookup.search.server();
  const auto door = std::find_if(doors_.begin(), doors_.end(), [&](const Door& d) { return d.server.node == server; });
  const Request read{.kind = Request::Kind::read,
                     .signaled = true,
                     .context = place,
                     .local = buffer(place).first(lookup.step.bytes),
                     .local_memory = buffer_keys_,
                     .remote_address = door->server.address + lookup.step.offset,
                     .remote_key = door->server.key};
  const auto posted = pool_->post(door->pair, std::span(&read, 1));
  if (!posted) {
    pool_->close(door->pair);
    static_cast<void>(open_door(*door));  // if that fails, so does the next lookup's post, which tries again
    return answered(place, MetaAnswer::no_answer);
  }
  reads_ += *posted;
  if (*posted == 0) unposted_.push_back(place);
}

void Directory::answered(std::uint32_t place, MetaAnswer answer) {
  lookups_[place]->search.on_answer(answer);
  ask_next_server(place);
}

void Directory::finish(std::uint32_t place) {
  const Lookup lookup = *std::exchange(lookups_[place], std::nullopt);
  const MetaSearch::State state = lookup.lost ? MetaSearch::State::unanswered : lookup.search.state();
  if (!lookup.subject.memory) return answers_.push_back({lookup.subject.node, state});
  // Nobody may ever name it again: the next post hears that once, and the one after that asks anew.
  if (state != MetaSearch::State::absent) return;
  if (absent_.size() >= options_.records_max) absent_.erase(absent_.begin());  // nobody has come for it
  absent_.insert(lookup.subject);
  leases_.on_absent(lookup.subject.node, *lookup.subject.memory);
}

// Whether the value is of the form and the subject that were asked for.
bool Directory::take_in(const Lookup& lookup, const MetaValue& value) {
  if (lookup.lost) return true;
  const NodeId node = lookup.subject.node;
  if (lookup.subject.memory) {
    const auto record = decode_memory_record(value);
    return record && leases_.on_found(node, *lookup.subject.memory, *record, lookup.began, clock_.now());
  }
  const auto metadata = decode_metadata(value);
  if (!metadata) return false;
  static_cast<void>(nodes_.put(node, *metadata, PeerHandle{}));
  known_as_[*metadata] = node;
  return true;
}

std::span<std::byte> Directory::buffer(std::uint32_t place) noexcept {
  return std::span(buffers_).subspan(place * read_bytes_max, read_bytes_max);
}

}  // namespace spindrift::kernel
