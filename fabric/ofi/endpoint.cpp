// Operations over libfabric.
#include <spindrift/fabric/ofi/endpoint.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace spindrift::fabric::ofi {
namespace {

constexpr std::array<std::string_view, 3> over_sockets{"tcp", "net", "sockets"};

connected::Character character_of(const std::string& provider) {
  const bool sockets = std::find(over_sockets.begin(), over_sockets.end(), provider) != over_sockets.end();
  return {.name = std::string(name_prefix) + provider,
          .needs_target_progress = true,
          .buffered_bytes = sockets ? connected::socket_bytes : 0};
}

}  // namespace

OfiFabric::OfiFabric(const OfiOptions& options, connected::Beginning beginning)
    : Endpoint(options.self, options.silence_max, character_of(options.provider), std::move(beginning)),
      provider_name_(options.provider) {}

void OfiFabric::execute(const Operation& operation, bool news) {
  Lane* const lane = lane_to(operation.peer);
  if (lane == nullptr) return;
  Request request;
  request.signaled = operation.signaled;
  request.context = operation.context;
  request.bytes = operation.bytes;
  request.local = operation.local;
  if (operation.kind == Operation::Kind::send) {
    request.kind = Request::Kind::send;
    request.owned = connected::user_message({operation.local, operation.bytes});
    request.bytes = request.owned.size();
    return lane->post(std::move(request));
  }
  const connected::Exposure& target = lane->exposed.at(operation.region);
  request.address = target.address + operation.offset;
  request.remote_key = target.remote_key;
  if (operation.kind == Operation::Kind::read) {
    request.kind = Request::Kind::read;
  } else {
    request.news = news;
    request.copied = operation.copied;
    // Small ones the provider copies itself, if it takes them at once.
    const bool small = operation.bytes <= provider_->info().tx_attr->inject_size;
    if (operation.copied && (operation.signaled || !small))
      request.owned.assign(operation.local, operation.local + operation.bytes);
    if (!operation.copied) request.region = region_of(operation.local, operation.bytes);
  }
  lane->post(std::move(request));
}

Result<void> OfiFabric::post(std::span<const Operation> operations) {
  if (auto checked = check(operations); !checked) return checked;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& operation = operations[i];
    if (small_writes_.gather(operation, lane_to(operation.peer))) continue;
    small_writes_.send();
    const bool more = i + 1 < operations.size() && operations[i + 1].peer == operation.peer &&
                      operations[i + 1].kind != Operation::Kind::read;
    execute(operation, !more);
  }
  small_writes_.send();
  return {};
}

}  // namespace spindrift::fabric::ofi

namespace spindrift::fabric {

Result<std::unique_ptr<Fabric>> make_ofi(const OfiOptions& options) {
  auto beginning = connected::make_beginning(options.runtime_directory, options.group_name);
  if (!beginning) return std::move(beginning).error();
  return std::unique_ptr<Fabric>(std::make_unique<ofi::OfiFabric>(options, std::move(beginning).value()));
}

Result<std::unique_ptr<connected::Endpoint>> make_ofi_part(const OfiOptions& options) {
  auto beginning = connected::make_part_beginning();
  if (!beginning) return std::move(beginning).error();
  return std::unique_ptr<connected::Endpoint>(std::make_unique<ofi::OfiFabric>(options, std::move(beginning).value()));
}

}  // namespace spindrift::fabric
