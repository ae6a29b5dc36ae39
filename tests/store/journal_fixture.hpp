// A journal's owner in tests: opens it as one process after the other, appends texts, and reads back what is there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/store/batch.hpp>
#include <spindrift/store/examine.hpp>
#include <spindrift/store/journal.hpp>

namespace spindrift::store {

inline const JournalOwner test_owner{digest_of("group"), NodeId(3)};

/// Few blocks, so that segments follow each other soon; nothing is prepared.
inline constexpr JournalOptions small_segments{.segment_bytes = 12 * block_bytes, .prepared_bytes = 0};

/// The next process of the node.
[[nodiscard]] inline Result<Journal> open_journal(Storage& storage, std::uint64_t incarnation,
                                                  const JournalOptions& options = small_segments) {
  SPINDRIFT_TRY_ASSIGN(const JournalFindings findings, examine(storage, test_owner));
  return Journal::open(storage, findings, {test_owner, incarnation}, digest_of("journal"), options);
}

inline void append_text(Batch& batch, std::string_view text, SubgroupId subgroup = SubgroupId(0)) {
  const EntryHead head{EntryKind::message, subgroup, NodeId(1), ViewId(2), SequenceNumber(5), 7};
  batch.append(head, std::as_bytes(std::span(text)));
}

/// Appends these, and commits them at once.
[[nodiscard]] inline Result<void> commit_texts(Journal& journal, std::initializer_list<std::string_view> texts) {
  Batch batch;
  for (const std::string_view text : texts) append_text(batch, text);
  return journal.commit(batch);
}

/// An entry as tests look at it.
struct ReadEntry {
  std::uint64_t position = 0;
  std::uint64_t version = 0;
  EntryHead head;
  std::string text;
};

[[nodiscard]] inline std::vector<ReadEntry> read_entries(Storage& storage, const JournalFindings& findings,
                                                         JournalPosition from = {}) {
  std::vector<ReadEntry> all;
  value_or_throw(visit_entries(storage, findings, from, [&](const Entry& entry) {
    all.push_back({entry.position.value(), entry.version.value(), entry.head,
                   std::string(reinterpret_cast<const char*>(entry.payload.data()), entry.payload.size())});
    return true;
  }));
  return all;
}

/// The texts of all entries that can be read, one behind the other with a blank between.
[[nodiscard]] inline std::string texts_of(Storage& storage) {
  std::string texts;
  for (const ReadEntry& entry : read_entries(storage, value_or_throw(examine(storage, test_owner))))
    texts += (texts.empty() ? "" : " ") + entry.text;
  return texts;
}

}  // namespace spindrift::store
