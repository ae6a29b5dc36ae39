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
// As many again as lookups, for reads of which nobody waits for the end.
constexpr std::uint32_t buffers_per_lookup = 2;

}  // namespace

Directory::Directory(const Clock& clock, const DirectoryOptions& options)
    : clock_(clock),
      options_(options),
      completions_(options.lookups_max * buffers_per_lookup),
      buffers_(options.lookups_max * buffers_per_lookup, read_bytes_max),
      nodes_(options.nodes_max),
      leases_(options.records_max, options.lease),
      lookups_(options.lookups_max) {}

Result<void> Directory::open(Pool& pool, std::vector<MetaServer> servers) {
  CHECK(pool_ == nullptr);
  SPINDRIFT_TRY(buffers_.register_with(pool));
  pool_ = &pool;
  for (MetaServer& server : servers) admit(std::move(server));
  return {};
}

void Directory::admit(MetaServer server) {
  dismiss(server.node);
  known_as_[server.metadata] = server.node;
  const auto place_of = [this](NodeId node) {
    return std::find(options_.order.begin(), options_.order.end(), node) - options_.order.begin();
  };
  const auto behind = std::find_if(links_.begin(), links_.end(), [&](const ServerLink& link) {
    return place_of(link.server.node) > place_of(server.node);
  });
  links_.insert(behind, ServerLink{std::move(server), PairId{}});
}

void Directory::dismiss(NodeId server) {
  const auto at =
      std::find_if(links_.begin(), links_.end(), [&](const ServerLink& link) { return link.server.node == server; });
  if (at == links_.end()) return;
  const PairId pair = at->pair;
  links_.erase(at);
  disconnect(pair, server);
  // Nor does a read that found no room yet go to another start of it.
  for (std::uint32_t place = 0; place < lookups_.size(); ++place) {
    if (lookups_[place] && lookups_[place]->server == server) answered(place, MetaAnswer::no_answer);
  }
}

bool Directory::has_servers() const noexcept {
  return std::any_of(links_.begin(), links_.end(),
                     [now = clock_.now()](const ServerLink& link) { return !link.faulty && now >= link.silent_until; });
}

Directory::ServerLink* Directory::link_of(NodeId server) noexcept {
  const auto at =
      std::find_if(links_.begin(), links_.end(), [&](const ServerLink& link) { return link.server.node == server; });
  return at == links_.end() ? nullptr : &*at;
}

bool Directory::connect(ServerLink& link) {
  if (link.pair != PairId{} && !pool_->failure(link.pair)) return true;
  if (link.pair != PairId{}) disconnect(std::exchange(link.pair, {}), link.server.node);
  auto pair = pool_->create(completions_, {.once = false, .messages = false});
  if (!pair) return false;
  if (pool_->connect(*pair, link.server.metadata, Port{})) {
    link.pair = *pair;
  } else {
    pool_->close(*pair);
  }
  return link.pair != PairId{};
}

// A lookup that reads over this pair gets no answer, and the reads that are under way may still write where they were to.
void Directory::disconnect(PairId pair, NodeId server) {
  if (pair == PairId{}) return;
  pool_->close(pair);
  std::vector<std::uint32_t> unanswered;
  for (std::uint32_t place = 0; place < lookups_.size(); ++place) {
    auto& lookup = lookups_[place];
    if (!lookup || lookup->server != server || lookup->read == 0) continue;
    buffers_.park(*std::exchange(lookup->buffer, std::nullopt), pair);
    lookup->read = 0;
    unanswered.push_back(place);
  }
  for (const std::uint32_t place : unanswered) answered(place, MetaAnswer::no_answer);
}

