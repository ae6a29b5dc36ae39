// Tests of objects have this in common: bytes that a seed determines, and a member that looks at all it is handed.
#pragma once

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include <spindrift/core/digest.hpp>
#include <spindrift/objects.hpp>

#include "group_fixture.hpp"

namespace spindrift {

/// Bytes of an object by its seed, word by word; `offset` is a multiple of 8.
inline void fill_object(std::uint64_t seed, std::uint64_t offset, std::span<std::byte> to) {
  for (std::size_t at = 0; at < to.size(); at += 8) {
    std::uint64_t word = ((offset + at) / 8 + seed) * 0x9e3779b97f4a7c15;
    word ^= word >> 31;
    std::memcpy(to.data() + at, &word, std::min<std::size_t>(8, to.size() - at));
  }
}

/// The objects that one member gets: whether every piece is as its sender made it, and the ends.
class Receiver {
 public:
  explicit Receiver(Group& group) {
    channel_ = &group.objects("orders", {.on_piece = [this](const ObjectPiece& piece) { on_piece(piece); },
                                         .on_end = [this](const ObjectEnd& end) { on_end(end); },
                                         .on_message = [this](const Delivery&) { on_message(); }});
  }
  ObjectChannel& channel() { return *channel_; }
  ObjectEnd await_end(std::size_t which) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ends_.size() > which; });
    return ends_[which];
  }
  void await_messages(std::size_t least) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return messages_ >= least; });
  }
  void await_bytes(std::uint64_t least) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return bytes_ >= least; });
  }
  [[nodiscard]] std::size_t ends() {
    std::lock_guard lock(mutex_);
    return ends_.size();
  }
  /// The bytes of all pieces so far.
  [[nodiscard]] std::uint64_t bytes() {
    std::lock_guard lock(mutex_);
    return bytes_;
  }
  [[nodiscard]] bool damaged() {
    std::lock_guard lock(mutex_);
    return damaged_;
  }

 private:
  void on_piece(const ObjectPiece& piece) {
    wanted_.resize(piece.bytes.size());
    fill_object(piece.sender.value() * 1000 + piece.object, piece.offset, wanted_);
    std::lock_guard lock(mutex_);
    damaged_ |= digest_of(wanted_).words != digest_of(piece.bytes).words;
    bytes_ += piece.bytes.size();
    changed_.notify_all();
  }
  void on_end(const ObjectEnd& end) {
    std::lock_guard lock(mutex_);
    ends_.push_back(end);
    changed_.notify_all();
  }
  void on_message() {
    std::lock_guard lock(mutex_);
    ++messages_;
    changed_.notify_all();
  }

  ObjectChannel* channel_ = nullptr;
  std::vector<std::byte> wanted_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ObjectEnd> ends_;
  std::uint64_t bytes_ = 0;
  std::size_t messages_ = 0;
  bool damaged_ = false;
};

inline const std::string sizes =
    "join_timeout_ms = 20000\n[SUBGROUP/DEFAULT]\nmax_smc_payload_size = 256 KiB\nlarge_message_bytes = 4096\n"
    "bulk_ring_bytes = 1 MiB\nring_size = 64 KiB\n";

/// Its number. On any thread, so without assertions.
inline std::uint64_t send(Receiver& from, std::uint32_t node, std::uint64_t object, std::uint64_t bytes) {
  return from.channel().send_object(
      bytes, [&](std::uint64_t offset, std::span<std::byte> to) { fill_object(node * 1000 + object, offset, to); });
}

}  // namespace spindrift
