// The enumeration of crash states has each state that it ought to have, and no other; and it finds what it is for.
#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crash_states.hpp"
#include "disk_user.hpp"

using namespace spindrift;
using namespace spindrift::sim;
using store::block_bytes;

namespace {

using Kind = DiskStep::Kind;

DiskStep made(std::string name, std::uint64_t blocks) {
  return {.kind = Kind::create, .name = std::move(name), .bytes = blocks * block_bytes};
}
DiskStep written(std::string name, std::uint64_t block, std::string_view text, Kind kind = Kind::write) {
  return {.kind = kind, .name = std::move(name), .at = block * block_bytes, .bytes = text.size() * block_bytes,
          .blocks = contents_of(blocks_of(text))};
}
DiskStep written_durably(std::string name, std::uint64_t block, std::string_view text) {
  return written(std::move(name), block, text, Kind::write_durably);
}
DiskStep synced(std::string name) { return {.kind = Kind::sync, .name = std::move(name)}; }
DiskStep renamed(std::string from, std::string to) {
  return {.kind = Kind::rename, .name = std::move(from), .other_name = std::move(to)};
}
DiskStep removed(std::string name) { return {.kind = Kind::remove, .name = std::move(name)}; }
DiskStep names_synced() { return {.kind = Kind::sync_names}; }

/// Without torn blocks, of which the texts say nothing.
const CrashLimits whole{.torn_writes = 0};

/// A disk on which that is durable.
DiskContents contents_after(const std::vector<DiskStep>& steps) {
  DiskContents contents;
  for (const DiskStep& step : steps) contents.apply(step);
  contents.sync_names();
  return contents;
}

/// All states of a trace as text, in order, by the count of steps that were done.
std::map<std::size_t, std::vector<std::string>> texts_of(const DiskContents& before, const std::vector<DiskStep>& trace,
                                                        const CrashLimits& limits = whole) {
  std::map<std::size_t, std::vector<std::string>> texts;
  const auto counts = for_each_crash_state(before, trace, limits, [&](SimulatedDisk& disk, const CrashPoint& point) {
    texts[point.steps_done].push_back(text_of(*disk.storage()));
  });
  std::size_t states = 0;
  for (auto& [steps, found] : texts) states += found.size();
  CHECK(states == counts.states);
  for (auto& [steps, found] : texts) std::sort(found.begin(), found.end());
  return texts;
}

using Texts = std::vector<std::string>;

/// The two files of a small journal: "log" is made beside it, gets its content, and takes its name.
std::vector<DiskStep> journal_trace(bool syncs_first) {
  std::vector<DiskStep> trace{made("old", 1), written("old", 0, "o"), synced("old"), names_synced(), renamed("old", "log"),
                              names_synced()};
  trace.insert(trace.end(), {made("next", 2), written("next", 0, "xy")});
  if (syncs_first) trace.insert(trace.end(), {synced("next"), renamed("next", "log")});
  else trace.insert(trace.end(), {renamed("next", "log"), synced("log")});
  trace.push_back(names_synced());
  trace.push_back(written_durably("log", 0, "z"));
  return trace;
}

/// The states in which "log" is neither what it was nor what it becomes, once it was there.
std::vector<std::string> complaints_about(const std::vector<DiskStep>& trace, const CrashLimits& limits) {
  std::vector<std::string> complaints;
  for_each_crash_state(trace, limits, [&](SimulatedDisk& disk, const CrashPoint& point) {
    if (point.steps_done < 6) return;
    const auto storage = disk.storage();
    const std::string text = text_of(*storage, "log");
    std::set<std::string> allowed{"o", "xy"};
    if (point.steps_done >= 11) allowed = {"xy", "zy", "?y"};
    if (point.steps_done == trace.size()) allowed = {"zy"};
    if (!allowed.contains(text)) complaints.push_back(text + " " + to_string(point));
  });
  return complaints;
}

}  // namespace

