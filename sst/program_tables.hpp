// The program's own tables in the rows of the shared state table: where one lies in a row, and how it is written there and
// read. The owner of a row makes tables one behind the other, whenever it likes; each says in its head what it is, so a
// reader finds by itself what a row has, and no two members agree on anything but the bytes that there are for all.
//
// The invariant to remember: a table's content is written to that of its two places that its version does not name, then the
// version, then the row's `tables`. A reader that finds the same version before and after it copied has the whole content of
// one moment. It looks at nothing before `tables` has changed: what a late mirror is caught up with comes in another order,
// but for that word, which comes last.
//
// Pure; the poller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spindrift/core/digest.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/sst/table.hpp>

namespace spindrift::sst {

/// The head of a program's table in a row; never changes.
struct ProgramTableHead {
  Digest name;
  Digest form;               ///< of all else that readers must take alike
  std::uint64_t words = 0;   ///< of the content; at least one
  bool operator==(const ProgramTableHead&) const noexcept = default;
};

/// The places of a row's tables, in the order in which they were made.
class ProgramTablePlaces {
 public:
  ProgramTablePlaces(std::uint64_t table_bytes, std::size_t versions) : bytes_(table_bytes), versions_(versions) {}
  explicit ProgramTablePlaces(const RowLayout& layout)
      : ProgramTablePlaces(layout.table_bytes(), layout.table_versions()) {}

  /// The next table, with a content of so many words. False, and nothing changed: there is no room, or no word.
  [[nodiscard]] bool add(std::uint64_t words);
  [[nodiscard]] std::size_t count() const noexcept { return tables_.size(); }
  [[nodiscard]] std::uint64_t words(std::size_t position) const { return tables_.at(position).words; }
  // From here on offsets in the row's table area.
  /// The place of the next table's head.
  [[nodiscard]] std::uint64_t next() const noexcept { return next_; }
  [[nodiscard]] std::uint64_t head(std::size_t position) const { return tables_.at(position).head; }
  /// The place of that version of the content.
  [[nodiscard]] std::uint64_t content(std::size_t position, std::uint64_t version) const;

 private:
  struct Place {
    std::uint64_t head;
    std::uint64_t words;
  };
  std::uint64_t bytes_;
  std::size_t versions_;
  std::uint64_t next_ = 0;
  std::vector<Place> tables_;
};

/// Writes a content of the own row's table number `position`, whose head is `head`, and its version. Then `tell`.
void write_program_table(Table& table, const ProgramTablePlaces& places, std::size_t position, const ProgramTableHead& head,
                         std::span<const std::uint64_t> content);
/// Tells that some own table was written in this pass.
void tell_of_program_tables(Table& table);

/// The program's tables in one other member's row, as far as this one has looked.
class ProgramTableReader {
 public:
  /// `table` outlives this.
  ProgramTableReader(const Table& table, Rank rank) : table_(table), rank_(rank), places_(table.layout(rank)) {}

  enum class Found : std::uint8_t {
    nothing,     ///< new
    contents,    ///< new ones were taken
    unfinished,  ///< the same, and one is just being written: look again
    impossible,  ///< no correct member writes it: `fault` says what. Nothing is found in this row from then on
  };
  /// Looks at a row that is attached and not frozen. `take(const ProgramTableHead&, std::span<const std::uint64_t> content)`
  /// for every table that was written since the last look.
  template <class Take>
  Found look(Take&& take) {
    if (fault_) return Found::nothing;
    if (!has_news()) return fault_ ? Found::impossible : Found::nothing;
    bool unfinished = false;
    bool any = false;
    for (std::size_t position = 0; position < table_.layout(rank_).table_versions(); ++position) {
      const Step step = read(position);
      if (step == Step::end) break;
      if (step == Step::impossible) return Found::impossible;
      unfinished |= step == Step::overtaken;
      if (step != Step::content) continue;
      take(heads_[position], std::span<const std::uint64_t>(content_));
      any = true;
    }
    if (unfinished) return Found::unfinished;
    seen_ = news_;
    return any ? Found::contents : Found::nothing;
  }
  [[nodiscard]] const std::string& fault() const { return *fault_; }

 private:
  enum class Step : std::uint8_t { same, content, overtaken, end, impossible };
  [[nodiscard]] bool has_news();
  [[nodiscard]] Step read(std::size_t position);
  [[nodiscard]] bool read_head(std::size_t position);
  [[nodiscard]] Step copy(std::size_t position, std::uint64_t version);
  [[nodiscard]] std::uint64_t word(std::uint64_t offset_in_area) const;
  bool blame(std::string what);

  const Table& table_;
  Rank rank_;
  ProgramTablePlaces places_;
  std::vector<ProgramTableHead> heads_;
  std::vector<std::uint64_t> versions_;  // as last taken
  std::vector<std::uint64_t> content_;   // of the last read
  std::uint64_t news_ = 0;               // as just read
  std::uint64_t seen_ = 0;               // everything up to there was taken
  std::optional<std::string> fault_;
};

}  // namespace spindrift::sst
