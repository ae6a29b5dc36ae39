// Sending objects piece by piece, and handing pieces to the application.
#include <spindrift/group/objects.hpp>

#include <algorithm>
#include <utility>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift {
namespace {

void put_head(std::span<std::byte> to, ObjectTracker::Kind kind, std::uint64_t object, std::uint64_t offset,
              std::uint64_t total) {
  const auto head = field_bytes(ObjectTracker::Head{static_cast<std::uint64_t>(kind), object, offset, total});
  std::copy(head.begin(), head.end(), to.begin());
}

/// As large as a message may be, and so small that several are on their way at once: one is read while another travels.
std::uint64_t piece_bytes_of(std::uint64_t message_bytes_max) {
  constexpr std::uint64_t most = std::uint64_t{1} << 20;
  return std::min(message_bytes_max, most) - ObjectTracker::head_bytes;
}

}  // namespace

/// Thrown out of a piece whose object is over.
struct ObjectEnded {};

/// One of the objects that may be under way, waited for.
class ObjectChannel::Turn {
 public:
  explicit Turn(ObjectChannel& channel) : channel_(channel) {
    std::unique_lock lock(channel_.mutex_);
    channel_.one_less_.wait(lock, [&] { return channel_.under_way_ < channel_.objects_max_; });
    ++channel_.under_way_;
  }
  ~Turn() {
    {
      const std::lock_guard lock(channel_.mutex_);
      --channel_.under_way_;
    }
    channel_.one_less_.notify_one();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  ObjectChannel& channel_;
};

ObjectChannel::ObjectChannel(Subgroup& subgroup, ObjectHandlers handlers, std::size_t objects_max)
    : subgroup_(subgroup), handlers_(std::move(handlers)), objects_max_(objects_max) {
  const auto refuse = [&](const char* what, const char* fix) {
    throw Exception(Error(ErrorKind::bad_argument, "subgroup " + subgroup.name() + " carries no objects: " + what).fix(fix));
  };
  if (!handlers_.on_piece || !handlers_.on_end) refuse("there is no handler for them", "give on_piece and on_end");
  if (subgroup.description().mode != DeliveryMode::ordered) {
    refuse("it is unordered, and may lose pieces when the view changes", "use a subgroup in ordered mode");
  }
  if (subgroup.message_bytes_max() <= ObjectTracker::head_bytes) {
    refuse("its messages are too small", "raise max_smc_payload_size above 32 bytes");
  }
  piece_bytes_max_ = piece_bytes_of(subgroup.message_bytes_max());
}

std::uint64_t ObjectChannel::message_bytes_max() const noexcept {
  return subgroup_.message_bytes_max() - ObjectTracker::head_bytes;
}

void ObjectChannel::send(std::span<const std::byte> message) {
  subgroup_.send(ObjectTracker::head_bytes + message.size(), [&](std::span<std::byte> to) {
    put_head(to, ObjectTracker::Kind::message, 0, 0, 0);
    std::copy(message.begin(), message.end(), to.begin() + ObjectTracker::head_bytes);
  });
}

// A piece that `reader` gives up is a gap in the ring and nothing in the order; what is told after it ends the object.
std::uint64_t ObjectChannel::send_object(std::uint64_t bytes, const Reader& reader) {
  const Turn turn(*this);
  const std::uint64_t object = next_.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t drops = drops_.load(std::memory_order_seq_cst);
  const auto withdraw = [&](std::uint64_t offset) {
    subgroup_.send(ObjectTracker::head_bytes,
                   [&](std::span<std::byte> to) { put_head(to, ObjectTracker::Kind::withdrawn, object, offset, bytes); });
  };
  const auto check_drops = [&] {
    if (drops_.load(std::memory_order_seq_cst) != drops) throw ObjectEnded{};
  };
  std::uint64_t offset = 0;
  do {
    const std::uint64_t length = std::min(piece_bytes_max_, bytes - offset);
    bool reading = false;
    try {
      subgroup_.send(ObjectTracker::head_bytes + length, [&](std::span<std::byte> to) {
        check_drops();
        put_head(to, ObjectTracker::Kind::piece, object, offset, bytes);
        reading = true;
        reader(offset, to.subspan(ObjectTracker::head_bytes));
        reading = false;
      });
      offset += length;
      check_drops();
    } catch (const ObjectEnded&) {
      withdraw(offset);
      throw Exception(Error(ErrorKind::group_closed, "the others ended an object: this member was no sender of subgroup " +
                                                         subgroup_.name() + " for a while")
                          .fix("send the object again"));
    } catch (...) {
      if (reading && offset > 0) withdraw(offset);
      throw;
    }
  } while (offset < bytes);
  return object;
}

void ObjectChannel::on_delivery(std::span<const Delivery> batch, const Accuse& accuse) {
  for (const Delivery& delivery : batch) {
    const auto taken = tracker_.take(delivery);
    if (const auto* fault = std::get_if<ObjectTracker::Fault>(&taken)) {
      accuse(delivery.sender, "it sent " + fault->what + " in subgroup " + subgroup_.name());
    } else if (const auto* plain = std::get_if<ObjectTracker::Plain>(&taken)) {
      if (!handlers_.on_message) continue;
      Delivery message = delivery;
      message.payload = plain->bytes;
      handlers_.on_message(message);
    } else {
      const auto& step = std::get<ObjectTracker::Step>(taken);
      if (step.piece) handlers_.on_piece(*step.piece);
      if (step.end) handlers_.on_end(*step.end);
    }
  }
}

void ObjectChannel::on_boundary(const ObjectBoundary& boundary) {
  for (const ObjectEnd& end : tracker_.on_view(boundary)) handlers_.on_end(end);
}

}  // namespace spindrift
