// Split rows over shared memory: who is not in a subgroup has none of its messages in its memory, nor any of the memory in
// which they lie; and everything arrives as ever, small and large, through a join and a loss.
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <map>
#include <sstream>

#include <spindrift/core/file_descriptor.hpp>

#include "../tools/command.hpp"
#include "group_fixture.hpp"

using namespace spindrift;

namespace {

constexpr std::size_t large_bytes = 20'000;
constexpr const char* news_secret = "for node 1 and node 2";
constexpr const char* orders_secret = "for node 0 and node 1";

/// Node 0 and 1 have the subgroup "orders", 1 and 2 the subgroup "news".
std::string text_of(const GroupFixture& fixture, unsigned node, bool split) {
  return "[DERECHO]\nlocal_id = " + std::to_string(node) + "\n[SPINDRIFT]\ngroup_name = test\nmembers = 0, 1, 2\n" +
         "fabric = shm\njoin_timeout_ms = 60000\nsuspect_after_ms = 5000\nruntime_directory = " + fixture.directory() +
         "\nsplit_rows = " + (split ? "true" : "false") +
         "\n[SUBGROUP/DEFAULT]\nmax_smc_payload_size = 32 KiB\nring_size = 64 KiB\nbulk_ring_bytes = 256 KiB\n"
         "large_message_bytes = 4096\n[LAYOUT]\njson_layout = '[{\"name\": \"orders\", \"members\": [0, 1]}, "
         "{\"name\": \"news\", \"members\": [1, 2], \"min_members\": 1}]'\n";
}

std::string secret(const std::string& words, unsigned number, std::size_t bytes) {
  std::string text = words + " " + std::to_string(number) + " ";
  text.resize(bytes, '.');
  return text;
}

/// A range of a process's memory that is a memory file of a group.
struct Mapped {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t file = 0;  ///< its inode
  std::string name;        ///< "row", "ring", "bulk ring"
};

std::vector<Mapped> mapped_by(pid_t process) {
  static const std::string prefix = "/memfd:spindrift:";
  std::vector<Mapped> all;
  std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t at = line.find(prefix);
    if (at == std::string::npos) continue;
    Mapped& mapped = all.emplace_back();
    std::string range, mode, offset, device;
    std::istringstream words(line);
    words >> range >> mode >> offset >> device >> mapped.file;
    const std::size_t dash = range.find('-');
    mapped.begin = std::stoull(range.substr(0, dash), nullptr, 16);
    mapped.end = std::stoull(range.substr(dash + 1), nullptr, 16);
    mapped.name = line.substr(at + prefix.size());
    mapped.name.resize(mapped.name.find(" (deleted)"));
  }
  return all;
}

/// Memory files of groups that the process can get at: mapped, or by a descriptor.
std::map<std::uint64_t, std::string> files_of(pid_t process) {
  std::map<std::uint64_t, std::string> files;
  for (const Mapped& mapped : mapped_by(process)) files[mapped.file] = mapped.name;
  static const std::string prefix = "/memfd:spindrift:";
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd")) {
    std::error_code gone;
    std::string to = std::filesystem::read_symlink(entry.path(), gone);
    struct stat status {};
    if (gone || !to.starts_with(prefix) || ::stat(entry.path().c_str(), &status) != 0) continue;
    to.resize(to.find(" (deleted)"));
    files[status.st_ino] = to.substr(prefix.size());
  }
  return files;
}

