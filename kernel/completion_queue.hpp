// The user of a virtual queue pair takes the completions of its requests here; the core writes them.
//
// Remember: a queue never overflows. What it has no room for is not taken by `Pool::post`.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include <spindrift/core/ids.hpp>
#include <spindrift/kernel/physical.hpp>
#include <spindrift/kernel/vq.h>

namespace spindrift::kernel {

/// A virtual queue pair of a pool; never used again in its life. 0 is none.
using PairId = Strong<struct PairIdTag, std::uint64_t>;

static_assert(static_cast<int>(OperationStatus::done) == VQ_DONE &&
              static_cast<int>(OperationStatus::local_error) == VQ_LOCAL_ERROR &&
              static_cast<int>(OperationStatus::access_refused) == VQ_ACCESS_REFUSED &&
              static_cast<int>(OperationStatus::peer_lost) == VQ_PEER_LOST &&
              static_cast<int>(OperationStatus::not_ready) == VQ_NOT_READY &&
              static_cast<int>(OperationStatus::flushed) == VQ_FLUSHED);

struct Completion {
  enum class Kind : std::uint8_t { write, read, send };
  PairId pair;
  std::uint64_t context = 0;
  std::size_t bytes = 0;
  Kind kind = Kind::write;
  OperationStatus status = OperationStatus::done;
};

/// Completions of one or more pairs. A failed request always has one, others if they are signaled; those of one pair come in
/// the order of its posts.
class CompletionQueue {
 public:
  /// `capacity`: of requests under way and completions not taken, of all its pairs; rounded up to a power of two.
  explicit CompletionQueue(std::uint32_t capacity) : ring_(std::bit_ceil(std::max(capacity, 2U))) {
    vq_completions_init(&core_, ring_.data(), static_cast<std::uint32_t>(ring_.size()));
  }
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;
  /// Takes up to `to.size()`.
  [[nodiscard]] std::size_t take(std::span<Completion> to) {
    std::size_t taken = 0;
    vq_completion one{};
    while (taken < to.size() && vq_take(&core_, &one, 1) == 1) {
      to[taken++] = {PairId(one.pair), one.wr_id, one.bytes, static_cast<Completion::Kind>(one.operation),
                     static_cast<OperationStatus>(one.status)};
    }
    return taken;
  }

  [[nodiscard]] vq_completions& core() noexcept { return core_; }

 private:
  std::vector<vq_completion> ring_;
  vq_completions core_{};
};

}  // namespace spindrift::kernel
