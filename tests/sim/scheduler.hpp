// Virtual time: a queue of events, each due at a nanosecond, handled one after another on one thread. Events of the same
// time run in the order in which they were scheduled, so a run is a function of its seed. The trace hash covers every event.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <spindrift/core/clock.hpp>

namespace spindrift::sim {

/// Nanoseconds of virtual time.
using Ticks = std::int64_t;

/// The kind of an event; part of the trace. The argument `which` is the handler's own.
enum class EventKind : std::uint32_t {
  fabric_event,
  lines_visible,
  start,
  step,
  timer,
  thread,
  fault,
  link_broken,
  idle,  ///< time passes
  beat,
};

class Handler {
 public:
  virtual void on_event(EventKind kind, std::uint32_t which) = 0;

 protected:
  ~Handler() = default;
};

class Scheduler {
 public:
  [[nodiscard]] Ticks now() const noexcept { return now_; }
  [[nodiscard]] Time time() const noexcept { return Time(Duration(now_)); }
  [[nodiscard]] std::uint64_t events() const noexcept { return events_; }
  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  /// When the next event is due; there is one.
  [[nodiscard]] Ticks next() const noexcept { return heap_.front().when; }

  /// `handler` outlives the event.
  void at(Ticks when, Handler& handler, EventKind kind, std::uint32_t which) {
    heap_.push_back({std::max(when, now_), next_order_++, &handler, kind, which});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  /// Handles the next event. Nothing may be handled when the queue is empty.
  void run_one() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Entry entry = heap_.back();
    heap_.pop_back();
    now_ = entry.when;
    ++events_;
    trace(static_cast<std::uint64_t>(entry.when) ^ static_cast<std::uint64_t>(entry.kind) << 56 ^
          static_cast<std::uint64_t>(entry.which) << 32);
    entry.handler->on_event(entry.kind, entry.which);
  }

  /// Adds to the trace hash.
  void trace(std::uint64_t value) noexcept {
    hash_ = (hash_ ^ value) * 0x9fb21c651e98df25;
    hash_ ^= hash_ >> 29;
  }
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }

 private:
  struct Entry {
    Ticks when;
    std::uint64_t order;
    Handler* handler;
    EventKind kind;
    std::uint32_t which;
  };
  static bool later(const Entry& a, const Entry& b) noexcept {
    return a.when != b.when ? a.when > b.when : a.order > b.order;
  }

  std::vector<Entry> heap_;
  Ticks now_ = 0;
  std::uint64_t next_order_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t hash_ = 0x243f6a8885a308d3;
};

}  // namespace spindrift::sim
