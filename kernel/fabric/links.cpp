// What the pool reports, and calls. Who calls connects a pair and greets over it; who is called greets back over the pair
// that its pool has accepted, and knows that the link stands when the caller says anything more.
#include <netdb.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <spindrift/core/fabric/endpoint_parts.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/kernel/fabric/endpoint.hpp>
#include <spindrift/kernel/ofi/name.hpp>
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
  if (auto bound = pool_->bind(door, completions_, accepted_max); !bound) return std::move(bound).error();
  if (auto known = arena_.register_with(*pool_); !known) return std::move(known).error();
  return Descriptors{device_->descriptor(), -1};
}

VqFabric::Message VqFabric::greeting_for(NodeId node) {
  const connected::GreetingBytes ours = greeting_to(node);
  const Metadata& reached = device_->metadata();
  Message message(ours.size() + reached.size);
  std::copy_n(reached.bytes.begin(), reached.size, std::copy(ours.begin(), ours.end(), message.begin()));
  return message;
}

Result<std::unique_ptr<connected::Lane>> VqFabric::start_call(NodeId node, const connected::SocketAddress& address) {
  ofi::Name name;
  name.connectionless = *ofi::connectionless_wire(classes_of(provider_)->connectionless);
  name.address = address_of(address);
  name.connectionless_port = port_of(address);
  auto pair = pool_->create(completions_, {});
  if (!pair) return std::move(pair).error();
  auto lane = std::make_unique<Lane>(Lane::State::calling, node, ways(), *pair);
  if (auto bound = pool_->connect(*pair, ofi::encode(name), door); !bound) return std::move(bound).error();
  lane->say(greeting_for(node), false);
  if (lane->broken()) return Error(ErrorKind::resource, *lane->broken());
  pairs_.emplace(*pair, lane.get());
  return std::unique_ptr<connected::Lane>(std::move(lane));
}

void VqFabric::take_reports() {
  while (!newcomers_.empty()) {
    const Newcomer newcomer = std::move(newcomers_.front());
    newcomers_.pop_front();
    const auto greeting = welcome(newcomer.greeting);
    // One that is turned away hears that when its lane closes.
    auto lane = std::make_unique<Lane>(Lane::State::answering, greeting ? greeting->node : NodeId(), ways(), newcomer.pair);
    if (!greeting) continue;
    lane->say(greeting_for(greeting->node), false);
    pairs_.emplace(newcomer.pair, lane.get());
    answered(std::move(lane), *greeting);
  }
}

bool VqFabric::take_completions() {
  seen_ = now();
  auto moved = pool_->progress(seen_);
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
  if (lane.state == Lane::State::answering) established(lane, {});
  if (lane.state != Lane::State::calling) return message_came(lane, message);
  const auto control = connected::decode_control(message);
  if (control && control->kind == connected::Kind::goodbye) return lane.break_down("it turned the call away");
  established(lane, message);
  if (lane.broken()) return;
  Metadata reached;
  const std::span<const std::byte> rest = message.subspan(sizeof(connected::GreetingBytes));
  if (rest.size() <= Metadata::bytes_max) {
    reached.size = static_cast<std::uint8_t>(rest.size());
    std::memcpy(reached.bytes.data(), rest.data(), rest.size());
    pool_->introduce(lane.pair(), reached);
  }
  lane.say(connected::encode(connected::Kind::alive, 0), false);
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
