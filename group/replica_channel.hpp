// The way of a replica into its group; the Group's own is in application_calls.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <spindrift/core/ids.hpp>
#include <spindrift/group/handler_threads.hpp>

namespace spindrift {

/// The services that a replica needs of its group: ordered multicast in one subgroup, and private messages between its
/// members.
class ReplicaChannel {
 public:
  virtual ~ReplicaChannel();
  /// From any thread; throws as Subgroup::send.
  virtual void send_ordered(std::span<const std::byte> message) = 0;
  /// The same without waiting: false if it would have to. Throws as Subgroup::try_send.
  [[nodiscard]] virtual bool try_send_ordered(std::span<const std::byte> message) = 0;
  [[nodiscard]] virtual std::size_t ordered_bytes_max() const noexcept = 0;  ///< of one
  /// From any thread; first in, first out for each receiver. Does not wait; to a member that is lost it does nothing.
  virtual void send_private(NodeId to, std::span<const std::byte> message) = 0;
  /// The same for a query, which waits for room. Throws as Group::send_private.
  virtual void send_query(NodeId to, std::span<const std::byte> message) = 0;
  /// Too many answers wait to be sent for more to be given. On the poller thread.
  [[nodiscard]] virtual bool crowded() const noexcept = 0;
  [[nodiscard]] virtual std::size_t private_bytes_max() const noexcept = 0;  ///< of one
  [[nodiscard]] virtual NodeId self() const noexcept = 0;
  [[nodiscard]] virtual const std::string& subgroup() const noexcept = 0;  ///< its name
  /// The version of the protocol that the present view speaks. From any thread.
  [[nodiscard]] virtual std::uint32_t spoken_version() const = 0;
  [[nodiscard]] virtual bool logged() const noexcept = 0;  ///< the subgroup's messages are kept, and come again
  /// In a logged subgroup: the time in the log, in nanoseconds since 1970, of the message of that version, which is being
  /// delivered now, or comes again from the log. On the poller thread.
  [[nodiscard]] virtual std::uint64_t time_ns(std::uint64_t version) const = 0;
  /// In a logged subgroup: no message of that version or a later one has a time before this, or will get one; in nanoseconds
  /// since 1970. All before that version were delivered. From any thread.
  [[nodiscard]] virtual std::uint64_t settled_ns(std::uint64_t version) const = 0;
  /// The threads that must not wait for this group.
  [[nodiscard]] virtual const std::shared_ptr<const group::HandlerThreads>& handler_threads() const noexcept = 0;
  /// Accuses the node of bytes that no correct member writes; `what` says what is wrong with them. On the poller thread.
  virtual void accuse(NodeId node, const std::string& what) = 0;
};

}  // namespace spindrift
