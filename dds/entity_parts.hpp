// The parts that writers and readers without types have in common.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include <spindrift/dds/domain_core.hpp>
#include <spindrift/dds/entities.hpp>

namespace spindrift::topics {

template <class Core>
[[nodiscard]] dds::core::InstanceHandleSeq handles(const Core& core) {
  dds::core::InstanceHandleSeq all;
  for (const auto& [id, facts] : core.matched()) all.emplace_back(id.name());
  return all;
}

template <class Core>
[[nodiscard]] EndpointFacts matched_facts(const Core& core, const dds::core::InstanceHandle& handle) {
  const auto found = core.matched().find(EndpointId::named(handle.name()));
  if (handle.is_nil() || found == core.matched().end())
    throw dds::core::InvalidArgumentError("topic " + core.facts().topic +
                                          ": the handle names nothing that is matched; ask what is");
  return found->second;
}

/// Replaces a board's listener; returns when the one before is not called any more.
inline void listen(DomainCore& domain, StatusBoard& board, const Listening& to) {
  std::unique_lock lock(domain.monitor().mutex);
  board.set_listener(nullptr, 0);
  domain.listeners().await_idle(lock, board);
  board.set_listener(to.call, static_cast<std::uint32_t>(to.mask.to_ulong()), to.listener);
}
[[nodiscard]] inline void* listener_of(DomainCore& domain, const StatusBoard& board) {
  const std::lock_guard lock(domain.monitor().mutex);
  return board.who();
}

[[nodiscard]] inline std::uint32_t changed(DomainCore& domain, const StatusBoard& board) {
  const std::lock_guard lock(domain.monitor().mutex);
  return board.changed();
}

/// Lets be looked at what is due of a reader or writer. With the monitor held.
template <class Core>
void watch(DomainCore& domain, const std::shared_ptr<Core>& core) {
  domain.timers().add(core->facts().id, [weak = std::weak_ptr(core)](std::int64_t now_ns) {
    const auto alive = weak.lock();
    return alive ? alive->check(now_ns) : endless;
  });
}

}  // namespace spindrift::topics
