// The other half of a repair: the journals that messages are taken from.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/store/repair.hpp>
#include <spindrift/store/segment_file.hpp>

namespace spindrift::store {

/// Says of lacking messages where they are, and why of which they are nowhere. Not thread-safe.
class RepairSources {
 public:
  explicit RepairSources(std::span<Storage* const> storages) : storages_(storages) {}

  /// Reads all of them. Errors: as of `plan_repair`.
  [[nodiscard]] Result<void> read(const RepairPlan& plan);
  /// Fills in where each message is; or says why there is none that is proved to be it.
  [[nodiscard]] std::optional<Error> find(LackingMessages& lacking, const std::string& place) const;

 private:
  struct Candidate {
    StoredMessage place;
    Digest before;
    Digest behind;
  };
  struct Source {
    JournalFindings findings;
    std::map<SubgroupId, LogVersion> begins;  ///< the version of the first message that its log has
  };
  using Version = std::pair<SubgroupId, LogVersion>;

  [[nodiscard]] Result<void> read_source(std::size_t index, const JournalOwner& owner);
  void note(std::size_t index, const FoundSegment& segment, const FoundEntry& found, std::uint64_t at);
  [[nodiscard]] bool wanted(const Version& version) const;
  [[nodiscard]] Error nowhere(const LackingMessages& lacking, LogVersion version, const std::string& place) const;
  [[nodiscard]] std::string lack_of(std::size_t index, const Version& version) const;
  [[nodiscard]] std::string directory_of(std::size_t index) const;

  std::span<Storage* const> storages_;
  std::vector<Source> sources_;
  std::map<SubgroupId, std::vector<std::pair<LogVersion, LogVersion>>> wanted_;
  std::map<Version, std::vector<Candidate>> candidates_;
};

/// Messages by their places; the segment that was read last is kept.
class MessageReader {
 public:
  explicit MessageReader(std::span<Storage* const> storages) : storages_(storages) {}

  /// Valid until the next call. Errors: bad_input (it is not there any more), resource.
  [[nodiscard]] Result<Entry> read(const StoredMessage& place);

 private:
  [[nodiscard]] Result<void> open(const StoredMessage& place);

  std::span<Storage* const> storages_;
  StoredMessage opened_;  // the last one
  SegmentSeal seal_;
  Blocks blocks_;        // of its segment; empty: none was read
};

}  // namespace spindrift::store