/// Whether some memory file that the process has mapped holds these words.
bool holds(pid_t process, const std::string& words) {
  const FileDescriptor memory(::open(("/proc/" + std::to_string(process) + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(memory);
  for (const Mapped& mapped : mapped_by(process)) {
    std::string bytes(mapped.end - mapped.begin, '\0');
    const ssize_t got = ::pread(memory.get(), bytes.data(), bytes.size(), static_cast<off_t>(mapped.begin));
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));  // nothing, if it was given back meanwhile
    if (bytes.find(words) != std::string::npos) return true;
  }
  return false;
}

/// Nodes 0 and 1, here, and what they have sent and got.
class Neighbors {
 public:
  Neighbors(const GroupFixture& fixture, bool split) : fixture_(fixture), split_(split) {}

  /// By a layout of the program's own, which says nothing of rows.
  void join(unsigned node) {
    const Config config = value_or_throw(Config::parse(text_of(fixture_, node, split_), "test.cfg"));
    GroupOptions options;
    options.layout = [usual = value_or_throw(config.layout_function())](const auto& members, const View* before) {
      auto subgroups = usual(members, before);
      for (SubgroupView& subgroup : subgroups) subgroup.profile.split_rows = false;
      return subgroups;
    };
    if (node == 1) {
      options.on_view = [this](const NewView& news) {
        members_ = news.view.members.size();
        members_.notify_all();
      };
    }
    groups_[node] = std::make_unique<Group>(config, options);
    Group& group = *groups_[node];
    group.subgroup("orders").on_delivery([&journal = orders_[node] = std::make_unique<Journal>()](auto batch) {
      journal->keep(batch);
    });
    if (node == 1) group.subgroup("news").on_delivery([this](auto batch) { news_.keep(batch); });
  }
  /// Messages in both subgroups, small and large, which everybody gets.
  void exchange() {
    const std::size_t news_before = news_.count;
    const std::array before{orders_[0]->count.load(), orders_[1]->count.load()};
    for (const std::size_t bytes : {std::size_t{100}, large_bytes}) {
      for (const auto& group : groups_) group->subgroup("orders").send(secret(orders_secret, ++number_, bytes));
      groups_[1]->subgroup("news").send(secret(news_secret, ++number_, bytes));
    }
    news_.await(news_before + 4);  // and node 2 has sent them back
    for (const unsigned node : {0U, 1U}) orders_[node]->await(before[node] + 4);
    CHECK(news_.lines.back().starts_with(std::string("2:again ") + news_secret));
    CHECK(news_.lines.back().size() > large_bytes);
    CHECK(std::equal(orders_[0]->lines.end() - 4, orders_[0]->lines.end(), orders_[1]->lines.end() - 4));
  }
  /// Node 1 is in a view of so many.
  void await_members(std::size_t count) const {
    for (std::size_t now = members_; now != count; now = members_) members_.wait(now);
  }
  void leave(unsigned node) {
    groups_[node]->leave();
    groups_[node].reset();
  }

 private:
  const GroupFixture& fixture_;
  bool split_;
  unsigned number_ = 0;
  std::atomic<std::size_t> members_{0};
  std::array<std::unique_ptr<Journal>, 2> orders_;
  Journal news_;
  std::array<std::unique_ptr<Group>, 2> groups_;  // first to go
};

/// Beside three rows, a fresh node 2 has the rings of "news" alone: its own, which node 1 has mapped, and node 1's.
void check_files(pid_t stranger) {
  const auto here = files_of(::getpid());
  std::map<std::string, std::size_t> count;
  for (const auto& [file, name] : files_of(stranger)) {
    if (here.contains(file)) ++count[name];
  }
  CHECK(count["row"] == 3);
  CHECK(count["ring"] == 2);
  CHECK(count["bulk ring"] == 2);
}

void check_secrets(pid_t stranger, bool split) {
  CHECK(holds(stranger, news_secret));
  CHECK(holds(stranger, orders_secret) == !split);
  CHECK(holds(::getpid(), orders_secret));
}

}  // namespace

TEST_CASE("with split rows who is not in a subgroup gets no memory in which its messages lie, through a loss and joins") {
  const bool split = GENERATE(true, false);
  GroupFixture fixture;
  const std::string file = fixture.directory() + "/2.cfg";
  std::ofstream(file) << text_of(fixture, 2, split);
  Neighbors neighbors(fixture, split);
  auto stranger = std::make_unique<test::Command>(std::vector{file}, SPINDRIFT_ROWS_PEER);
  std::thread founder([&] { neighbors.join(0); });
  neighbors.join(1);
  founder.join();
  neighbors.exchange();
  if (split) check_files(stranger->id());
  check_secrets(stranger->id(), split);

  stranger->send_signal(SIGKILL);
  neighbors.await_members(2);
  stranger = std::make_unique<test::Command>(std::vector{file}, SPINDRIFT_ROWS_PEER);
  neighbors.await_members(3);
  neighbors.exchange();
  if (split) check_files(stranger->id());
  check_secrets(stranger->id(), split);

  neighbors.leave(0);
  neighbors.join(0);
  neighbors.exchange();
  check_secrets(stranger->id(), split);
  stranger->send_signal(SIGTERM);
  neighbors.await_members(2);
  neighbors.leave(0);
  neighbors.leave(1);
}
