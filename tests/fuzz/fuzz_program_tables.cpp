// The program's tables of a member that writes anything into its row, while others look: who looks stays inside of the row,
// takes no row that cannot be, shows none that falls, and passes no barrier to which the hostile one has not come.
#include <spindrift/core/log.hpp>
#include <spindrift/group/tables.hpp>
#include <spindrift/sst/program_tables.hpp>

#include <array>
#include <memory>
#include <optional>

#include "../smc/null_fabric.hpp"
#include "fuzz.hpp"

namespace {

using namespace spindrift;
using fuzz::expect;

constexpr std::uint64_t table_bytes = 1024;
constexpr NodeId hostile{0};
constexpr NodeId honest{1};

View two_members() {
  View view;
  view.members = {hostile, honest};
  view.incarnations = {1, 1};
  view.table_bytes = table_bytes;
  return view;
}

/// The honest member's tables, and the row that the hostile one writes.
struct Members {
  Members() : environment(honest, nullptr), tables(environment) {
    environment.fabric = std::make_unique<smc::NullFabric>();
    static_cast<void>(environment.state.on_state(views::MemberState::active, std::nullopt));
    tables.begin(honest, table_bytes);
    tables.on_view(view, table);
    table.attach_mirrored(Rank(0), mirror.span(), fabric::PeerId(1), fabric::RegionKey(1));
    const group::HandlerThreads::Entry entry(*environment.handler_threads, group::HandlerThreads::Kind::own);
    numbers = &tables.attach("numbers", {"n", 24, TableRows::monotone, true});
    latest = &tables.attach("latest", {"l", 8, TableRows::latest, true});
  }

  View view = two_members();
  sst::RowLayout layout{view, hostile};
  fuzz::RowMemory own{sst::RowLayout(view, honest).bytes()};
  fuzz::RowMemory mirror{layout.bytes()};
  sst::Table table{view, honest, own.span()};
  group::Environment environment;
  group::Tables tables;
  group::TableCore* numbers = nullptr;
  group::TableCore* latest = nullptr;
};

/// As a correct member would lay them out: from here on the input changes bytes.
void write_heads(Members& members, const std::array<group::TableCore*, 2>& cores) {
  sst::ProgramTablePlaces places(members.layout);
  // The own row says what the heads of these tables are.
  static_cast<void>(members.tables.write(members.table));
  for (std::size_t i = 0; i < cores.size(); ++i) {
    expect(places.add(cores[i]->words()), "there is room for two tables");
    const std::uint64_t head = members.layout.table_area() + places.head(i);
    std::memcpy(members.mirror.span().data() + head, members.own.span().data() + head, 64);
  }
}

void scribble(Members& members, fuzz::Choices& choices) {
  const sst::RowLayout& layout = members.layout;
  const std::span<std::byte> row = members.mirror.span();
  const auto store = [&](std::uint64_t offset, std::uint64_t value) { store_release(row.data() + offset, value); };
  switch (choices.choice(4)) {
    case 0: store(layout.table_version(choices.choice(layout.table_versions())), choices.number(1)); break;
    case 1: store(layout.tables(), choices.number(2)); break;
    case 2: store(layout.table_area() + choices.choice(table_bytes / 8) * 8, choices.number(1)); break;
    default: {
      const std::uint64_t at = choices.choice(table_bytes);
      const auto bytes = choices.take(std::min<std::uint64_t>(choices.number(1), table_bytes - at));
      if (!bytes.empty()) std::memcpy(row.data() + layout.table_area() + at, bytes.data(), bytes.size());
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool silent = log::set_levels("off").ok();
  expect(silent, "levels can be set");
  fuzz::Choices choices(data, size);
  Members members;
  if (choices.choice(4) > 0) write_heads(members, {members.numbers, members.latest});
  std::array<std::uint64_t, 3> before{};
  std::uint64_t round = 0;  // 0: none
  while (!choices.empty()) {
    scribble(members, choices);
    const group::Tables::Look look = members.tables.read(members.table, true);
    for (const auto& fault : look.faults)
      expect(fault.node == hostile && !fault.what.empty(), "a fault says what was wrong");
    std::array<std::uint64_t, 3> now{};
    if (members.numbers->read(hostile, std::as_writable_bytes(std::span(now)))) {
      for (std::size_t i = 0; i < now.size(); ++i) expect(now[i] >= before[i], "no number of a monotone table falls");
      before = now;
    } else {
      expect(before == now, "a row that was there stays");
    }
    if (!look.faults.empty()) return 0;  // it is removed
    if (round == 0) round = members.latest->come().value_or(0);
    if (round > 0 && members.latest->is_over(round)) round = 0;
    static_cast<void>(members.tables.write(members.table));
  }
  return 0;
}