RemoteMemory::Verdict Directory::check(const Metadata& peer, std::uint64_t key, std::uint64_t address, std::size_t bytes,
                                       fabric::Access access) {
  // The tables themselves are what all else is looked up in.
  for (const ServerLink& link : links_) {
    if (link.server.key == key && link.server.metadata == peer) return Verdict::allowed;
  }
  const auto known = known_as_.find(peer);
  if (known == known_as_.end()) return Verdict::unknown;
  const Verdict leased = leases_.check({known->second, key, address, bytes, access}, clock_.now());
  if (leased != Verdict::unknown) return leased;
  const Subject subject{known->second, key};
  if (const auto none = absent_.find(subject); none != absent_.end()) {
    absent_.erase(none);
    return Verdict::refused;
  }
  ask_for(subject);
  return Verdict::unknown;
}

void Directory::on_lost(NodeId node) {
  nodes_.erase(node);
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
      const auto place = static_cast<std::uint32_t>(completion.context % lookups_.size());
      auto& lookup = lookups_[place];
      if (!lookup || lookup->read != completion.context) continue;  // nobody waits for it any more
      lookup->read = 0;
      if (completion.status != OperationStatus::done) {
        answered(place, MetaAnswer::no_answer);
        continue;
      }
      lookup->step = lookup->reader->on_read(buffers_.bytes_of(*lookup->buffer).first(lookup->step.bytes));
      follow(place);
    }
    any = true;
  }
  buffers_.take_parked(*pool_);
  end_silence();
  for (std::uint32_t place = 0; place < lookups_.size(); ++place) {
    if (lookups_[place] && lookups_[place]->read == 0) post(place);
    if (lookups_[place] || waiting_.empty()) continue;
    begin(place);
    any = true;
  }
  return any;
}

bool Directory::is_due() const noexcept {
  const auto has_place = [](const auto& lookup) { return !lookup; };
  return !answers_.empty() || (!waiting_.empty() && std::any_of(lookups_.begin(), lookups_.end(), has_place));
}

Time Directory::deadline() const noexcept {
  Time first = never;
  for (const auto& lookup : lookups_) {
    if (lookup) first = std::min(first, lookup->began + options_.answer_max);
  }
  return first;
}

// A server that stands still, or a network that loses everything, is known by this alone.
void Directory::end_silence() {
  const Time now = clock_.now();
  for (auto& lookup : lookups_) {
    if (!lookup || now - lookup->began < options_.answer_max) continue;
    ++silences_;
    ServerLink* const link = link_of(lookup->server);
    CHECK(link != nullptr);  // nobody waits for one that was dismissed
    link->silent_until = now + options_.silent_for;
    const auto place = static_cast<std::uint32_t>(&lookup - lookups_.data());
    if (lookup->read == 0) {
      answered(place, MetaAnswer::no_answer);  // it never found room for its read
    } else {
      disconnect(std::exchange(link->pair, {}), link->server.node);
    }
  }
}

void Directory::begin(std::uint32_t place) {
  std::vector<NodeId> order;
  for (const ServerLink& link : links_) order.push_back(link.server.node);
  const Subject subject = waiting_.front();
  waiting_.pop_front();
  lookups_[place].emplace(
      Lookup{.subject = subject, .search = MetaSearch(std::move(order), subject.memory.has_value()), .began = clock_.now()});
  ask_next_server(place);
}

void Directory::ask_next_server(std::uint32_t place) {
  Lookup& lookup = *lookups_[place];
  const Time now = clock_.now();
  for (auto server = lookup.search.server(); server; server = lookup.search.server()) {
    const ServerLink* const link = link_of(*server);
    if (link == nullptr || link->faulty || now < link->silent_until) {
      lookup.search.on_answer(MetaAnswer::no_answer);
      continue;
    }
    const Subject& subject = lookup.subject;
    lookup.server = *server;
    lookup.began = now;
    lookup.reader.emplace(link->server.geometry,
                          subject.memory ? meta_key_of(subject.node, *subject.memory) : meta_key_of(subject.node));
    lookup.step = lookup.reader->start();
    return follow(place);
  }
  finish(place);
}

