// The journal of a worker of the chaos runs, in a file that outlives it whatever kills it: records of one size in a shared
// mapping. Written by several threads, read when all are gone.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <spindrift/core/file_descriptor.hpp>

namespace spindrift::chaos {

enum class Kind : std::uint64_t {
  none,      ///< not written, or not in full
  start,     ///< node, incarnation: not the group's, but this worker's own
  view,      ///< view; `value`: members; `count`: when, in ns of the machine's clock
  member,    ///< of the last view: node, incarnation (the group's)
  boundary,  ///< view, subgroup, begun, count, digest: the state at the beginning of a view, at a process that has it
  delivery,  ///< view, subgroup, begun, sender node and incarnation, value: its counter, count and digest after it
  sent,      ///< subgroup, value: the counter; begun, count: what it had delivered before; the send has returned
  loaded,    ///< view, subgroup, begun, count, digest
  bad,       ///< something is wrong; value: which check of the worker's
  left,      ///< gracefully
  ended,     ///< value: the error's kind
  leaving,   ///< it is about to ask to leave; count: when
  large,     ///< the delivery before it was of a large message: subgroup, sender node, value: its bytes
  dropped,   ///< it was told that its messages may have reached nobody: subgroup, value: how many
};

/// The faults that a worker finds by itself.
enum class Wrong : std::uint64_t { payload = 1, loaded_twice, broken_state };

struct Record {
  std::uint64_t kind = 0;
  std::uint32_t subgroup = 0;
  std::uint32_t node = 0;
  std::uint64_t incarnation = 0;
  std::uint64_t view = 0;
  std::uint64_t begun = 0;  ///< the view in which this state of the subgroup began from nothing
  std::uint64_t count = 0;  ///< deliveries since
  std::uint64_t digest = 0;
  std::uint64_t value = 0;
};
static_assert(sizeof(Record) == 64);

/// Any number of threads append.
class Journal {
 public:
  explicit Journal(const std::string& path) {
    const FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file || ::ftruncate(file.get(), static_cast<off_t>(capacity * sizeof(Record))) != 0)
      throw std::runtime_error("journal " + path);
    void* const memory = ::mmap(nullptr, capacity * sizeof(Record), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (memory == MAP_FAILED) throw std::runtime_error("map " + path);
    records_ = static_cast<Record*>(memory);
  }

  void append(Kind kind, Record record) noexcept {
    const std::uint64_t at = next_.fetch_add(1, std::memory_order_relaxed);
    if (at >= capacity) return;  // the checker sees a full journal
    record.kind = 0;
    records_[at] = record;
    std::atomic_ref(records_[at].kind).store(static_cast<std::uint64_t>(kind), std::memory_order_release);
  }
  [[nodiscard]] bool nearly_full() const noexcept { return next_.load(std::memory_order_relaxed) > capacity / 2; }

  static constexpr std::uint64_t capacity = 1U << 20U;

 private:
  Record* records_ = nullptr;
  std::atomic<std::uint64_t> next_{0};
};

}  // namespace spindrift::chaos
