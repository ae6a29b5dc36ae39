// Places, writing and reading of program tables.
#include <spindrift/sst/program_tables.hpp>

#include <array>
#include <limits>

#include <spindrift/core/check.hpp>
#include <spindrift/core/untrusted.hpp>

namespace spindrift::sst {
namespace {

constexpr std::uint64_t head_bytes = cache_line_bytes;
constexpr unsigned attempts = 3;  // of a reader that the owner overtakes, in one look

constexpr std::uint64_t lines_of(std::uint64_t words) noexcept {
  return (words * word_bytes + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
}

}  // namespace

bool ProgramTablePlaces::add(std::uint64_t words) {
  if (words == 0 || words > bytes_ / word_bytes || tables_.size() == versions_) return false;
  const std::uint64_t bytes = head_bytes + 2 * lines_of(words);
  if (bytes > bytes_ - next_) return false;
  tables_.push_back({next_, words});
  next_ += bytes;
  return true;
}

std::uint64_t ProgramTablePlaces::content(std::size_t position, std::uint64_t version) const {
  const Place& place = tables_.at(position);
  return place.head + head_bytes + version % 2 * lines_of(place.words);
}

void write_program_table(Table& table, const ProgramTablePlaces& places, std::size_t position, const ProgramTableHead& head,
                         std::span<const std::uint64_t> content) {
  CHECK(content.size() == places.words(position) && head.words == content.size());
  const RowLayout& layout = table.layout(table.self());
  const std::uint64_t version = table.own(layout.table_version(position)) + 1;
  if (version == 1) {
    const std::array<std::uint64_t, 5> words{head.name.words[0], head.name.words[1], head.form.words[0], head.form.words[1],
                                             head.words};
    table.store_data(layout.table_area() + places.head(position), words, Table::everybody);
  }
  table.store_data(layout.table_area() + places.content(position, version), content, Table::everybody);
  table.store(layout.table_version(position), version, Table::everybody);
}

void tell_of_program_tables(Table& table) {
  const std::uint64_t offset = table.layout(table.self()).tables();
  table.store(offset, table.own(offset) + 1, Table::everybody);
}

bool ProgramTableReader::blame(std::string what) {
  fault_ = std::move(what);
  return false;
}

bool ProgramTableReader::has_news() {
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  const auto news = table_.read(rank_, table_.layout(rank_).tables()).within(seen_, most);
  if (!news) return blame("its count of changed tables fell");
  news_ = *news;
  return news_ != seen_;
}

// A word that only its copy is used of, after a check of the whole.
std::uint64_t ProgramTableReader::word(std::uint64_t offset_in_area) const {
  return load_acquire(table_.bytes(rank_, table_.layout(rank_).table_area() + offset_in_area));
}

ProgramTableReader::Step ProgramTableReader::read(std::size_t position) {
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t known = position < versions_.size() ? versions_[position] : 0;
  for (unsigned attempt = 0; attempt < attempts; ++attempt) {
    const auto version = table_.read(rank_, table_.layout(rank_).table_version(position)).within(known, most);
    if (!version) {
      static_cast<void>(blame("the version of a table fell"));
      return Step::impossible;
    }
    if (*version == 0) return Step::end;
    if (*version == known) return Step::same;
    if (position == heads_.size() && !read_head(position)) return Step::impossible;
    if (const Step step = copy(position, *version); step != Step::overtaken) return step;
  }
  return Step::overtaken;
}

bool ProgramTableReader::read_head(std::size_t position) {
  const std::uint64_t at = places_.next();
  if (at + head_bytes > table_.layout(rank_).table_bytes()) return blame("a table has no room for its head");
  ProgramTableHead head;
  for (std::size_t i = 0; i < 2; ++i) head.name.words[i] = word(at + i * word_bytes);
  for (std::size_t i = 0; i < 2; ++i) head.form.words[i] = word(at + (2 + i) * word_bytes);
  head.words = word(at + 4 * word_bytes);
  if (!places_.add(head.words)) return blame("a table has an impossible size");
  CHECK(places_.count() == position + 1);
  heads_.push_back(head);
  versions_.push_back(0);
  return true;
}

ProgramTableReader::Step ProgramTableReader::copy(std::size_t position, std::uint64_t version) {
  const std::uint64_t at = places_.content(position, version);
  content_.resize(places_.words(position));
  for (std::size_t i = 0; i < content_.size(); ++i) content_[i] = word(at + i * word_bytes);
  if (!table_.read(rank_, table_.layout(rank_).table_version(position)).equals(version)) return Step::overtaken;
  versions_[position] = version;
  return Step::content;
}

}  // namespace spindrift::sst
