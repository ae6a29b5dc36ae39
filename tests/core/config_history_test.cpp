// Histories in layouts: how they are written, what each costs, and which cannot be.
#include "config_fixture.hpp"

#include <spindrift/core/config/layout_parts.hpp>
#include <spindrift/core/history_bounds.hpp>

using namespace spindrift;
using namespace spindrift::test;
using Catch::Matchers::Contains;

namespace {

std::vector<HistoryBounds> histories_of(const std::string& layout) {
  const View view = parse(with_layout(layout)).view().value();
  std::vector<HistoryBounds> all;
  for (const SubgroupView& each : view.subgroups) all.push_back(each.history);
  return all;
}

/// The layout's text stands on line 4.
void check(std::string_view json, std::initializer_list<Expected> expected) {
  check_text_problems(with_layout(json) + with_journals, expected);
}

ConfigDigest digest_with(std::string_view history) {
  return parse(with_layout(R"([{"name": "a")" + std::string(history) + R"(}, {"name": "b"}])")).digest();
}

std::vector<std::string> notes_of(const std::string& json) { return parse(with_layout(json)).notes(); }

}  // namespace

TEST_CASE("a subgroup keeps no history unless its entry says so, by a number of messages or by bounds") {
  using All = std::vector<HistoryBounds>;
  CHECK(histories_of(R"([{"name": "a"}, {"name": "b", "history": 1000}, {"name": "c", "history": "7"},
                         {"name": "d", "history": {"messages": 5, "bytes": 20000, "age_ms": 60000}},
                         {"name": "e", "history": {"bytes": 20000}}, {"name": "f", "history": null}])") ==
        All{{}, {.messages = 1000}, {.messages = 7}, {5, 20000, 60000}, {.bytes = 20000}, {}});
}

TEST_CASE("shards have the history of their entry, and in Derecho's form each its own") {
  using All = std::vector<HistoryBounds>;
  CHECK(histories_of(R"([{"name": "cut", "shards": 2, "history": 9}])") == All{{.messages = 9}, {.messages = 9}});
  CHECK(histories_of(R"([{"name": "Foo", "layout": [{"min_nodes_by_shard": [1, 1, 1], "max_nodes_by_shard": [1, 1, 1],
                          "history_by_shard": [null, 3, {"age_ms": 5, "messages": 4}]}]}])") ==
        All{{}, {.messages = 3}, {.messages = 4, .age_ms = 5}});
}

TEST_CASE("a history bounded by age alone has a bound on bytes besides") {
  CHECK(histories_of(R"([{"name": "a", "history": {"age_ms": 60000}}])").front() ==
        HistoryBounds{.bytes = history_bytes_usual, .age_ms = 60000});
  CHECK(histories_of(R"([{"name": "a", "history": {"age_ms": 60000, "messages": 3}}])").front() ==
        HistoryBounds{.messages = 3, .age_ms = 60000});
}

TEST_CASE("a history that is none is refused where it stands") {
  check(R"([{"name": "a", "history": 0}, {"name": "b", "history": "all"}, {"name": "c", "history": [3]}])",
        {{"test.cfg:4, layout[0].history", "a number of messages belongs here", "from 1 to 4294967296"},
         {"test.cfg:4, layout[1].history", "a number of messages belongs here", ""},
         {"test.cfg:4, layout[2].history", "a number of messages belongs here", ""}});
  check(R"([{"name": "a", "history": {}}, {"name": "b", "history": {"mesages": 3}}])",
        {{"test.cfg:4, layout[0].history", "the history has no bound", R"({"messages": 1000})"},
         {"test.cfg:4, layout[1].history", "\"mesages\" is unknown", "did you mean messages?"},
         {"test.cfg:4, layout[1].history", "the history has no bound", ""}});
  check(R"([{"name": "a", "history": {"messages": 4294967297, "bytes": 0, "age_ms": -1}}])",
        {{"test.cfg:4, layout[0].history.messages", "a number of messages", "from 1 to 4294967296"},
         {"test.cfg:4, layout[0].history.bytes", "a number of bytes", "from 1 to 68719476736"},
         {"test.cfg:4, layout[0].history.age_ms", "a number of milliseconds", "from 1 to 31536000000"}});
  check(R"([{"name": "Foo", "layout": [{"min_nodes_by_shard": [1, 1], "max_nodes_by_shard": [1, 1],
             "history_by_shard": [3, {"bytes": 1.5}]}]}])",
        {{"test.cfg:4, layout[0].layout[0].history_by_shard[1].bytes", "a number of bytes", ""}});
  check(R"([{"name": "Foo", "history": 3, "layout": [{"min_nodes_by_shard": [1], "max_nodes_by_shard": [1]}]}])",
        {{"test.cfg:4, layout[0]", "\"history\" is unknown", ""}});
  check(R"([{"name": "a", "histroy": 3}])", {{"test.cfg:4, layout[0]", "\"histroy\" is unknown", "did you mean history?"}});
}

