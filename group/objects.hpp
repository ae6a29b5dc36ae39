// Objects of any size through a subgroup: sent piece by piece, handed over piece by piece, in bounded memory.
//
//   ObjectChannel& blobs = group.objects("blobs", {.on_piece = [&](const ObjectPiece& piece) { … }, .on_end = … });
//   blobs.send_object(bytes, [&](std::uint64_t offset, std::span<std::byte> to) { file.read(offset, to); });
//
// A piece is a message of the subgroup, so pieces have their places in its order, among other messages and among the pieces
// of other objects, the same at all members. Nothing is gathered: a member that wants the whole object in one place puts it
// there itself.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>

#include <spindrift/core/view.hpp>
#include <spindrift/smc/delivery.hpp>
#include <spindrift/group/group.hpp>
#include <spindrift/views/object_tracker.hpp>

namespace spindrift {

/// The handlers by which an application takes objects from an ObjectChannel; all on the poller thread, in the order of
/// delivery, as a delivery handler of Subgroup. `on_piece` and `on_end` are needed.
struct ObjectHandlers {
  /// The next piece of an object: the first has offset 0, each other begins where the last one ended.
  std::function<void(const ObjectPiece&)> on_piece;
  /// No more pieces of this object come: complete, or why not. For every object of which a piece was handed over, and for
  /// those that are met midway; not any more when this member has left or failed.
  std::function<void(const ObjectEnd&)> on_end;
  /// A message of `send`; its payload is what was sent. None: they are ignored.
  std::function<void(const Delivery&)> on_message{};
};

/// A subgroup that carries objects and messages. Lives as long as its Group. Functions from any thread.
class ObjectChannel {
 public:
  /// Fills `to` with the object's bytes from `offset` on, on the calling thread of `send_object`: in place in the ring.
  using Reader = std::function<void(std::uint64_t offset, std::span<std::byte> to)>;

  /// For Group::objects. `objects_max`: objects that this member has under way at once, at least 1; receivers refuse more
  /// than ObjectTracker::open_max.
  ObjectChannel(Subgroup& subgroup, ObjectHandlers handlers, std::size_t objects_max = ObjectTracker::open_max);
  ObjectChannel(const ObjectChannel&) = delete;
  ObjectChannel& operator=(const ObjectChannel&) = delete;

  /// Sends an object of `bytes`, which may be 0, in pieces of at most `piece_bytes_max`; returns its number, which no other
  /// object of this process in this channel has. Waits as Subgroup::send, piece by piece, also through changes of the view,
  /// and for its turn where 1,024 threads are sending objects already: returns when the last piece is on its way. What
  /// `reader` throws goes on, after the others were told that the object ends here (`withdrawn`), unless that throws too.
  /// Throws as Subgroup::send, and group_closed when the others ended the object because this member was moved out of the
  /// senders meanwhile. Not from a handler, which could not wait.
  std::uint64_t send_object(std::uint64_t bytes, const Reader& reader);
  /// Sends a message of its own, at its place among the pieces. As Subgroup::send.
  void send(std::span<const std::byte> message);

  [[nodiscard]] std::uint64_t piece_bytes_max() const noexcept { return piece_bytes_max_; }  ///< of an object
  [[nodiscard]] std::uint64_t message_bytes_max() const noexcept;  ///< of `send`

  // For the Group, on its poller thread.
  /// Bytes that no correct member sends: what was wrong, and whose they were.
  using Accuse = std::function<void(NodeId, const std::string&)>;
  void on_delivery(std::span<const Delivery> batch, const Accuse& accuse);  ///< a batch in delivery order
  void on_boundary(const ObjectBoundary& boundary);                         ///< between two views
  /// The objects that this member has under way end here: it is, or was, no sender.
  void on_dropped() noexcept { drops_.fetch_add(1, std::memory_order_seq_cst); }

 private:
  class Turn;

  Subgroup& subgroup_;
  ObjectHandlers handlers_;
  std::uint64_t piece_bytes_max_;
  const std::size_t objects_max_;
  std::mutex mutex_;
  std::condition_variable one_less_;
  std::size_t under_way_ = 0;  // objects; under mutex_
  ObjectTracker tracker_;  // the poller's
  std::atomic<std::uint64_t> next_{1};
  std::atomic<std::uint64_t> drops_{0};
};

}  // namespace spindrift
