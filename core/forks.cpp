// A list of descriptors, which a forked child goes through before fork returns there.
#include <spindrift/core/forks.hpp>

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include <spindrift/core/check.hpp>

namespace spindrift {

namespace forks {
std::atomic<std::uint32_t> generation{0};
}

namespace {

/// It lives as long as the process does, also while objects of static lifetime end.
struct KeptDescriptors {
  KeptDescriptors();

  std::mutex mutex;
  std::vector<int> descriptors;
  int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
};

KeptDescriptors& kept() {
  static KeptDescriptors& kept = *new KeptDescriptors;
  return kept;
}

// In the child, which may do what a signal handler may: no allocation, and no lock but the one that fork has taken for it.
void leave_parent() {
  for (const int descriptor : kept().descriptors) {
    if (kept().nothing < 0 || ::dup3(kept().nothing, descriptor, O_CLOEXEC) < 0) ::close(descriptor);
  }
  kept().descriptors.clear();
  forks::generation.fetch_add(1, std::memory_order_relaxed);
  kept().mutex.unlock();
}

KeptDescriptors::KeptDescriptors() {
  const int failed = ::pthread_atfork([] { kept().mutex.lock(); }, [] { kept().mutex.unlock(); }, leave_parent);
  CHECK(failed == 0);
}

}  // namespace

void keep_from_children(int descriptor) {
  KeptDescriptors& all = kept();
  const std::lock_guard lock(all.mutex);
  all.descriptors.push_back(descriptor);
}

// Between the two steps the number could be another file's of a child.
void close_kept(int descriptor) noexcept {
  KeptDescriptors& all = kept();
  const std::lock_guard lock(all.mutex);
  std::erase(all.descriptors, descriptor);
  ::close(descriptor);
}

}  // namespace spindrift
