// The system call behind the heavy barrier.
#include <spindrift/core/asymmetric_barrier.hpp>

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <spindrift/core/check.hpp>

namespace spindrift {
namespace {

long membarrier(int command) noexcept { return syscall(SYS_membarrier, command, 0, 0); }

}  // namespace

const bool kernel_has_membarrier = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;

void heavy_barrier() noexcept {
  full_barrier();
  if (kernel_has_membarrier) CHECK(membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0);
}

}  // namespace spindrift