void Directory::follow(std::uint32_t place) {
  const MetaStep& step = lookups_[place]->step;
  switch (step.kind) {
    case MetaStep::Kind::read: return post(place);
    case MetaStep::Kind::found: return take_in(place, step.value);
    case MetaStep::Kind::absent: return answered(place, MetaAnswer::absent);
    case MetaStep::Kind::contended: return answered(place, MetaAnswer::no_answer);
    case MetaStep::Kind::bad_table: return on_fault(place, step.fault);
  }
}

// A read that finds no room is posted by a later `progress`.
void Directory::post(std::uint32_t place) {
  Lookup& lookup = *lookups_[place];
  ServerLink* const link = link_of(lookup.server);
  if (link == nullptr || !connect(*link)) return answered(place, MetaAnswer::no_answer);
  if (!lookup.buffer) lookup.buffer = buffers_.take();
  if (!lookup.buffer) return;
  const std::uint64_t context = (reads_ + 1) * lookups_.size() + place;
  const Request read{.kind = Request::Kind::read,
                     .signaled = true,
                     .context = context,
                     .local = buffers_.bytes_of(*lookup.buffer).first(lookup.step.bytes),
                     .local_memory = buffers_.keys(),
                     .remote_address = link->server.address + lookup.step.offset,
                     .remote_key = link->server.key};
  const auto posted = pool_->post(link->pair, std::span(&read, 1));
  if (!posted) return answered(place, MetaAnswer::no_answer);
  reads_ += *posted;
  if (*posted == 1) lookup.read = context;
}

void Directory::answered(std::uint32_t place, MetaAnswer answer) {
  lookups_[place]->search.on_answer(answer);
  ask_next_server(place);
}

// The words of a faulty server are no answer to anybody, so others that wait for it need not hear of it now.
void Directory::on_fault(std::uint32_t place, std::string_view what) {
  const Lookup& lookup = *lookups_[place];
  if (ServerLink* const link = link_of(lookup.server); link != nullptr) link->faulty = true;
  faults_.push_back({lookup.server, lookup.subject.node, what});
  answered(place, MetaAnswer::no_answer);
}

void Directory::finish(std::uint32_t place) {
  const Lookup lookup = *std::exchange(lookups_[place], std::nullopt);
  if (lookup.buffer) buffers_.give_back(*lookup.buffer);
  const MetaSearch::State state = lookup.lost ? MetaSearch::State::unanswered : lookup.search.state();
  if (!lookup.subject.memory) return answers_.push_back({lookup.subject.node, state, lookup.server});
  // Nobody may ever name it again: the next post hears that once, and the one after that asks anew.
  if (state != MetaSearch::State::absent) return;
  if (absent_.size() >= options_.records_max) absent_.erase(absent_.begin());  // nobody has come for it
  absent_.insert(lookup.subject);
  leases_.on_absent(lookup.subject.node, *lookup.subject.memory);
}

// A record that no correct server has under this key is its fault; one that came too late is nobody's.
void Directory::take_in(std::uint32_t place, const MetaValue& value) {
  const Lookup& lookup = *lookups_[place];
  if (lookup.lost) return answered(place, MetaAnswer::found);
  const NodeId node = lookup.subject.node;
  if (lookup.subject.memory) {
    const auto record = decode_memory_record(value);
    if (!record || record->node != node || record->key != *lookup.subject.memory)
      return on_fault(place, "a record of memory that is not the memory's");
    const bool counts = leases_.on_found(node, *lookup.subject.memory, *record, lookup.began, clock_.now());
    return answered(place, counts ? MetaAnswer::found : MetaAnswer::no_answer);
  }
  const auto record = decode_node_record(value);
  if (!record) return on_fault(place, "a record that no node has");
  if (options_.plausible && !options_.plausible(node, record->metadata))
    return on_fault(place, "a record by which the node cannot be reached");
  nodes_.put(node, *record);
  known_as_[record->metadata] = node;
  answered(place, MetaAnswer::found);
}

}  // namespace spindrift::kernel
