// Store, then load something that another thread stores before it loads ours: of two threads that do so, at least one sees
// the other, if both put a barrier between. Where one side does it for every message and the other hardly ever, the often
// side need not pay: its barrier only holds the compiler, and the seldom side's has the kernel put one into every running
// thread of the process (membarrier, Linux 4.14). Where the kernel refuses, both are full fences.
#pragma once

#include <atomic>

namespace spindrift {

/// Whether the kernel does it; fixed before main.
extern const bool kernel_has_membarrier;

/// A fence for both; as an addition where ThreadSanitizer watches, which does not know fences.
inline void full_barrier() noexcept {
#ifdef __SANITIZE_THREAD__
  static std::atomic<int> all{0};
  all.fetch_add(1, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

/// The often side's. The store before it and the load behind it may be relaxed.
inline void light_barrier() noexcept {
  if (kernel_has_membarrier) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    full_barrier();
  }
}

/// The seldom side's: some microseconds.
void heavy_barrier() noexcept;

}  // namespace spindrift
