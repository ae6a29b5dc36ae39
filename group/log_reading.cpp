// Each segment says where the logs end before it, so that reading can begin at the last one that does not begin too late.
#include <spindrift/group/log_reading.hpp>

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include <spindrift/store/examine.hpp>
#include <spindrift/store/file_storage.hpp>

namespace spindrift::group {
namespace {

Error lacks(const LogPlace& log, std::uint64_t version) {
  return Error(ErrorKind::bad_input, "message " + std::to_string(version) + " of the log of subgroup " +
                                         std::to_string(log.subgroup.value()) + " cannot be read")
      .at(log.path)
      .fix("see what else has happened to that disk");
}

/// While a trim that was asked for before is under way segments go, all of them before those that are to be read. As long as
/// the oldest file is another one at each look, that is why one was not there.
Result<std::vector<store::FoundSegment>> outline(store::Storage& storage, const store::JournalOwner& owner) {
  for (std::string oldest;;) {
    auto segments = store::outline(storage, owner);
    if (segments || segments.error().kind() != ErrorKind::bad_input) return segments;
    SPINDRIFT_TRY_ASSIGN(const std::vector<std::string> names, storage.names());
    if (names.empty() || names.front() == oldest) return segments;
    oldest = names.front();
  }
}

/// A walk along one log.
class LogWalk {
 public:
  LogWalk(const LogPlace& log, std::span<const store::FoundSegment> segments, std::uint64_t from, std::uint64_t to)
      : log_(log), segments_(segments), from_(from), to_(std::max(from, to)) {
    end_.subgroup = log.subgroup;
    const auto near = std::find_if(segments.rbegin(), segments.rend(), [&](const store::FoundSegment& segment) {
      return segment.head.first <= log.base || segment.ends.of(log.subgroup).version.value() <= from;
    });
    if (near == segments.rend()) return;
    segments_ = segments.subspan(static_cast<std::size_t>(std::distance(near, segments.rend())) - 1);
    if (near->head.first > log.base) end_ = near->ends.of(log.subgroup);
  }

  Result<store::LogEnd> run(store::Storage& storage, const MessageVisitor& visitor) {
    bool more = !over();
    bool readable = true;
    if (more) {
      SPINDRIFT_TRY(store::visit_entries(storage, segments_, log_.base, [&](const store::Entry& entry) {
        if (entry.head.subgroup != log_.subgroup) return true;
        const bool message = entry.head.kind == store::EntryKind::message;
        readable = message ? entry.version == end_.version : entry.head.kind == store::EntryKind::base;
        if (!readable) return false;
        more = !message || entry.version.value() < from_ || visitor(entry);
        end_ = store::end_behind(end_, entry.head, entry.version, entry.payload);
        return more && !over();
      }));
    }
    if (!readable || (more && !over())) return lacks(log_, end_.version.value());
    return end_;
  }

 private:
  [[nodiscard]] bool over() const noexcept { return end_.version.value() >= to_; }

  const LogPlace& log_;
  std::span<const store::FoundSegment> segments_;
  std::uint64_t from_;
  std::uint64_t to_;
  store::LogEnd end_;
};

}  // namespace

Result<store::LogEnd> read_log(const LogPlace& log, std::uint64_t from, std::uint64_t to, const MessageVisitor& visitor) {
  SPINDRIFT_TRY_ASSIGN(auto storage, store::FileStorage::open_to_read(log.path));
  SPINDRIFT_TRY_ASSIGN(const auto segments, outline(storage, log.owner));
  return LogWalk(log, segments, from, to).run(storage, visitor);
}

Result<void> check_checkpoint(const LogPlace& log, const store::Checkpoint& checkpoint) {
  const std::uint64_t version = checkpoint.version.value();
  SPINDRIFT_TRY_ASSIGN(const store::LogEnd there, read_log(log, version, version, {}));
  if (there.link == checkpoint.link) return {};
  return Error(ErrorKind::bad_input, "the checkpoint of version " + std::to_string(version) +
                                         " is of another log than the messages behind it")
      .at(log.path)
      .fix("have this node forget its log, and it is given that of the others: spindrift group forget --config FILE " +
           std::to_string(log.owner.node.value()));
}

Result<void> read_checkpoint(const LogPlace& log, const store::Checkpoint& checkpoint, const StateVisitor& visitor) {
  SPINDRIFT_TRY_ASSIGN(auto storage, store::FileStorage::open_to_read(log.path));
  SPINDRIFT_TRY_ASSIGN(const auto segments, outline(storage, log.owner));
  return store::read_checkpoint(storage, segments, checkpoint, visitor);
}

}  // namespace spindrift::group
