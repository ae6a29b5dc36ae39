// The ring is used by the thread that waits for it, so the kernel does its part of the work there.
#include <spindrift/store/write_ring.hpp>

#include <liburing.h>
#include <sys/uio.h>

#include <cerrno>
#include <utility>

namespace spindrift::store {

struct WriteRing::Ring {
  io_uring ring{};
};

WriteRing::WriteRing(std::unique_ptr<Ring> ring) noexcept : ring_(std::move(ring)) {}
WriteRing::~WriteRing() { io_uring_queue_exit(&ring_->ring); }

std::unique_ptr<WriteRing> WriteRing::make() {
  constexpr unsigned entries = 2;
  auto ring = std::make_unique<Ring>();
  if (io_uring_queue_init(entries, &ring->ring, 0) != 0) return nullptr;
  io_uring_ring_dontfork(&ring->ring);
  return std::unique_ptr<WriteRing>(new WriteRing(std::move(ring)));
}

int WriteRing::begin(int file, std::uint64_t at, std::span<const std::byte> from) noexcept {
  io_uring_sqe* const entry = io_uring_get_sqe(&ring_->ring);
  if (entry == nullptr) return EAGAIN;
  io_uring_prep_write(entry, file, from.data(), static_cast<unsigned>(from.size()), at);
  entry->rw_flags = RWF_DSYNC;
  const int submitted = io_uring_submit(&ring_->ring);
  if (submitted == 1) return 0;
  return submitted < 0 ? -submitted : EAGAIN;
}

int WriteRing::finish() noexcept {
  io_uring_cqe* completion = nullptr;
  int waited = 0;
  do waited = io_uring_wait_cqe(&ring_->ring, &completion);
  while (waited == -EINTR);
  if (waited != 0) return waited;
  const int result = completion->res;
  io_uring_cqe_seen(&ring_->ring, completion);
  return result;
}

}  // namespace spindrift::store
