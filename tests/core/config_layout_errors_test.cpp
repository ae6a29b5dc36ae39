// Layouts that cannot be: place in file and JSON, cause, fix.
#include "config_fixture.hpp"

using namespace spindrift;
using namespace spindrift::test;

namespace {

/// The layout's text starts on line 4 of the file that with_layout makes.
void check_layout(std::string_view json, std::initializer_list<Expected> expected) {
  check_text_problems(with_layout(json), expected);
}

}  // namespace

TEST_CASE("broken JSON is reported at its line of the file") {
  check_layout("\n[\n  {\"name\": \"a\"}\n  {\"name\": \"b\"}\n]",
               {{"test.cfg:7", "the layout is not JSON", "derecho.cfg.example"}});
  check_layout("[", {{"test.cfg:4", "not JSON", "list"}});
  check_layout("[{\"name\": \"\xff\"}]", {{"test.cfg:4", "not JSON", ""}});
  check_layout(std::string(20, '[') + std::string(20, ']'), {{"test.cfg:4", "nested too deeply", ""}});
  check_layout(R"([{"name": "a", "name": "b"}])", {{"test.cfg:4", "\"name\" is given twice", "remove"}});
  check_layout(R"([{"name": 1e999}])", {{"test.cfg:4", "JSON", "numbers"}});
}

TEST_CASE("a layout must be a list of subgroups") {
  check_layout("{}", {{"test.cfg:4", "a list of subgroups belongs here", "[ ... ]"}});
  check_layout("[3]", {{"test.cfg:4, layout[0]", "a subgroup belongs here", "object"}});
}

TEST_CASE("an unknown field of a layout names the nearest one") {
  check_layout(R"([{"name": "a", "sender": [1]}])",
               {{"test.cfg:4, layout[0]", "\"sender\" is unknown", "did you mean senders?"}});
  check_layout(
      R"([{"name": "a", "layout": [{"min_nodes_by_shard": [1], "max_nodes_by_shard": [1],
                                             "reserved_nodes_by_shard": [[1]]}]}])",
      {{"test.cfg:4, layout[0].layout[0]", "unknown", "did you mean reserved_node_ids_by_shard?"}});
  check_layout(R"([{"name": "a", "members": [1], "layout": [{"min_nodes_by_shard": [1], "max_nodes_by_shard": [1]}]}])",
               {{"test.cfg:4, layout[0]", "\"members\" is unknown", ""}});
}

TEST_CASE("wrong values of a layout name their path") {
  check_layout(R"([{"name": "a b", "mode": "fast", "profile": 3, "topics": ["", "x y"]}])",
               {{"test.cfg:4, layout[0].name", "a name belongs here", "1 to 64"},
                {"test.cfg:4, layout[0].mode", "delivery mode", "unordered"},
                {"test.cfg:4, layout[0].profile", "a name belongs here", ""},
                {"test.cfg:4, layout[0].topics[0]", "topic name", "printable"},
                {"test.cfg:4, layout[0].topics[1]", "topic name", "printable"}});
  check_layout(R"([{"name": "a", "members": [-1, 4294967295, "x", "*1", 2.5, 1, 1]}])",
               {{"test.cfg:4, layout[0].members[0]", "a node id belongs here", "0 to 4294967294"},
                {"test.cfg:4, layout[0].members[1]", "a node id belongs here", ""},
                {"test.cfg:4, layout[0].members[2]", "a node id belongs here", ""},
                {"test.cfg:4, layout[0].members[3]", "a node id belongs here", ""},
                {"test.cfg:4, layout[0].members[4]", "a node id belongs here", ""},
                {"test.cfg:4, layout[0].members[6]", "node 1 is named twice", "once"}});
  check_layout(R"([{"name": "a", "members": 3}])", {{"test.cfg:4, layout[0].members", "a list of node ids", "[ ... ]"}});
}

