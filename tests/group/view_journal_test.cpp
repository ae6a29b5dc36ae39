// A node's record of views in its journal: it outlives the machine's memory, and what is damaged does not pass for nothing.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <spindrift/group/view_journal.hpp>

#include "logs_fixture.hpp"

namespace spindrift::group {
namespace {

/// The places of one group on one host: what a start of the machine takes, and what it leaves.
struct Host {
  Host() {
    std::string name = std::filesystem::temp_directory_path() / "spindrift-journal-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    root = name;
    place = {root + "/disk", "g"};
    start();
  }
  ~Host() { std::filesystem::remove_all(root); }
  void start() {
    directory.reset();
    std::filesystem::remove_all(root + "/memory");
    directory.emplace(value_or_throw(GuardedDirectory::open(root + "/memory", "g")));
  }
  [[nodiscard]] Result<std::unique_ptr<ViewJournal>> try_open(std::uint32_t node) const {
    SPINDRIFT_TRY_ASSIGN(auto file, ViewFile::open(*directory, NodeId(node)));
    return ViewJournal::open(std::move(file), place, NodeId(node));
  }
  [[nodiscard]] std::unique_ptr<ViewJournal> open(std::uint32_t node) const { return value_or_throw(try_open(node)); }
  [[nodiscard]] std::vector<std::filesystem::path> segments(std::uint32_t node) const {
    std::vector<std::filesystem::path> all;
    for (const auto& entry : std::filesystem::directory_iterator(place.of(NodeId(node))))
      if (entry.path().extension() == ".segment") all.push_back(entry.path());
    std::ranges::sort(all);
    return all;
  }

