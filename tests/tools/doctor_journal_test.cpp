// The directory of a journal, as doctor looks at it and judges it.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <catch2/catch.hpp>

#include "doctor.hpp"

using namespace spindrift;
using namespace spindrift::tools;
using Catch::Matchers::Contains;
using Grade = Finding::Grade;

namespace {

Finding journal_finding(const HostFacts& host, const Needs& needs) {
  const auto findings = examine(host, needs);
  const auto found = std::ranges::find(findings, "journal", &Finding::what);
  REQUIRE(found != findings.end());
  return *found;
}

}  // namespace

TEST_CASE("the directory of a journal is looked at where it is or would be made, with its room and what it lies on") {
  std::string place = "/dev/shm/spindrift-journal-XXXXXX";
  REQUIRE(::mkdtemp(place.data()) != nullptr);
  Needs needs;
  needs.files.runtime_directory = "/dev/shm";
  const auto look = [&](const std::string& above, std::uint64_t segment_bytes) {
    needs.files.journal = JournalNeeds{{above, "group"}, NodeId(0), segment_bytes};
    return journal_finding(look_at_host(needs), needs);
  };
  const Finding in_memory = look(place + "/journals", 4096);
  CHECK(in_memory.grade == Grade::note);
  CHECK_THAT(in_memory.text, Contains("it lies in memory"));
  CHECK(::access((place + "/journals").c_str(), F_OK) != 0);
  const Finding full = look(place + "/journals", std::uint64_t{1} << 60U);
  CHECK(full.grade == Grade::bad);
  CHECK_THAT(full.fix, Contains("make space"));
  const Finding nowhere = look(place + "/none/journals", 4096);
  CHECK(nowhere.grade == Grade::bad);
  CHECK_THAT(nowhere.text, Contains("No such file"));
  CHECK_THAT(nowhere.fix, Contains("[PERS] file_path"));
  REQUIRE(::mkdir((place + "/journals").c_str(), 0700) == 0);
  REQUIRE(::chmod((place + "/journals").c_str(), 0777) == 0);
  CHECK(look(place + "/journals", 4096).grade == Grade::bad);
  ::rmdir((place + "/journals").c_str());
  ::rmdir(place.c_str());

  HostFacts host = look_at_host({});
  host.files.journal.free_bytes = 4096;
  CHECK(journal_finding(host, needs).grade == Grade::good);
}

TEST_CASE("a journal that keeps its node from starting is found") {
  std::string above = "/dev/shm/spindrift-journal-XXXXXX";
  REQUIRE(::mkdtemp(above.data()) != nullptr);
  const group::JournalPlace place{above, "group"};
  Needs needs;
  needs.files.runtime_directory = "/dev/shm";
  needs.files.journal = JournalNeeds{place, NodeId(1), 4096};
  const store::JournalOptions options = group::journal_options(group::JournalUse::views);
  static_cast<void>(value_or_throw(value_or_throw(group::FoundJournal::take(place, NodeId(0))).go_on(options)));
  CHECK(journal_finding(look_at_host(needs), needs).grade == Grade::note);  // node 1 has none
  REQUIRE(::rename(place.of(NodeId(0)).c_str(), place.of(NodeId(1)).c_str()) == 0);
  const Finding other = journal_finding(look_at_host(needs), needs);
  CHECK(other.grade == Grade::bad);
  CHECK_THAT(other.text, Contains("node 0"));
  CHECK_THAT(other.fix, !Contains("chown"));
  std::filesystem::remove_all(above);
}

TEST_CASE("a journal's directory is that of the node, and a start sets as much aside as its first segment takes") {
  const auto journal_of = [](const char* subgroup) {
    const std::string text =
        "[SPINDRIFT]\nmembers = 0, 1\ngroup_name = g\n[DERECHO]\nlocal_id = 1\n[PERS]\nfile_path = /var/j\n[LAYOUT]\n"
        "json_layout = '[" +
        std::string(subgroup) + "]'\n";
    return value_or_throw(needs_of(value_or_throw(Config::parse(text, "test")))).files.journal;
  };
  const auto plain = journal_of(R"({"name": "orders"})");
  REQUIRE(plain);
  CHECK(plain->place.of(plain->node) == "/var/j/g/1");
  CHECK(plain->segment_bytes == 1U << 20U);
  CHECK(journal_of(R"({"name": "orders", "storage": "logged"})")->segment_bytes == 256U << 10U);
}
