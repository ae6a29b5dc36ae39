// Logs and their links.
#include <spindrift/store/entry.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include <spindrift/core/bytes.hpp>

namespace spindrift::store {
namespace {

using Words = std::array<std::uint64_t, 2>;

}  // namespace

std::string_view to_string(EntryKind kind) noexcept {
  switch (kind) {
    case EntryKind::message: return "message";
    case EntryKind::view: return "view";
    case EntryKind::acceptance: return "acceptance";
    case EntryKind::base: return "base";
    case EntryKind::signature: return "signature";
    case EntryKind::checkpoint: return "checkpoint";
  }
  return "unknown";
}

LogEnds::LogEnds(std::vector<LogEnd> ends) : ends_(std::move(ends)) { std::ranges::sort(ends_, {}, &LogEnd::subgroup); }

LogEnd LogEnds::of(SubgroupId subgroup) const noexcept {
  const auto end = std::ranges::lower_bound(ends_, subgroup, {}, &LogEnd::subgroup);
  if (end != ends_.end() && end->subgroup == subgroup) return *end;
  LogEnd none;
  none.subgroup = subgroup;
  return none;
}

void LogEnds::set(const LogEnd& end) {
  const auto at = std::ranges::lower_bound(ends_, end.subgroup, {}, &LogEnd::subgroup);
  if (at != ends_.end() && at->subgroup == end.subgroup) *at = end;
  else ends_.insert(at, end);
}

LogEnd end_behind(const LogEnd& before, const EntryHead& head, LogVersion version,
                  std::span<const std::byte> payload) noexcept {
  LogEnd end{head.subgroup, version, head.view, head.sequence, {}};
  if (head.kind == EntryKind::base) {
    end.link.words = ByteReader(payload).get<Words>();
    return end;
  }
  const std::uint64_t length = payload.size();
  const auto kind = static_cast<std::uint16_t>(head.kind);
  end.link = digest_of(field_bytes(before.link.words, version, head.view, head.sequence, head.subgroup, head.sender, length,
                                   kind, digest_of(payload).words));
  ++end.version;
  return end;
}

}  // namespace spindrift::store
