// A ring of the core's, and its completions in the words of C++.
#include <spindrift/kernel/completion_queue.hpp>

#include <algorithm>
#include <bit>

namespace spindrift::kernel {

static_assert(static_cast<int>(OperationStatus::done) == VQ_DONE &&
              static_cast<int>(OperationStatus::local_error) == VQ_LOCAL_ERROR &&
              static_cast<int>(OperationStatus::access_refused) == VQ_ACCESS_REFUSED &&
              static_cast<int>(OperationStatus::peer_lost) == VQ_PEER_LOST &&
              static_cast<int>(OperationStatus::not_ready) == VQ_NOT_READY &&
              static_cast<int>(OperationStatus::flushed) == VQ_FLUSHED);

CompletionQueue::CompletionQueue(std::uint32_t capacity) : ring_(std::bit_ceil(std::max(capacity, 2U))) {
  vq_completions_init(&core_, ring_.data(), static_cast<std::uint32_t>(ring_.size()));
}

std::size_t CompletionQueue::take(std::span<Completion> to) {
  std::size_t taken = 0;
  vq_completion one{};
  while (taken < to.size() && vq_take(&core_, &one, 1) == 1) {
    to[taken++] = {PairId(one.pair), one.wr_id, one.bytes, static_cast<Completion::Kind>(one.operation),
                   static_cast<OperationStatus>(one.status)};
  }
  return taken;
}

}  // namespace spindrift::kernel