  std::string root;
  JournalPlace place;
  std::optional<GuardedDirectory> directory;
};

views::ViewRecord record_of_view(std::uint64_t id) {
  views::ViewRecord record;
  record.since = 7;
  record.logs_from = 5;
  record.last = views::RecordedView{ViewId(id), {{NodeId(0), 8}, {NodeId(1), 9}}, {1, {{NodeId(0), "a:1"}}, {}}};
  return record;
}

}  // namespace

TEST_CASE("a record of views in a journal is there after the machine was started anew, and in the file again") {
  Host host;
  {
    const auto journal = host.open(1);
    CHECK_FALSE(value_or_throw(journal->load()));
    for (std::uint64_t id = 0; id < 5; ++id) value_or_throw(journal->store(record_of_view(id)));
  }
  host.start();
  {
    const auto journal = host.open(1);
    CHECK(value_or_throw(journal->load()) == record_of_view(4));
    journal->close();
  }
  ViewFile file = value_or_throw(ViewFile::open(*host.directory, NodeId(1)));
  CHECK(value_or_throw(file.load()) == record_of_view(4));
}

TEST_CASE("a node whose journal begins has the record that its file has") {
  Host host;
  value_or_throw(value_or_throw(ViewFile::open(*host.directory, NodeId(1))).store(record_of_view(3)));
  CHECK(value_or_throw(host.open(1)->load()) == record_of_view(3));
  host.start();
  CHECK(value_or_throw(host.open(1)->load()) == record_of_view(3));
}

TEST_CASE("a record that a node stored while it kept no journal comes before what its journal has") {
  Host host;
  value_or_throw(host.open(1)->store(record_of_view(3)));
  value_or_throw(value_or_throw(ViewFile::open(*host.directory, NodeId(1))).store(record_of_view(5)));
  CHECK(value_or_throw(host.open(1)->load()) == record_of_view(5));
  host.start();
  CHECK(value_or_throw(host.open(1)->load()) == record_of_view(5));
}

TEST_CASE("a record is loaded as it was stored last, by the same process, too") {
  Host host;
  const auto journal = host.open(1);
  value_or_throw(journal->store(record_of_view(3)));
  CHECK(value_or_throw(journal->load()) == record_of_view(3));
}

TEST_CASE("neighbors that cannot be looked for are an error, and not none") {
  Host host;
  const auto journal = host.open(1);
  std::filesystem::remove_all(host.place.above);
  CHECK_FALSE(journal->neighbors());
}

TEST_CASE("a journal of views stays small, however many are stored and however often the node starts") {
  Host host;
  for (int start = 0; start < 5; ++start) {
    const auto journal = host.open(1);
    for (std::uint64_t id = 0; id < 600; ++id) value_or_throw(journal->store(record_of_view(id)));
    CHECK(host.segments(1).size() <= 2);
  }
}

TEST_CASE("a record of views outlives a start of the machine, though the disk was full when it was stored") {
  Host host;
  DiskFaults faults;
  const auto open = [&] {
    FoundJournal found = value_or_throw(FoundJournal::take(host.place, NodeId(1)));
    found.storage = std::make_unique<FaultyStorage>(faults, std::move(found.storage));
    return value_or_throw(ViewJournal::open(value_or_throw(ViewFile::open(*host.directory, NodeId(1))), std::move(found)));
  };
  std::uint64_t id = 0;
  for (int start = 0; start < 3; ++start) {
    {
      const auto journal = open();
      if (start > 0) CHECK(value_or_throw(journal->load()) == record_of_view(id));
      faults.full = true;
      const std::uint64_t full = id + 600;  // more than a segment has
      while (id < full) value_or_throw(journal->store(record_of_view(++id)));
      CHECK(host.segments(1).size() <= 2);
      if (start == 1) {  // with space again the journal has it
        faults.full = false;
        value_or_throw(journal->store(record_of_view(++id)));
      }
    }
    faults.full = false;
    CHECK(value_or_throw(ViewJournal::read(host.place, NodeId(1))) == record_of_view(id));
    host.start();
  }
}

TEST_CASE("one process of a node has its journal at a time") {
  Host host;
  const auto journal = host.open(1);
  std::filesystem::remove_all(host.root + "/memory");
  host.directory.emplace(value_or_throw(GuardedDirectory::open(host.root + "/memory", "g")));
  const auto second = host.try_open(1);
  REQUIRE_FALSE(second);
  CHECK(second.error().kind() == ErrorKind::refused);
  CHECK(host.try_open(2));
}

TEST_CASE("a journal that is damaged, or another node's, keeps its node from starting until it is let to forget") {
  Host host;
  value_or_throw(host.open(1)->store(record_of_view(4)));
  value_or_throw(host.open(2)->store(record_of_view(5)));
  std::fstream(host.segments(1).back(), std::ios::in | std::ios::out | std::ios::binary) << std::string(65'536, 'x');
  const auto damaged = host.try_open(1);
  REQUIRE_FALSE(damaged);
  CHECK(damaged.error().kind() == ErrorKind::bad_input);
  CHECK(damaged.error().to_string().find("spindrift group forget") != std::string::npos);
  CHECK_FALSE(ViewJournal::read(host.place, NodeId(1)));
  CHECK(value_or_throw(ViewJournal::read(host.place, NodeId(2))) == record_of_view(5));

  std::filesystem::remove_all(host.place.of(NodeId(1)));
  std::filesystem::copy(host.place.of(NodeId(2)), host.place.of(NodeId(1)));
  const auto copied = host.try_open(1);
  REQUIRE_FALSE(copied);
  CHECK(copied.error().kind() == ErrorKind::refused);

  value_or_throw(ViewJournal::forget(host.place, NodeId(1)));
  host.start();
  CHECK_FALSE(value_or_throw(host.open(1)->load()));
  value_or_throw(ViewJournal::forget(host.place, NodeId(9)));  // there is none
}

TEST_CASE("a node forgets its journal alone, and nothing of it where something of that cannot be deleted") {
  Host host;
  value_or_throw(host.open(1)->store(record_of_view(4)));
  const std::string directory = host.place.of(NodeId(1));
  std::ofstream(directory + "/orders.dump") << "messages";
  std::filesystem::create_directory(directory + "/backup");
  std::filesystem::create_directory(directory + "/0000000000000099.segment");
  using Catch::Matchers::Contains;
  const auto refused = ViewJournal::forget(host.place, NodeId(1));
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().to_string(), Contains("nothing was deleted") && Contains("0000000000000099.segment"));
  std::filesystem::remove(directory + "/0000000000000099.segment");
  CHECK(value_or_throw(ViewJournal::read(host.place, NodeId(1))) == record_of_view(4));
  value_or_throw(ViewJournal::forget(host.place, NodeId(1)));
  CHECK(host.segments(1).empty());
  CHECK(std::filesystem::exists(directory + "/orders.dump"));
  CHECK(std::filesystem::exists(directory + "/backup"));
}

TEST_CASE("a journal that is lost or was made shorter is not taken for none") {
  const auto lost = [](auto harm) {
    Host host;
    {
      const auto journal = host.open(1);
      for (std::uint64_t id = 0; id < 5; ++id) value_or_throw(journal->store(record_of_view(id)));
    }
    harm(host);
    host.start();
    const auto opened = host.try_open(1);
    return opened ? std::string("opened") : opened.error().to_string();
  };
  using Catch::Contains;
  CHECK_THAT(lost([](Host& host) { std::filesystem::remove(host.segments(1).back()); }), Contains("forget"));
  // Behind a block of zeros there was nothing.
  CHECK(lost([](Host& host) { std::filesystem::resize_file(host.segments(1).back(), 65'536); }) == "opened");
  CHECK_THAT(lost([](Host& host) { std::filesystem::resize_file(host.segments(1).back(), 20'480); }), Contains("forget"));
  CHECK_THAT(lost([](Host& host) {
    const auto segment = host.segments(1).back();
    std::filesystem::rename(segment, host.root + "/elsewhere");
    std::filesystem::create_symlink(host.root + "/elsewhere", segment);
  }), Contains("no regular file"));
}

TEST_CASE("a bit that flips in the last record is damage, and no torn write") {
  Host host;
  std::size_t blocks = 0;
  {
    const auto journal = host.open(1);
    for (std::uint64_t id = 0; id < 3; ++id) value_or_throw(journal->store(record_of_view(id)));
  }
  const auto segment = host.segments(1).back();
  std::fstream file(segment, std::ios::in | std::ios::out | std::ios::binary);
  for (std::streamoff at = 0; at < 1 << 20; at += 4096, ++blocks) {  // the last block in which anything is
    file.seekg(1 << 20);
    file.seekg(at);
    std::string block(4096, '\0');
    file.read(block.data(), 4096);
    if (at > 16'384 && block.find_first_not_of('\0') == std::string::npos) break;
  }
  file.seekp(static_cast<std::streamoff>(blocks - 1) * 4096 + 120);
  file << "x";
  file.close();
  host.start();
  CHECK_FALSE(host.try_open(1));
}

TEST_CASE("a segment of terabytes is read as far as it was written") {
  Host host;
  value_or_throw(host.open(1)->store(record_of_view(4)));
  std::filesystem::resize_file(host.segments(1).back(), std::uintmax_t{1} << 42U);
  host.start();
  CHECK(value_or_throw(host.open(1)->load()) == record_of_view(4));
}

TEST_CASE("neighbors that do not run since the machine was started are known by their journals") {
  Host host;
  value_or_throw(host.open(1)->store(record_of_view(4)));
  value_or_throw(host.open(2)->store(record_of_view(6)));
  host.start();
  const auto journal = host.open(1);
  auto neighbors = value_or_throw(journal->neighbors());
  REQUIRE(neighbors.size() == 1);
  CHECK(neighbors[0].node == NodeId(2));
  CHECK_FALSE(neighbors[0].lives);
  CHECK(neighbors[0].record == record_of_view(6));
  const auto other = host.open(2);
  value_or_throw(other->store(record_of_view(7)));
  neighbors = value_or_throw(journal->neighbors());
  REQUIRE(neighbors.size() == 1);
  CHECK(neighbors[0].lives);
  CHECK(neighbors[0].record == record_of_view(7));
}

TEST_CASE("a neighbor's journal that cannot be read counts as lost, and keeps nobody else from starting") {
  Host host;
  value_or_throw(host.open(1)->store(record_of_view(4)));
  value_or_throw(host.open(2)->store(record_of_view(6)));
  std::fstream(host.segments(2).back(), std::ios::in | std::ios::out | std::ios::binary) << std::string(65'536, 'x');
  host.start();
  CHECK(value_or_throw(host.open(1)->neighbors()).empty());
}

}  // namespace spindrift::group
