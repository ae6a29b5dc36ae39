// The reserve of a journal: what was put there last is there, whatever a crash or one fault of the disk leaves of it.
#include <catch2/catch.hpp>

#include <stdexcept>
#include <string>
#include <vector>

#include <spindrift/store/reserve.hpp>

#include "crash_states.hpp"
#include "journal_fixture.hpp"
#include "simulated_disk.hpp"

namespace spindrift::store {
namespace {

using sim::SimulatedDisk;
using Of = Reserve::Journal;

const Digest journal_name = digest_of("journal");

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

/// The text in it; nothing: it is empty, or not there.
std::optional<std::string> text_in(Storage& storage) {
  const auto reserved = value_or_throw(Reserve::read(storage, journal_name));
  if (!reserved) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(reserved->bytes.data()), reserved->bytes.size());
}

/// One process after the other puts texts of several blocks, and takes over what the one before has put.
class Putter {
 public:
  explicit Putter(SimulatedDisk& disk, std::optional<std::string> left = {})
      : disk_(disk), storage_(disk.storage()), last_(std::move(left)), puts_{{0, last_, last_}} {}

  void open(Of of) {
    reserve_.emplace(value_or_throw(Reserve::open(*storage_, journal_name, of)));
    note();
  }
  void put(std::size_t size) {
    const std::string text = std::to_string(puts_.size()) + std::string(size, 'x');
    under_way_ = text;
    begin();
    value_or_throw(reserve_->put(JournalPosition(puts_.size()), bytes_of(text)));
    last_ = text;
    note();
  }
  void forget_earlier() {
    under_way_.reset();
    begin();
    value_or_throw(reserve_->forget_earlier());
    last_.reset();
    note();
  }
  /// Whether it may be what a crash behind so many steps leaves.
  [[nodiscard]] bool may_be(std::size_t steps, const std::optional<std::string>& text) const {
    const Put* done = &puts_.front();
    for (const Put& each : puts_) {
      if (each.steps > steps) break;
      done = &each;
    }
    return text == done->last || text == done->next;
  }

 private:
  /// From that step on the last one is there, until the next one is.
  struct Put {
    std::size_t steps = 0;
    std::optional<std::string> last;
    std::optional<std::string> next;
  };
  void begin() { puts_.push_back({disk_.steps().size(), last_, under_way_}); }
  void note() { puts_.push_back({disk_.steps().size(), last_, last_}); }

  SimulatedDisk& disk_;
  std::unique_ptr<Storage> storage_;
  std::optional<Reserve> reserve_;
  std::optional<std::string> last_;
  std::optional<std::string> under_way_;
  std::vector<Put> puts_;
};

std::string violation_behind(const sim::DiskContents& before, const SimulatedDisk& disk, const Putter& putter) {
  std::string violation;
  const sim::CrashLimits limits{.exhaustive_max = 4096, .samples = 200};
  sim::for_each_crash_state(before, disk.steps(), limits, [&](SimulatedDisk& state, const sim::CrashPoint& point) {
    if (!violation.empty()) return;
    try {
      const auto storage = state.storage();
      const auto found = text_in(*storage);
      if (!putter.may_be(point.steps_done, found)) throw std::runtime_error("it has " + found.value_or("nothing"));
      // The next process reads it, too, and may crash in the middle of its own first put.
      Reserve next = value_or_throw(Reserve::open(*storage, journal_name, Of::goes_on));
      state.crash(sim::everything_lost);
      if (text_in(*state.storage()) != found) throw std::runtime_error("to open it has changed it");
    } catch (const std::exception& why) {
      violation = std::string(why.what()) + ": " + to_string(point);
    }
  });
  return violation;
}

}  // namespace

TEST_CASE("whatever a crash leaves of a reserve, it has what was put there last, or what was being put there") {
  SimulatedDisk disk(1);
  {
    Putter putter(disk);
    putter.open(Of::begins);
    for (const std::size_t size : {10U, 9000U, 5000U, 4096U, 1U}) putter.put(size);
    CHECK(violation_behind({}, disk, putter) == "");
  }
  // One after the other, each of which a crash interrupts in the middle of a put.
  for (std::uint64_t process = 0; process < 20; ++process) {
    disk.crash(sim::CrashChoice{.there_in_100 = 60, .torn_in_100 = 30});
    const sim::DiskContents before = disk.contents();
    const auto left = text_in(*disk.storage());
    Putter putter(disk, left);
    putter.open(Of::goes_on);
    if (process % 2 == 0 && left) putter.forget_earlier();
    putter.put(7000);
    putter.put(20);
    if (process % 2 != 0) continue;
    CHECK(violation_behind(before, disk, putter) == "");
  }
}