TEST_CASE("storage that is none, or that the subgroup cannot have, is refused where it stands") {
  const auto check_logged = [](std::string_view json, std::initializer_list<Expected> expected) {
    check_text_problems(with_layout(json) + with_journals, expected);
  };
  check_logged(R"([{"name": "a", "storage": "disk"}, {"name": "b", "storage": 3}])",
               {{"test.cfg:4, layout[0].storage", "a kind of storage belongs here", R"("memory", or "logged")"},
                {"test.cfg:4, layout[1].storage", "a kind of storage belongs here", ""}});
  check_logged(R"([{"name": "a", "storge": "logged"}])",
               {{"test.cfg:4, layout[0]", "\"storge\" is unknown", "did you mean storage?"}});
  check_logged(R"([{"name": "a", "storage": "logged", "mode": "unordered"},
                   {"name": "b", "storage": "logged", "mode": "unordered", "shards": 2},
                   {"name": "c", "storage": "memory", "mode": "unordered"}])",
               {{"test.cfg:4, layout[0].storage", "logged, and unordered", "let it be ordered"},
                {"test.cfg:4, layout[1].storage", "logged, and unordered", "remove its storage"}});
  check_logged(R"([{"layout": [{"min_nodes_by_shard": [1, 1, 1], "max_nodes_by_shard": [1, 1, 1],
                                "delivery_modes_by_shard": ["Raw", "Ordered", "Raw"],
                                "storage_by_shard": ["memory", "disk", "logged"]}]}])",
               {{"test.cfg:4, layout[0].layout[0].storage_by_shard[1]", "a kind of storage", ""},
                {"test.cfg:4, layout[0].layout[0].storage_by_shard[2]", "logged, and unordered", "let it be ordered"}});
  check_logged(R"([{"layout": [{"min_nodes_by_shard": [1, 1], "max_nodes_by_shard": [1, 1],
                                "storage_by_shard": ["logged"]}]}])",
               {{"test.cfg:4, layout[0].layout[0].storage_by_shard", "1 values", "each shard"}});
  check_logged(R"([{"layout": [{"min_nodes_by_shard": [1], "max_nodes_by_shard": [1]}], "storage": "logged"}])",
               {{"test.cfg:4, layout[0]", "\"storage\" is unknown", ""}});
}

TEST_CASE("logged subgroups need a directory of journals and named founders, and others do not") {
  const std::string logged = with_layout(R"([{"name": "a"}, {"name": "b", "storage": "logged"},
                                             {"name": "c", "storage": "logged"}])");
  const Expected no_directory{"test.cfg:4, layout[1]", "subgroup \"b\": it is logged, and no directory is named",
                              "[PERS] file_path"};
  const Expected no_founders{"test.cfg:4, layout[1]", "subgroup \"b\": it is logged, and no founders are named",
                             "founding = named"};
  const auto problems = [](const std::string& text, const std::string& founding) {
    return Config::check_text(text, "test.cfg", {{"SPINDRIFT/founding", founding}});
  };
  check_problems(problems(logged, "named"), {no_directory});
  check_problems(problems(logged + with_journals, "named"), {});
  check_problems(problems(logged + with_journals, "present"), {no_founders});
  check_problems(problems(logged, "present"), {no_directory, no_founders});
  check_problems(problems(with_layout(R"([{"name": "a"}, {"name": "b", "storage": "memory"}])"), "present"), {});
  // A node that contacts tell of the group founds nothing, and keeps a record of views all the same.
  const std::string told = "[SPINDRIFT]\ncontacts = h0:7400\n[LAYOUT]\njson_layout = '[{\"storage\": \"logged\"}]'\n";
  check_text_problems(told, {{"test.cfg:4, layout[0]", "no directory is named", "[PERS] file_path"}});
  check_text_problems(told + with_journals, {});
}

TEST_CASE("so many subgroups and shards are logged, and no more") {
  const auto problems = [](const std::string& shards) {
    const std::string layout = R"([{"name": "a", "storage": "logged"}, {"name": "b", "shards": 2, "storage": "memory"},
                                   {"name": "c", "storage": "logged", "shards": )";
    return Config::check_text(with_layout(layout + shards + "}]", 80) + with_journals, "test.cfg");
  };
  check_problems(problems("63"), {});
  check_problems(problems("70"),
                 {{"test.cfg:4, layout[2]", "subgroup \"c/63\": it is logged, and so are 64 before it", "fewer shards"}});
}

TEST_CASE("empty members and senders are refused") {
  check_layout(R"([{"name": "a", "members": [], "senders": []}])",
               {{"test.cfg:4, layout[0].members", "empty", "at least one"},
                {"test.cfg:4, layout[0].senders", "empty", "at least one"}});
}

