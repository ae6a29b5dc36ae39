// A process for each member; what they see goes through shared memory.
#include <spindrift/bench/papers/object.hpp>

#include <algorithm>
#include <cstring>

#include <sys/resource.h>

#include <spindrift/bench/payload.hpp>
#include <spindrift/bench/processes.hpp>
#include <spindrift/objects.hpp>

namespace spindrift::bench {

namespace {

constexpr Duration patience = std::chrono::minutes(10);
constexpr auto mark = std::byte{1};

struct alignas(cache_line_bytes) ObjectSeen {
  std::uint64_t began_ns = 0;
  std::uint64_t ended_ns = 0;
  std::uint64_t pieces = 0;
  std::uint64_t bytes = 0;
  std::uint64_t marks = 0;  ///< read: one of each line
  std::uint64_t lines = 0;
  std::uint64_t peak_bytes = 0;
  bool complete = false;
};

std::uint64_t peak_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

void run_member(const ObjectRun& run, const std::string& directory, std::uint32_t position, ObjectSeen& seen, Gate& ready,
                Gate& done) {
  log_errors_only();
  SharedWord ended;
  Group group(member_config(run.shape, directory, NodeId(position)));
  ObjectChannel& objects =
      group.objects(subgroup_name, {.on_piece =
                                        [&](const ObjectPiece& piece) {
                                          ++seen.pieces;
                                          seen.bytes += piece.bytes.size();
                                          seen.marks += read_lines(piece.bytes);
                                          seen.lines += (piece.bytes.size() + cache_line_bytes - 1) / cache_line_bytes;
                                        },
                                    .on_end =
                                        [&](const ObjectEnd& end) {
                                          seen.ended_ns = nanoseconds_now();
                                          seen.complete = end.why == ObjectEnd::Why::complete;
                                          ended.value.store(1, std::memory_order_release);
                                          futex_wake(ended, 1);
                                        }});
  ready.pass_asleep(run.shape.members);
  seen.began_ns = nanoseconds_now();
  if (position == 0) {
    objects.send_object(run.object_bytes, [](std::uint64_t, std::span<std::byte> to) {
      std::memset(to.data(), static_cast<int>(mark), to.size());
    });
  }
  while (ended.value.load(std::memory_order_acquire) == 0) futex_wait(ended, 0);
  seen.peak_bytes = peak_bytes();
  done.pass_asleep(run.shape.members);
  group.leave();
}

}  // namespace

ObjectResult run_object(const ObjectRun& run) {
  auto directory = PrivateDirectory::make();
  auto memory = SharedMemory::make(2 * sizeof(Gate) + run.shape.members * sizeof(ObjectSeen));
  const auto gates = memory.make_objects<Gate>(0, 2);
  const auto seen = memory.make_objects<ObjectSeen>(2 * sizeof(Gate), run.shape.members);
  run_processes(run.shape.members, patience, [&](std::uint32_t position) {
    run_member(run, directory.path(), position, seen[position], gates[0], gates[1]);
  });
  ObjectResult result;
  std::uint64_t last_ns = 0;
  for (const ObjectSeen& each : seen) {
    if (!each.complete || each.bytes != run.object_bytes || each.marks != each.lines) {
      throw Exception(Error(ErrorKind::bad_input, "a member was not handed the whole object, as it was sent"));
    }
    last_ns = std::max(last_ns, each.ended_ns);
    result.pieces = each.pieces;
    result.peak_bytes.push_back(each.peak_bytes);
  }
  result.seconds = seconds_between(seen[0].began_ns, last_ns);
  return result;
}

}  // namespace spindrift::bench