TEST_CASE("the states of a file that is made, written, synced and named are exactly these") {
  const auto texts = texts_of({}, {made("a", 1), written("a", 0, "x"), synced("a"), names_synced()});
  REQUIRE(texts.size() == 5);
  CHECK(texts.at(0) == Texts{""});
  CHECK(texts.at(1) == Texts{"", "a=", "a=."});
  CHECK(texts.at(2) == Texts{"", "a=", "a=.", "a=x"});
  CHECK(texts.at(3) == Texts{"", "a=x"});
  CHECK(texts.at(4) == Texts{"a=x"});
}

TEST_CASE("the states of writes are all subsets of their blocks, with one version of each") {
  const DiskContents before = contents_after({made("a", 4), written("a", 0, "abcd"), synced("a")});
  const auto texts = texts_of(before, {written("a", 0, "xy"), written("a", 1, "z")});
  CHECK(texts.at(0) == Texts{"a=abcd"});
  CHECK(texts.at(1) == Texts{"a=abcd", "a=aycd", "a=xbcd", "a=xycd"});
  CHECK(texts.at(2) == Texts{"a=abcd", "a=aycd", "a=azcd", "a=xbcd", "a=xycd", "a=xzcd"});
}

TEST_CASE("a durable write may be there in part before it returns, and is whole behind it") {
  const DiskContents before = contents_after({made("a", 2), written("a", 0, "ab"), synced("a")});
  const auto texts = texts_of(before, {written_durably("a", 0, "xy")});
  CHECK(texts.at(0) == Texts{"a=ab", "a=ay", "a=xb", "a=xy"});
  CHECK(texts.at(1) == Texts{"a=xy"});
}

TEST_CASE("the states of names are the first so many operations, or all combinations that are possible") {
  const DiskContents before = contents_after({made("a", 1), written("a", 0, "a"), synced("a"), made("b", 1), synced("b")});
  const std::vector<DiskStep> trace{renamed("a", "c"), removed("b"), renamed("c", "d")};
  const auto in_order = texts_of(before, trace);
  CHECK(in_order.at(3) == Texts{"a=a b=.", "b=. c=a", "c=a", "d=a"});
  const auto in_any_order = texts_of(before, trace, {.torn_writes = 0, .reordered = true});
  CHECK(in_any_order.at(3) == Texts{"a=a", "a=a b=.", "b=. c=a", "b=. d=a", "c=a", "d=a"});
}

TEST_CASE("what is not durable of a file that has lost its name or its size is not counted") {
  // By names: none, the first, both. By sizes of each: empty, or any of the blocks.
  const auto texts = texts_of({}, {made("a", 2), made("b", 1), written("a", 0, "xy"), written("b", 0, "z")});
  CHECK(texts.at(4).size() == 1 + (1 + 4) + (1 + 4) * (1 + 2));
  CHECK(std::set<std::string>(texts.at(4).begin(), texts.at(4).end()).size() == texts.at(4).size());
}

TEST_CASE("twelve blocks come in all subsets, and of more a sample that has the telling ones") {
  const DiskContents before = contents_after({made("a", 40), synced("a")});
  const auto all = texts_of(before, {written("a", 0, "abcdefghijkl")});
  CHECK(all.at(1).size() == 4096);
  CHECK(std::set<std::string>(all.at(1).begin(), all.at(1).end()).size() == 4096);

  // The later blocks are written first.
  const std::string content = "abcdefghijklmnopqrst";
  const std::vector<DiskStep> trace{written("a", 10, content.substr(0, 10)), written("a", 0, content.substr(10))};
  const auto sample = texts_of(before, trace, {.samples = 50, .torn_writes = 0});
  CHECK(sample.at(2).size() == 2 * 20 + 2 * 18 + 50);
  const std::set<std::string> found(sample.at(2).begin(), sample.at(2).end());
  const auto has = [&](const std::function<bool(std::size_t)>& there) {
    std::string text(40, '.');
    for (std::size_t i = 0; i < content.size(); ++i)
      if (there(i)) text[(i + 10) % 20] = content[i];
    return found.contains("a=" + text);
  };
  for (std::size_t count = 0; count <= content.size(); ++count) {
    CHECK(has([&](std::size_t i) { return i < count; }));
    CHECK(has([&](std::size_t i) { return i >= count; }));
    CHECK(has([&](std::size_t i) { return i == count; }));
    CHECK(has([&](std::size_t i) { return i != count; }));
  }
}

