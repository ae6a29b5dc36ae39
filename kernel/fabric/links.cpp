// What the pool reports, and calls. Who calls connects a pair and greets over it; who is called greets back over the pair
// that its pool has accepted, and knows that the link stands when the caller says anything more.
#include <netdb.h>

#include <algorithm>
#include <array>
#include <utility>

#include <spindrift/core/config/addresses.hpp>
#include <spindrift/fabric/endpoint_parts.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/kernel/fabric/endpoint.hpp>
#include <spindrift/kernel/ofi/ofi_name.hpp>
#include <spindrift/kernel/ofi/ofi_device.hpp>

namespace spindrift::kernel::vq {
namespace {

/// Where every endpoint of this fabric waits for calls.
constexpr Port door{0x31'71'76'44'4e'50'53};  // "SPNDvq1"
constexpr std::uint32_t pairs_max = 4096;
constexpr std::uint32_t accepted_max = 2048;
constexpr std::uint32_t window = 256;
constexpr std::uint32_t receive_buffers = 64;
constexpr std::uint32_t connected_max = 64;
constexpr std::uint64_t promote_posts = 100;

struct Classes {
  const char* connectionless;
  const char* connected;
};
std::optional<Classes> classes_of(std::string_view provider) {
  if (provider == "tcp") return Classes{"tcp;ofi_rxm", "tcp"};
  if (provider == "net") return Classes{"net", ""};
  if (provider == "verbs") return Classes{"verbs;ofi_rxm", "verbs"};  // refused by the device, which says why
  return std::nullopt;
}

Result<std::string> in_numbers(const connected::SocketAddress& address) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  const int failed = ::getnameinfo(reinterpret_cast<const sockaddr*>(&address.storage), address.bytes, host.data(),
                                   host.size(), port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  if (failed != 0) return Error(ErrorKind::bad_argument, std::string("getnameinfo: ") + ::gai_strerror(failed));
  const bool six = address.storage.ss_family == AF_INET6;
  return (six ? "[" : "") + std::string(host.data()) + (six ? "]:" : ":") + port.data();
}

}  // namespace

Result<std::unique_ptr<Device>> open_device(const std::string& provider, const connected::SocketAddress& at) {
  const auto classes = classes_of(provider);
  if (!classes) {
    return Error(ErrorKind::unsupported, "virtual queue pairs are not offered over libfabric's provider " + provider)
        .fix("choose vq:tcp or vq:net in [SPINDRIFT] fabric");
  }
  auto listen = in_numbers(at);
  if (!listen) return std::move(listen).error();
  OfiDeviceOptions options;
  options.connectionless = classes->connectionless;
  options.connected = classes->connected;
  options.listen = *listen;
  options.sizes.receive_buffers = receive_buffers;
  options.sizes.message_bytes_max =
      connected::message_bytes_max + connected::header_bytes + sizeof(vq_header) + Metadata::bytes_max;
  return make_ofi_device(options);
}

Result<connected::Endpoint::Descriptors> VqFabric::open(const connected::SocketAddress& at) {
  auto start = spindrift::fabric::random_word();
  if (!start) return std::move(start).error();
  auto device = open_device(provider_, at);
  if (!device) return std::move(device).error();
  device_ = std::move(device).value();
  PoolOptions options;
  options.self = self();
  options.start = static_cast<std::uint32_t>(*start);
  options.pairs_max = pairs_max;
  options.window = window;
  options.connected_max = device_->traits().connected ? connected_max : 0;
  options.promote_posts = promote_posts;
  options.break_is_loss = true;
  options.fetch_bytes_max = 0;  // no message of this fabric is too large to be sent
  auto pool = Pool::open(*device_, options);
  if (!pool) return std::move(pool).error();
  pool_ = std::move(pool).value();
  pool_->count_in(counters_);
  if (auto bound = pool_->bind(door, completions_, accepted_max); !bound) return std::move(bound).error();
  if (auto known = arena_.register_with(*pool_); !known) return std::move(known).error();
  const auto bytes = finder_.table_bytes();
  if (!bytes) return bytes.error();
  auto table = arena_.take(*bytes);
  if (!table) return std::move(table).error();
  seen_.time = SystemClock().now();
  const NodeRecord own{incarnation(), device_->metadata()};
  if (auto kept = finder_.open(*pool_, *table, own); !kept) return std::move(kept).error();
  return Descriptors{device_->descriptor(), -1};
}

Result<VqFabric::Message> VqFabric::greeting_for(Lane& lane) {
  const MetaKeeper& table = finder_.table();
  auto keys = lane.let_read(table.memory());
  if (!keys) return std::move(keys).error();
  const connected::GreetingBytes ours = greeting_to(lane.node);
  const auto rest = encode(Introduction{{keys->remote_key, keys->remote_base, table.geometry()}, device_->metadata()});
  Message message(ours.size() + rest.size());
  std::copy(rest.begin(), rest.end(), std::copy(ours.begin(), ours.end(), message.begin()));
  return message;
}

// Who is of the same providers, at the node's address as far as that is written in numbers. A host's name is not looked up
// here, so of a node with one the port alone is checked.
bool VqFabric::plausible(NodeId node, const Metadata& metadata) const {
  const auto name = ofi::decode(metadata);
  if (!name || name->connectionless != ofi::connectionless_wire(classes_of(provider_)->connectionless)) return false;
  const auto at = addresses_.find(node);
  if (at == addresses_.end()) return true;
  if (const auto address = connected::resolve(at->second, true))
    return name->address == address_of(*address) && name->connectionless_port == port_of(*address);
  const auto parts = spindrift::config::parse_host_port(at->second);
  return parts && parts->port == std::to_string(name->connectionless_port);
}

// What was known of a node whose link this process has ended is over with it, also while the last words are on their way.
VqFabric::Knows VqFabric::knows(NodeId node) {
  for (const auto& each : lanes()) {
    auto& lane = static_cast<Lane&>(*each);
    if (lane.node == node && std::exchange(lane.linked, false)) finder_.on_unlinked(node, lane.incarnation);
  }
  const Route route = finder_.route_to(node);
  switch (route.way) {
    case Route::Way::wait: return Knows::soon;
    case Route::Way::by_address: return Knows::nothing;
    case Route::Way::cached:
    case Route::Way::looked_up: routes_[node] = route; return Knows::enough;
  }
  return Knows::nothing;
}

Result<std::unique_ptr<connected::Lane>> VqFabric::start_known_call(NodeId node) {
  const Route route = routes_.extract(node).mapped();
  auto lane = call_by(node, route.record.metadata, route);
  if (!lane) finder_.on_call_failed(node, false);
  return lane;
}

Result<std::unique_ptr<connected::Lane>> VqFabric::start_call(NodeId node, const connected::SocketAddress& address) {
  ofi::OfiName name;
  name.connectionless = *ofi::connectionless_wire(classes_of(provider_)->connectionless);
  name.address = address_of(address);
  name.connectionless_port = port_of(address);
  return call_by(node, ofi::encode(name), {.way = Route::Way::by_address});
}

Result<std::unique_ptr<connected::Lane>> VqFabric::call_by(NodeId node, const Metadata& metadata, const Route& route) {
  auto pair = pool_->create(completions_, {});
  if (!pair) return std::move(pair).error();
  auto lane = std::make_unique<Lane>(Lane::State::calling, node, ways(), *pair);
  lane->route = route;
  lane->reached_by = metadata;
  if (auto bound = pool_->connect(*pair, metadata, door); !bound) return std::move(bound).error();
  auto greeting = greeting_for(*lane);
  if (!greeting) return std::move(greeting).error();
  lane->say(*greeting, false);
  if (lane->broken()) return Error(ErrorKind::resource, *lane->broken());
  pairs_.emplace(*pair, lane.get());
  return std::unique_ptr<connected::Lane>(std::move(lane));
}

void VqFabric::take_reports() {
  while (!newcomers_.empty()) {
    const Newcomer newcomer = std::move(newcomers_.front());
    newcomers_.pop_front();
    const std::span<const std::byte> said = newcomer.greeting;
    const auto introduced = decode_introduction(said.subspan(std::min(said.size(), sizeof(connected::GreetingBytes))));
    const auto greeting = introduced ? welcome(said) : std::nullopt;
    // One that is turned away hears that when its lane closes.
    auto lane = std::make_unique<Lane>(Lane::State::answering, greeting ? greeting->node : NodeId(), ways(), newcomer.pair);
    if (!greeting) continue;
    lane->introduced = introduced;
    lane->reached_by = introduced->metadata;
    auto ours = greeting_for(*lane);
    if (!ours) {
      log::warn(log::Room::fabric, "call turned away", {{"node", greeting->node}, {"reason", ours.error().to_string()}});
      continue;
    }
    lane->say(*ours, false);
    pairs_.emplace(newcomer.pair, lane.get());
    answered(std::move(lane), *greeting);
  }
}

bool VqFabric::take_completions() {
  seen_.time = now();
  auto moved = pool_->progress(seen_.time);
  if (const bool still = !moved; still != std::exchange(stands_still_, still) && still)
    log::error(log::Room::fabric, "the pool stands still", {{"reason", moved.error().to_string()}});
  for (const auto& lane : lanes()) take_messages(static_cast<Lane&>(*lane));
  take_finished();
  for (auto next = pool_->next_accepted(door); next && *next; next = pool_->next_accepted(door)) {
    const PairId pair = **next;
    if (auto message = pool_->take_message(pair)) {
      newcomers_.push_back({pair, *std::move(message)});
      expect_reports();
    } else {
      pool_->close(pair);
    }
  }
  for (const auto& lane : lanes()) static_cast<Lane&>(*lane).look_for_failure();
  let_go();
  fenced_bytes_.set(arena_.fenced_bytes());
  for (const NodeId node : finder_.progress()) call_again(node);
  return moved && *moved;
}

void VqFabric::take_finished() {
  std::array<Completion, 64> done;
  for (std::size_t count = completions_.take(done); count > 0; count = completions_.take(done)) {
    for (const Completion& completion : std::span(done).first(count)) {
      const auto at = pairs_.find(completion.pair);
      if (at == pairs_.end()) continue;  // closed meanwhile
      Lane& lane = *at->second;
      for (auto over = lane.take_finished(completion); over; over = lane.take_finished(completion)) {
        if (over->region != nullptr) settle(*over->region);
        if (over->signaled) completed(lane, over->context);
      }
    }
  }
}

// Before what the pool knows of failures: what a peer said last comes before its end. While the caller takes nothing,
// nothing more is taken from the pair, and its window keeps the peer waiting.
void VqFabric::take_messages(Lane& lane) {
  while (!lane.full() && !lane.broken() && !lane.goodbye) {
    const auto message = pool_->take_message(lane.pair());
    if (!message) return;
    on_message(lane, *message);
  }
}

void VqFabric::on_message(Lane& lane, std::span<const std::byte> message) {
  if (lane.state == Lane::State::calling) return on_answer(lane, message);
  if (lane.state == Lane::State::answering) {
    confirmed(lane, message);
    if (lane.state == Lane::State::up) on_linked(lane);
  }
  message_came(lane, message);
}

void VqFabric::on_answer(Lane& lane, std::span<const std::byte> message) {
  const auto control = connected::decode_control(message);
  if (control && control->kind == connected::Kind::goodbye) {
    lane.turned_away = true;
    return lane.break_down("it turned the call away");
  }
  const auto greeting = connected::decode_greeting(message);
  // Another start than the one in the table may be told of nothing that was found out for that one.
  if (const std::uint64_t meant = lane.route.record.incarnation; greeting && meant != 0 && meant != greeting->incarnation) {
    lane.stale = true;
    return lane.break_down("what was known of it is of another start");
  }
  if (greeting) lane.introduced = decode_introduction(message.subspan(sizeof(connected::GreetingBytes)));
  if (greeting && !lane.introduced) return lane.break_down("it says of its meta table what no process does");
  established(lane, message);
  if (lane.broken()) return;
  if (lane.route.way == Route::Way::by_address) pool_->introduce(lane.pair(), lane.introduced->metadata);
  lane.say(connected::encode(connected::Kind::alive, 0), false);
  on_linked(lane);
}

void VqFabric::on_linked(Lane& lane) {
  if (lane.broken()) return;
  lane.linked = true;
  finder_.on_linked({.node = lane.node,
                     .record = {lane.incarnation, lane.introduced->metadata},
                     .table = lane.introduced->table,
                     .reached_by = lane.reached_by,
                     .way = lane.route.way});
}

void VqFabric::on_gone(connected::Lane& gone) {
  auto& lane = static_cast<Lane&>(gone);
  pairs_.erase(lane.pair());
  if (lane.linked) {
    finder_.on_unlinked(lane.node, lane.incarnation);
  } else if (lane.state == Lane::State::calling && lane.route.record.incarnation != 0 && !lane.turned_away) {
    finder_.on_call_failed(lane.node, lane.stale);
  }
}

void VqFabric::on_writes(connected::Lane& lane, std::span<const std::byte> writes) {
  connected::carry_out(lane, writes, [](const connected::OwnRegion&) { return std::uint64_t{0}; });
}

void VqFabric::let_go() {
  for (std::size_t i = 0; i < leaving_.size();) {
    if (!pool_->is_gone(leaving_[i].pair)) {
      ++i;
      continue;
    }
    const Leaving gone = std::move(leaving_[i]);
    leaving_.erase(leaving_.begin() + static_cast<std::ptrdiff_t>(i));
    for (const Transfer& transfer : gone.transfers) {
      if (transfer.region == nullptr) continue;
      --transfer.region->reading;
      settle(*transfer.region);
    }
  }
}

void VqFabric::shut() noexcept {
  if (device_ != nullptr) device_->end();
  arena_.on_pool_gone();
  pool_.reset();
  device_.reset();
  leaving_.clear();
}

}  // namespace spindrift::kernel::vq

namespace spindrift::kernel {

std::string vq_connectionless(std::string_view provider) {
  const auto classes = vq::classes_of(provider);
  return classes ? classes->connectionless : "";
}

}  // namespace spindrift::kernel