TEST_CASE("a history that the subgroup cannot have is refused at its entry, with the reason and the way out") {
  check(R"([{"name": "fine", "history": 5}, {"name": "a", "history": 5, "mode": "unordered"}])",
        {{"test.cfg:4, layout[1]", "subgroup \"a\": it keeps a history, and is unordered", "let it be ordered"}});
  check(R"([{"name": "a", "history": {"bytes": 10287}}, {"name": "b", "history": {"bytes": 10288}}])",
        {{"test.cfg:4, layout[0]", "of 10287 bytes, in which its largest message, of 10288 with its head", "10288 bytes"}});
  // Once for all shards of an entry, and for each that Derecho's form lists.
  check(R"([{"name": "a", "history": 5, "mode": "unordered", "shards": 3}])",
        {{"test.cfg:4, layout[0]", "subgroup \"a\"", ""}});
  check(R"([{"name": "Foo", "layout": [{"min_nodes_by_shard": [1, 1, 1], "max_nodes_by_shard": [1, 1, 1],
             "delivery_modes_by_shard": ["Raw", "Raw", "Raw"], "history_by_shard": [5, 5, null]}]}])",
        {{"test.cfg:4, layout[0].layout[0].min_nodes_by_shard[0]", "subgroup \"Foo\"", ""},
         {"test.cfg:4, layout[0].layout[0].min_nodes_by_shard[1]", "subgroup \"Foo/1\"", ""}});
}

TEST_CASE("notes say the memory that each history takes, and a bound that nobody wrote") {
  CHECK(notes_of(R"([{"name": "a"}])").empty());
  const auto notes = notes_of(R"([{"name": "a", "history": 10}, {"name": "b", "history": {"age_ms": 5}},
                                  {"name": "c", "history": {"age_ms": 5, "bytes": 20000}, "shards": 3}])");
  REQUIRE(notes.size() == 3);
  CHECK(notes[0] == "test.cfg:4, layout[0]: the history of subgroup \"a\" takes each member at most " +
                        std::to_string(10 * 10288 + 131072 + 10288) + " bytes of memory");
  CHECK_THAT(notes[1], Contains("layout[1]") && Contains(", bytes being 67108864, for age_ms is the only bound"));
  CHECK_THAT(notes[2], Contains("subgroup \"c\" takes each member at most " + std::to_string(20000 + 131072 + 10288)));
}

TEST_CASE("members with different histories differ in their digests, and without one agree with earlier releases") {
  CHECK(digest_with(R"(, "history": null)") == digest_with(""));
  CHECK(digest_with(R"(, "history": {"messages": 9})") == digest_with(R"(, "history": 9)"));
  CHECK(digest_with(R"(, "history": {"age_ms": 9, "bytes": 67108864})") == digest_with(R"(, "history": {"age_ms": 9})"));
  const std::vector<std::string> different{"",
                                           R"(, "history": 90000)",
                                           R"(, "history": 90001)",
                                           R"(, "history": {"bytes": 90000})",
                                           R"(, "history": {"age_ms": 90000})",
                                           R"(, "history": {"messages": 90000, "bytes": 90000})"};
  for (std::size_t i = 0; i < different.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) CHECK_FALSE(digest_with(different[i]) == digest_with(different[j]));
  }
}

TEST_CASE("a part of a layout in C++ keeps a history as an entry does, in every view") {
  const Config config = parse(with_layout("[]"));
  LayoutParts parts(config);
  parts.add(LayoutPart("a").history({.messages = 5})).add(LayoutPart("b").history({.age_ms = 9}).shards(2));
  const LayoutFunction layout = parts.function().value();
  for (const auto& members : {ids({0, 1, 2}), ids({1})}) {
    const auto subgroups = layout(members, nullptr);
    CHECK(subgroups.at(0).history == HistoryBounds{.messages = 5});
    CHECK(subgroups.at(2).history == HistoryBounds{.bytes = history_bytes_usual, .age_ms = 9});
  }
  const auto refusal = [&](const LayoutPart& part) { return LayoutParts(config).add(part).function().error().message(); };
  CHECK_THAT(refusal(LayoutPart("a").history({.messages = 5}).unordered()), Contains("keeps a history, and is unordered"));
  CHECK_THAT(refusal(LayoutPart("a").history({.bytes = 5})), Contains("has no room"));
  CHECK_THAT(refusal(LayoutPart("a").history({.messages = history_messages_most + 1})), Contains("impossible bounds"));
}