TEST_CASE("a sample has each file without its size") {
  DiskContents before = contents_after({made("a", 12), made("b", 1)});
  const std::vector<DiskStep> trace{written("a", 0, "abcdefghijkl"), written("b", 0, "z"), synced("b")};
  const auto texts = texts_of(before, trace, {.samples = 0, .torn_writes = 0});
  CHECK(texts.at(2).size() == 2 * 13 + 2 * 11 + 2);
  const std::set<std::string> found(texts.at(2).begin(), texts.at(2).end());
  CHECK(found.contains("a= b=z"));
  CHECK(found.contains("a=abcdefghijkl b="));
  // One more than 4,096, for the file may be empty.
  CHECK(texts.at(3).size() == 2 * 12 + 2 * 10 + 1);
}

TEST_CASE("the same seed draws the same sample") {
  const DiskContents before = contents_after({made("a", 40), synced("a")});
  const std::vector<DiskStep> trace{written("a", 0, "abcdefghijklmnopqrst")};
  CHECK(texts_of(before, trace, {.seed = 3}) == texts_of(before, trace, {.seed = 3}));
  CHECK(texts_of(before, trace, {.seed = 3}) != texts_of(before, trace, {.seed = 4}));
}

TEST_CASE("the last writes are torn in each way, with and without what was written behind them") {
  const DiskContents before = contents_after({made("a", 3), written("a", 0, "abc"), synced("a")});
  std::map<std::string, std::size_t> torn;
  const std::vector<DiskStep> trace{written("a", 0, "xyz")};
  const auto counts = for_each_crash_state(before, trace, {.torn_writes = 2}, [&](SimulatedDisk& disk, const CrashPoint&) {
    ++torn[text_of(*disk.storage())];
  });
  CHECK(counts.torn_states == 3 * torn_shapes);
  CHECK(counts.states == 1 + 8 + 3 * torn_shapes);
  CHECK(counts.sampled_outcomes == 0);
  CHECK(torn["a=xy?"] == torn_shapes);
  CHECK(torn["a=x?z"] == torn_shapes);
  CHECK(torn["a=x?c"] == torn_shapes);
}

TEST_CASE("a state is a disk that goes on, and crashes again") {
  const DiskContents before = contents_after({made("a", 2), written("a", 0, "ab"), synced("a")});
  std::set<std::string> texts;
  const std::vector<DiskStep> trace{written("a", 0, "x")};
  for_each_crash_state(before, trace, whole, [&](SimulatedDisk& disk, const CrashPoint&) {
    REQUIRE(put_blocks(**disk.storage()->open("a"), 1, "y"));
    const std::vector<DiskStep> steps(disk.steps().begin(), disk.steps().end());
    const std::string own = text_of(*disk.storage());
    disk.crash(everything_lost);
    for_each_crash_state(disk.contents(), steps, whole, [&](SimulatedDisk& again, const CrashPoint&) {
      texts.insert(own + " " + text_of(*again.storage()));
    });
  });
  CHECK(texts == std::set<std::string>{"a=ay a=ab", "a=ay a=ay", "a=xy a=xb", "a=xy a=xy"});
}

TEST_CASE("a file that takes its name before it is synced is found") {
  const auto complaints = complaints_about(journal_trace(false), {});
  REQUIRE_FALSE(complaints.empty());
  CHECK(complaints.front().find("after 9 steps: names: log=2") != std::string::npos);
  CHECK_FALSE(complaints_about(journal_trace(false), {.reordered = true}).empty());
}

TEST_CASE("a file that is synced before it takes its name is not complained about") {
  CHECK(complaints_about(journal_trace(true), {}).empty());
  CHECK(complaints_about(journal_trace(true), {.reordered = true}).empty());
}

TEST_CASE("names that are not synced before what relies on them are found") {
  std::vector<DiskStep> trace = journal_trace(true);
  std::erase_if(trace, [&, at = 0](const DiskStep&) mutable { return at++ == 10; });
  CHECK(trace.size() == 11);
  CHECK_FALSE(complaints_about(trace, {}).empty());
}
