// Which objects are under way at a receiver: what a message of an object channel is, and whether it fits what came before.
// Pure: the same messages and views give the same events at every member.
//
// The invariant to remember: an object's pieces are handed over without a gap, or its end says that there is one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <spindrift/core/view.hpp>
#include <spindrift/smc/delivery.hpp>

namespace spindrift {

/// A part of an object.
struct ObjectPiece {
  NodeId sender;
  std::uint64_t object = 0;          ///< its number; unique for one start of the sender
  std::uint64_t offset = 0;          ///< of the bytes in the object
  std::uint64_t total = 0;           ///< bytes of the object
  std::span<const std::byte> bytes;  ///< valid until the handler returns; empty only for an object of no bytes
  ViewId view;
  SequenceNumber sequence;
};

/// Why no more of an object comes.
struct ObjectEnd {
  enum class Why : std::uint8_t {
    complete,
    withdrawn,    ///< its sender gave it up
    sender_gone,  ///< its sender is out of the subgroup, or was started anew
    pieces_lost,  ///< its sender had to drop some: it was moved out of the subgroup's senders and came back
    met_midway,   ///< this member joined when some pieces had been delivered
    moved_out,    ///< this member was moved out of the subgroup
  };
  NodeId sender;
  std::uint64_t object = 0;
  Why why = Why::complete;
  std::uint64_t bytes = 0;  ///< that were handed over here
};

/// Which objects go on in a view that begins.
struct ObjectBoundary {
  ViewId view;                      ///< that begins
  bool here = true;                 ///< this member is in the subgroup
  std::vector<NodeId> senders;      ///< those whose objects may go on; an inadequate subgroup loses none: all its members
  std::vector<NodeId> began_anew;   ///< started since the view before: what they had under way is over

  /// `joined`: since the view before; in the first view of this member itself alone, for the others may have been there.
  [[nodiscard]] static ObjectBoundary of(const View& view, SubgroupId subgroup, NodeId self,
                                         std::span<const NodeId> joined);
  /// Whether the objects of this sender do.
  [[nodiscard]] bool lets_go_on(NodeId sender) const;
};

class ObjectTracker {
 public:
  /// Before every message: a head of four words, then the bytes.
  enum class Kind : std::uint64_t { message = 1, piece = 2, withdrawn = 3 };
  struct Head {
    std::uint64_t kind = 0;
    std::uint64_t object = 0;
    std::uint64_t offset = 0;
    std::uint64_t total = 0;
  };
  static constexpr std::size_t head_bytes = 32;
  static_assert(sizeof(Head) == head_bytes);
  /// Objects of one sender that may be under way at once; a sender that begins more is at fault.
  static constexpr std::size_t open_max = 1024;

  /// No member writes this.
  struct Fault {
    std::string what;
  };
  /// An object that ends at this message: with the piece, or without one.
  struct Step {
    std::optional<ObjectPiece> piece;
    std::optional<ObjectEnd> end;
  };
  struct Plain {
    std::span<const std::byte> bytes;
  };
  /// The next message in the order.
  [[nodiscard]] std::variant<Step, Plain, Fault> take(const Delivery& delivery);
  /// The objects that end because the view did. Behind the last delivery of the views before.
  [[nodiscard]] std::vector<ObjectEnd> on_view(const ObjectBoundary& boundary);
  /// Objects of which something is remembered.
  [[nodiscard]] std::size_t under_way() const noexcept;

 private:
  struct Open {
    std::uint64_t total = 0;
    std::uint64_t next = 0;    ///< offset of the piece that is due
    bool handed_over = false;  ///< otherwise its end was told, and what still comes of it is skipped
  };
  [[nodiscard]] std::variant<Step, Plain, Fault> take_piece(const Delivery& delivery, const Head& head);
  [[nodiscard]] static std::optional<ObjectEnd> end_of(NodeId sender, std::uint64_t object, const Open& open,
                                                      ObjectEnd::Why why);
  [[nodiscard]] Step skip_rest(NodeId sender, const Head& head, std::uint64_t length, Open& open, ObjectEnd::Why why);

  std::map<NodeId, std::map<std::uint64_t, Open>> open_;
};

}  // namespace spindrift