TEST_CASE("a reserve says which payload it has, for which position, and which one was there before it") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  CHECK_FALSE(text_in(*storage));
  Reserve reserve = value_or_throw(Reserve::open(*storage, journal_name, Of::begins));
  CHECK_FALSE(text_in(*storage));
  value_or_throw(reserve.forget_earlier());
  value_or_throw(reserve.put(JournalPosition(7), bytes_of("a")));
  value_or_throw(reserve.put(JournalPosition(9), bytes_of("b")));
  value_or_throw(reserve.forget_earlier());  // this process's own stays
  const auto found = value_or_throw(Reserve::read(*storage, journal_name)).value();
  CHECK(found.position == JournalPosition(9));
  CHECK(found.before == digest_of("a"));
  CHECK(text_in(*storage) == "b");
  const std::vector<std::byte> large(Reserve::payload_bytes_max, std::byte{7});
  value_or_throw(reserve.put(JournalPosition(10), large));
  CHECK(value_or_throw(Reserve::read(*storage, journal_name))->bytes == large);
  const std::vector<std::byte> larger(large.size() + 1);
  CHECK(reserve.put(JournalPosition(11), larger).error().kind() == ErrorKind::bad_argument);
  value_or_throw(value_or_throw(Reserve::open(*storage, journal_name, Of::goes_on)).forget_earlier());
  CHECK_FALSE(text_in(*storage));
}

TEST_CASE("a put finds room in a reserve on a disk that is full") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  disk.set_capacity(Reserve::file_bytes + block_bytes);
  Reserve reserve = value_or_throw(Reserve::open(*storage, journal_name, Of::begins));
  CHECK(storage->create("other", 2 * block_bytes).error().kind() == ErrorKind::disk_full);
  value_or_throw(reserve.put(JournalPosition(1), std::vector<std::byte>(Reserve::payload_bytes_max)));
}

TEST_CASE("one damaged copy of a reserve costs nothing, and two are not taken for none") {
  constexpr std::uint64_t second = Reserve::file_bytes / 2 / block_bytes;
  for (const std::uint64_t block : {std::uint64_t{0}, std::uint64_t{1}}) {
    SimulatedDisk disk(1);
    const auto storage = disk.storage();
    Reserve reserve = value_or_throw(Reserve::open(*storage, journal_name, Of::begins));
    const std::string text(5000, 'x');
    value_or_throw(reserve.put(JournalPosition(7), bytes_of("before")));
    value_or_throw(reserve.put(JournalPosition(7), bytes_of(text)));
    disk.flip_bit(reserve_name, 8 * (block * block_bytes + 20));
    CHECK(text_in(*storage) == text);
    disk.flip_bit(reserve_name, 8 * ((second + block) * block_bytes + 20));
    const auto damaged = Reserve::read(*storage, journal_name);
    REQUIRE_FALSE(damaged);
    CHECK(damaged.error().kind() == ErrorKind::bad_input);
    CHECK(Reserve::open(*storage, journal_name, Of::goes_on).error().kind() == ErrorKind::bad_input);
    CHECK(Reserve::open(*storage, journal_name, Of::begins));
  }
}

TEST_CASE("the reserve of another journal, or of another size, is refused beside segments") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  value_or_throw(value_or_throw(Reserve::open(*storage, journal_name, Of::begins)).put(JournalPosition(7), bytes_of("a")));
  CHECK(Reserve::read(*storage, digest_of("another")).error().kind() == ErrorKind::refused);
  value_or_throw(value_or_throw(storage->create(reserve_name, block_bytes))->sync());
  CHECK(Reserve::read(*storage, journal_name).error().kind() == ErrorKind::bad_input);
}

TEST_CASE("a journal goes on beside its reserve, which is none of its segments, and nothing that it clears away") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  {
    Journal journal = value_or_throw(open_journal(*storage, 1));
    Reserve reserve = value_or_throw(Reserve::open(*storage, journal.name(), Of::begins));
    value_or_throw(commit_texts(journal, {"a"}));
    value_or_throw(reserve.put(JournalPosition(1), bytes_of("b")));
  }
  CHECK(value_or_throw(examine(*storage, test_owner)).leftovers.empty());
  Journal journal = value_or_throw(open_journal(*storage, 2));
  CHECK(texts_of(*storage) == "a");
  CHECK(value_or_throw(Reserve::read(*storage, journal.name())));
}

}  // namespace spindrift::store