TEST_CASE("Derecho's lists must agree in length and be within range") {
  check_layout(R"([{"layout": [{"min_nodes_by_shard": [1, 1], "max_nodes_by_shard": [1]}]}])",
               {{"test.cfg:4, layout[0].layout[0].max_nodes_by_shard", "1 values", "each shard"}});
  check_layout(R"([{"layout": [{"min_nodes_by_shard": [2], "max_nodes_by_shard": [1]}]}])",
               {{"test.cfg:4, layout[0].layout[0].max_nodes_by_shard[0]", "fewer than the least", "raise"}});
  check_layout(R"([{"layout": [{"min_nodes_by_shard": [0], "max_nodes_by_shard": [2000]}]}])",
               {{"test.cfg:4, layout[0].layout[0].min_nodes_by_shard[0]", "number of nodes", "1 to 1024"},
                {"test.cfg:4, layout[0].layout[0].max_nodes_by_shard[0]", "number of nodes", "1 to 1024"}});
  check_layout(R"([{"layout": [{"min_nodes_by_shard": [1]}]}])",
               {{"test.cfg:4, layout[0].layout[0]", "max_nodes_by_shard", ""}});
  check_layout(R"([{"layout": []}])", {{"test.cfg:4, layout[0].layout", "no subgroup", ""}});
  check_layout(R"([{"layout": [{"min_nodes_by_shard": [], "max_nodes_by_shard": []}]}])",
               {{"test.cfg:4, layout[0].layout[0].min_nodes_by_shard", "no shard", "[1]"}});
}

TEST_CASE("two shards of one subgroup cannot reserve one node") {
  check_layout(R"([{"layout": [{"min_nodes_by_shard": [1, 1], "max_nodes_by_shard": [1, 1],
                                "reserved_node_ids_by_shard": [["1"], ["*1"]]}]}])",
               {{"test.cfg:4, layout[0].layout[0].reserved_node_ids_by_shard", "two shards of one subgroup reserve node 1",
                 "one of them"}});
}

TEST_CASE("names and topics are unique in the layout") {
  check_layout(R"([{"name": "a", "topics": ["x"]}, {"name": "a", "topics": ["x"]}])",
               {{"test.cfg:4, layout[1]", "the name \"a\" is taken by layout[0]", "another"},
                {"test.cfg:4, layout[1]", "topic \"x\" already travels through subgroup \"a\"", "one subgroup"}});
  check_layout(R"([{"name": "a", "topics": ["x", "x"]}])", {{"test.cfg:4, layout[0]", "topic \"x\"", "once"}});
}

TEST_CASE("topics of an entry with several subgroups need a place") {
  check_layout(R"([{"topics": ["x"], "layout": [{"min_nodes_by_shard": [1, 1], "max_nodes_by_shard": [1, 1]}]}])",
               {{"test.cfg:4, layout[0].topics", "which one", "topics_by_shard"}});
}

TEST_CASE("a layout that the members cannot satisfy says who lacks how many") {
  check_layout(R"([{"type_alias": "Foo", "layout": [{"min_nodes_by_shard": [2, 2], "max_nodes_by_shard": [2, 2]}]}])",
               {{"test.cfg:4, layout[0].layout[0].min_nodes_by_shard[1]",
                 "subgroup \"Foo/1\": it needs 2 members and lacks 1", "[SPINDRIFT] members"}});
}

TEST_CASE("a plain subgroup cannot ask for more members than it names") {
  check_layout(R"([{"name": "a", "members": [0, 1], "min_members": 3}])",
               {{"test.cfg:4, layout[0]", "lacks 1: 2 of the view's can be given: 0, 1", "min_members"}});
  check_layout(R"([{"name": "a", "min_members": 0}])",
               {{"test.cfg:4, layout[0].min_members", "number of nodes", "1 to 1024"}});
}

TEST_CASE("strangers in a layout are named") {
  check_layout(R"([{"name": "a", "members": [1, 7]}, {"name": "b", "members": [1], "senders": [2]},
                   {"layout": [{"min_nodes_by_shard": [1], "max_nodes_by_shard": [1],
                                 "reserved_node_ids_by_shard": [[8]]}]}])",
               {{"test.cfg:4, layout[0]", "node 7 is no member of the group", "add 7"},
                {"test.cfg:4, layout[1]", "sender 2 is no member of the subgroup", "add 2"},
                {"test.cfg:4, layout[2].layout[0].min_nodes_by_shard[0]", "node 8 is no member", "add 8"}});
}

TEST_CASE("an unknown profile is named with the nearest one") {
  check_text_problems(
      with_layout(R"([{"name": "a", "profile": "SMALI"}, {"name": "b", "profile": "qqq"}])") + "[SUBGROUP/SMALL]\n",
      {{"test.cfg:4, layout[0]", "no profile \"SMALI\"", "did you mean \"SMALL\"?"},
       {"test.cfg:4, layout[1]", "no profile \"qqq\"", "add a section [SUBGROUP/qqq]"}});
}

