// Operations over virtual queue pairs.
#include <spindrift/kernel/fabric/endpoint.hpp>

#include <algorithm>
#include <utility>

namespace spindrift::kernel::vq {

using spindrift::fabric::Operation;

namespace {

// One that the device copies, so that a peer which does not answer leaves it with nothing of this process's.
constexpr std::size_t piece_max = 65536;
constexpr std::uint32_t completions_max = 1U << 14U;

std::map<NodeId, std::string> addresses_of(std::span<const spindrift::fabric::Address> roster) {
  std::map<NodeId, std::string> addresses;
  for (const auto& each : roster) addresses.emplace(each.node, each.endpoint);
  return addresses;
}

}  // namespace

VqFabric::VqFabric(const VqOptions& options, connected::Beginning beginning, Arena& arena)
    : Endpoint(options.self, options.silence_max,
               {.name = std::string(name_prefix) + options.provider,
                .needs_target_progress = true,
                .buffered_bytes = connected::socket_bytes},
               std::move(beginning)),
      provider_(options.provider),
      arena_(arena),
      staging_(arena),
      completions_(completions_max),
      addresses_(addresses_of(options.roster)),
      finder_(
          options, [this](NodeId node, const Metadata& metadata) { return plausible(node, metadata); }, seen_) {}

void VqFabric::count_in(CounterBlock* block) {
  counters_ = block;
  finder_.count_in(block);
  if (pool_ != nullptr) pool_->count_in(block);
  fenced_bytes_ = block == nullptr ? Counter() : block->counter("vq.fenced_bytes");
  fenced_bytes_.set(arena_.fenced_bytes());
}

void VqFabric::execute(const Operation& operation) {
  Lane* const lane = lane_to(operation.peer);
  if (lane == nullptr) return;
  if (std::find(rung_.begin(), rung_.end(), lane) == rung_.end()) rung_.push_back(lane);
  if (operation.kind == Operation::Kind::send) {
    const auto message = connected::user_message({operation.local, operation.bytes});
    return lane->post_message(message, operation.signaled, operation.context);
  }
  const connected::Exposure& target = lane->exposed.at(operation.region);
  const bool reads = operation.kind == Operation::Kind::read;
  connected::OwnRegion* const region = operation.copied ? nullptr : region_of(operation.local, operation.bytes);
  std::size_t done = 0;
  do {
    Transfer transfer;
    transfer.kind = reads ? kernel::Request::Kind::read : kernel::Request::Kind::write;
    transfer.local = operation.local + done;
    transfer.bytes = std::min(operation.bytes - done, piece_max);
    transfer.address = target.address + operation.offset + done;
    transfer.remote_key = target.remote_key;
    transfer.region = region;
    // What lies in no region is not registered; it goes by a copy in either direction.
    if (region == nullptr) {
      auto copy = staging_.copy({transfer.local, transfer.bytes});
      if (!copy) return lane->break_down(copy.error().message());
      transfer.owned = std::move(copy).value();
    }
    done += transfer.bytes;
    transfer.signaled = operation.signaled && done == operation.bytes;
    transfer.context = operation.context;
    lane->post(std::move(transfer));
  } while (done < operation.bytes);
}

Result<void> VqFabric::post(std::span<const Operation> operations) {
  if (auto checked = check(operations); !checked) return checked;
  rung_.clear();
  for (const Operation& operation : operations) {
    if (small_writes_.gather(operation, lane_to(operation.peer))) continue;
    small_writes_.send();
    execute(operation);
  }
  small_writes_.send();
  for (Lane* const lane : rung_) lane->ring();
  return {};
}

}  // namespace spindrift::kernel::vq

namespace spindrift::kernel {

namespace {

std::unique_ptr<fabric::connected::Endpoint> endpoint_of(const VqOptions& options, vq::connected::Beginning beginning) {
  auto arena = std::make_unique<vq::Arena>();
  vq::Arena& known = *arena;
  beginning.memory = std::move(arena);
  return std::make_unique<vq::VqFabric>(options, std::move(beginning), known);
}

}  // namespace

Result<std::unique_ptr<fabric::Fabric>> make_vq(const VqOptions& options) {
  SPINDRIFT_TRY_ASSIGN(auto beginning, vq::connected::make_beginning(options.runtime_directory, options.group_name));
  return std::unique_ptr<fabric::Fabric>(endpoint_of(options, std::move(beginning)));
}

Result<std::unique_ptr<fabric::connected::Endpoint>> make_vq_part(const VqOptions& options) {
  SPINDRIFT_TRY_ASSIGN(auto beginning, vq::connected::make_part_beginning());
  return endpoint_of(options, std::move(beginning));
}

Result<void> try_vq_address(const std::string& provider, const std::string& endpoint) {
  auto address = vq::connected::resolve(endpoint, false);
  if (!address) return std::move(address).error();
  auto device = vq::open_device(provider, *address);
  return device ? Result<void>() : std::move(device).error();
}

}  // namespace spindrift::kernel
