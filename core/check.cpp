// The trace ring and the last words of a process that found itself impossible.
#include <spindrift/core/check.hpp>

#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

namespace spindrift {
namespace {

struct TraceRecord {
  const char* what = nullptr;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
};

constexpr std::size_t trace_length = 256;
thread_local std::array<TraceRecord, trace_length> trace_ring;
thread_local std::uint64_t trace_count = 0;

}  // namespace

void trace(const char* what, std::uint64_t a, std::uint64_t b) noexcept {
  trace_ring[trace_count++ % trace_length] = {what, a, b};
}

void check_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "spindrift: bug: CHECK(%s) failed at %s:%d\n", condition, file, line);
  const std::uint64_t first = trace_count > trace_length ? trace_count - trace_length : 0;
  for (std::uint64_t i = first; i < trace_count; ++i) {
    const TraceRecord& record = trace_ring[i % trace_length];
    std::fprintf(stderr, "  trace %" PRIu64 ": %s %" PRIu64 " %" PRIu64 "\n", i, record.what, record.a, record.b);
  }
  std::abort();
}

}  // namespace spindrift
