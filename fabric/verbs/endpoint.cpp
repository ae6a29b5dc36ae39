// Operations over verbs.
#include <spindrift/fabric/verbs/endpoint.hpp>

#include <algorithm>
#include <utility>

namespace spindrift::fabric::verbs {

VerbsFabric::VerbsFabric(const VerbsOptions& options, connected::Beginning beginning)
    : Endpoint(options.self, options.silence_max, {.name = "verbs", .remote_key_max = UINT32_MAX}, std::move(beginning)),
      memory_windows_(options.memory_windows) {}

// Memory that is written from, or read into, is known to the device before anything of the list is executed.
Result<void> VerbsFabric::prepare(const Operation& operation) {
  if (auto checked = check_one(operation); !checked) return checked;
  Lane* const lane = lane_to(operation.peer);
  if (lane == nullptr || operation.copied || operation.kind == Operation::Kind::send) return {};
  connected::OwnRegion* const source = region_of(operation.local, operation.bytes);
  return source == nullptr ? Result<void>() : lane->make_source(*source);
}

void VerbsFabric::execute(const Operation& operation) {
  Lane* const lane = lane_to(operation.peer);
  if (lane == nullptr) return;
  if (std::find(rung_.begin(), rung_.end(), lane) == rung_.end()) rung_.push_back(lane);
  if (operation.kind == Operation::Kind::send) {
    const auto message = connected::user_message({operation.local, operation.bytes});
    return lane->send(message, operation.signaled, operation.context);
  }
  const connected::Exposure& target = lane->exposed.at(operation.region);
  connected::OwnRegion* const region = operation.copied ? nullptr : region_of(operation.local, operation.bytes);
  const std::uint64_t piece_max = region == nullptr ? staged_bytes_max : device_->limits().operation_bytes_max;
  std::uint64_t done = 0;
  do {
    Request request;
    request.kind = operation.kind == Operation::Kind::read ? Request::Kind::read : Request::Kind::write;
    request.copied = operation.copied;
    request.local = operation.local + done;
    request.bytes = static_cast<std::uint32_t>(std::min(operation.bytes - done, piece_max));
    request.address = target.address + operation.offset + done;
    request.remote_key = static_cast<std::uint32_t>(target.remote_key);
    request.region = region;
    done += request.bytes;
    request.signaled = operation.signaled && done == operation.bytes;
    request.context = operation.context;
    lane->post(std::move(request));
  } while (done < operation.bytes);
}

Result<void> VerbsFabric::check(std::span<const Operation> operations) {
  for (const Operation& operation : operations) {
    if (auto prepared = prepare(operation); !prepared) return prepared;
  }
  return {};
}

Result<void> VerbsFabric::post(std::span<const Operation> operations) {
  if (auto checked = check(operations); !checked) return checked;
  rung_.clear();
  for (const Operation& operation : operations) execute(operation);
  for (Lane* const lane : rung_) lane->ring();
  return {};
}

}  // namespace spindrift::fabric::verbs

namespace spindrift::fabric {

Result<std::unique_ptr<Fabric>> make_verbs(const VerbsOptions& options) {
  if (auto loaded = verbs::library(); !loaded) return std::move(loaded).error();
  auto beginning = connected::make_beginning(options.runtime_directory, options.group_name);
  if (!beginning) return std::move(beginning).error();
  return std::unique_ptr<Fabric>(std::make_unique<verbs::VerbsFabric>(options, std::move(beginning).value()));
}

Result<std::unique_ptr<connected::Endpoint>> make_verbs_part(const VerbsOptions& options) {
  if (auto loaded = verbs::library(); !loaded) return std::move(loaded).error();
  auto beginning = connected::make_part_beginning();
  if (!beginning) return std::move(beginning).error();
  return std::unique_ptr<connected::Endpoint>(std::make_unique<verbs::VerbsFabric>(options, std::move(beginning).value()));
}

}  // namespace spindrift::fabric