TEST_CASE("a layout that names nobody needs members") {
  check_text_problems("[LAYOUT]\njson_layout = '[{\"name\": \"a\"}]'\n",
                      {{"test.cfg:2", "nothing says who the members", "[SPINDRIFT] members"}});
}

TEST_CASE("a layout is given once") {
  check_text_problems("[DERECHO]\njson_layout = '[]'\n[LAYOUT]\njson_layout_file = x.json\n",
                      {{"test.cfg:4", "both give a layout", "remove one"}});
}

TEST_CASE("a text reads no layout file") {
  check_text_problems("[LAYOUT]\njson_layout_file = /etc/passwd\n", {{"test.cfg:2", "cannot be read", "json_layout"}});
}

TEST_CASE("a layout of too many subgroups is refused once") {
  std::string json = "[";
  for (int i = 0; i < 1030; ++i) json += (i == 0 ? "" : ",") + std::string("{\"name\": \"s") + std::to_string(i) + "\"}";
  check_layout(json + "]", {{"test.cfg:4, layout[1024]", "more than 1024 subgroups", "fewer"}});
}

TEST_CASE("problems of a layout's form do not hide those of its meaning") {
  check_layout(
      R"([{"name": "a", "members": [], "senders": [9], "min_members": 5}, {"name": "b", "members": [0, 7]}])",
      {{"test.cfg:4, layout[0].members", "empty", "at least one"},
       {"test.cfg:4, layout[0]", "sender 9 is no member of the subgroup", "add 9"},
       {"test.cfg:4, layout[0]", "needs 5 members and lacks 2: 3 of the view's can be given: 0, 1, 2", "min_members"},
       {"test.cfg:4, layout[1]", "node 7 is no member of the group", "add 7"}});
  // A list that cannot be read has no consequences.
  check_layout(R"([{"name": "a", "members": ["x"], "senders": [1], "min_members": 2}])",
               {{"test.cfg:4, layout[0].members[0]", "a node id belongs here", ""}});
}

TEST_CASE("a layout cannot need more members than a group may have") {
  std::string many;
  for (int id = 0; id < 257; ++id) many += (id == 0 ? "" : ", ") + std::to_string(id);
  check_text_problems("[LAYOUT]\njson_layout = '[{\"name\": \"a\", \"members\": [" + many + "]}]'\n",
                      {{"test.cfg:2", "needs 257 members, and a group has 256 at most", "fewer"}});
}

TEST_CASE("shards that cannot be are refused where they stand") {
  check_layout(R"([{"name": "a", "shards": 0}])",
               {{"test.cfg:4, layout[0].shards", "a number of shards belongs here", "1 to"}});
  check_layout(R"([{"name": "a", "shard": 2}])",
               {{"test.cfg:4, layout[0]", "\"shard\" is unknown", "did you mean shards?"}});
  check_layout(R"([{"name": "a", "max_members": 2}])",
               {{"test.cfg:4, layout[0].max_members", "without shards has all members", "\"shards\": 3"}});
  check_layout(R"([{"name": "a", "shards": 1, "min_members": 2, "max_members": 1}])",
               {{"test.cfg:4, layout[0].max_members", "the most members, 1, are fewer than the least", "raise"}});
  check_layout(R"([{"name": "a", "shards": 2, "senders": [0], "topics": ["x"]}])",
               {{"test.cfg:4, layout[0].senders", "\"senders\" belongs to one shard", "Derecho's form"},
                {"test.cfg:4, layout[0].topics", "\"topics\" belongs to one shard", "Derecho's form"}});
  check_layout(R"([{"name": "a", "shards": 2, "min_members": 2}])",
               {{"test.cfg:4, layout[0]", "subgroup \"a/1\": it needs 2 members and lacks 1", "have fewer shards"}});
  check_layout(R"([{"name": "a", "shards": 2, "members": [0, 9]}])",
               {{"test.cfg:4, layout[0]", "node 9 is no member of the group", "add 9"},
                {"test.cfg:4, layout[0]", "node 9 is no member of the group", "add 9"}});
  check_text_problems(with_layout(R"([{"name": "a", "shards": 1024}, {"name": "b"}])", 128),
                      {{"test.cfg:4, layout[1]", "the layout has more than 1024 subgroups", "use fewer"}});
}
