// Journals of a group's nodes, written here, for commands that read them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <spindrift/group/node_journal.hpp>
#include <spindrift/views/view_record.hpp>

#include "command.hpp"

namespace spindrift::test {

inline constexpr SubgroupId orders(0);
inline constexpr SubgroupId audit(2);
inline constexpr std::uint64_t begin_ns = 1'700'000'000'123'456'789;  // 2023-11-14, 22:13:20

/// A configuration, and the journals of its nodes.
struct LogFixture {
  Directory directory;
  group::JournalPlace place{directory.path() + "/journals", "logged"};
  std::string config = directory.file(
      "logged.cfg",
      "[SPINDRIFT]\ngroup_name = logged\nmembers = 0, 1, 2\nruntime_directory = " + directory.path() +
          "/run\n[PERS]\nfile_path = " + place.above +
          "\n[LAYOUT]\njson_layout = '[{\"name\": \"orders\", \"storage\": \"logged\"}, {\"name\": \"plain\"}, "
          "{\"name\": \"audit\", \"storage\": \"logged\"}]'\n");
  std::uint64_t sequence = 0;

  [[nodiscard]] std::unique_ptr<group::NodeJournal> open(std::uint32_t node, std::uint64_t segment_bytes = 1 << 20U,
                                                         store::SegmentFormat format = store::SegmentFormat::first) const {
    const group::NodeJournal::Options options{{.segment_bytes = segment_bytes, .prepared_bytes = 0, .format = format}, {}};
    return value_or_throw(
        group::NodeJournal::open(value_or_throw(group::FoundJournal::take(place, NodeId(node))), options, [] {}));
  }
  void append(group::NodeJournal& journal, std::string_view text, SubgroupId to = orders) {
    const store::EntryHead head{store::EntryKind::message,          to, NodeId(2), ViewId(7), SequenceNumber(sequence),
                                begin_ns + sequence * 1'000'000'000};
    ++sequence;
    journal.append(head, std::as_bytes(std::span(text)));
    journal.flush();
  }
  /// The node was in a view in which the subgroups of these names had logs, from place 0 on.
  static void record(group::NodeJournal& journal, const std::vector<std::string>& names) {
    views::ViewRecord record{.since = 1, .last = std::nullopt, .accepted = {}};
    record.last = views::RecordedView{.id = ViewId(7), .members = {{NodeId(1), 1}}, .roster = {}};
    for (std::uint32_t place = 0; place < names.size(); ++place) {
      SubgroupView subgroup;
      subgroup.name = names[place];
      record.last->logs.push_back({SubgroupId(place), views::name_digest(subgroup), {{NodeId(1), 1}}});
    }
    ByteWriter bytes;
    put_record(bytes, record);
    value_or_throw(journal.commit(
        {store::EntryKind::view, store::no_subgroup, NodeId(1), ViewId(7), SequenceNumber(0), begin_ns}, bytes.take()));
  }
  /// Messages "0" and so on, each in a batch of its own.
  void fill(std::uint32_t node, std::uint64_t count) {
    const auto journal = open(node, 1 << 16U);
    for (std::uint64_t i = 0; i < count; ++i) {
      append(*journal, std::to_string(i) + std::string(1000, '.'));
      value_or_throw(journal->await_durable(journal->end(), {}));
    }
    value_or_throw(journal->close());
  }
  CommandResult log(std::vector<std::string> words, std::uint32_t node = 1) const {
    words.insert(words.begin(), "log");
    words.insert(words.end(), {"--config", config, "--id", std::to_string(node)});
    return run(words);
  }
  [[nodiscard]] std::vector<std::string> segments(std::uint32_t node = 1) const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(place.of(NodeId(node))))
      if (entry.path().extension() == ".segment") all.push_back(entry.path());
    std::ranges::sort(all);
    return all;
  }
};

inline std::string content_of(const std::string& file) {
  std::ifstream from(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(from), {}};
}

inline void put(const std::string& file, std::size_t at, std::string_view bytes) {
  std::fstream to(file, std::ios::in | std::ios::out | std::ios::binary);
  to.seekp(static_cast<std::streamoff>(at));
  to << bytes;
}

/// Flips a byte of that text in the one of the files that has it; its path.
inline std::string flip(const std::vector<std::string>& files, std::string_view text) {
  for (const std::string& file : files) {
    const std::size_t at = content_of(file).find(text);
    if (at == std::string::npos) continue;
    put(file, at, std::string(1, static_cast<char>(text.front() ^ 1)));
    return file;
  }
  FAIL("no file has " << text);
  return {};
}

inline std::vector<nlohmann::json> lines_of(const std::string& output) {
  std::vector<nlohmann::json> lines;
  std::istringstream all(output);
  for (std::string line; std::getline(all, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

}  // namespace spindrift::test
