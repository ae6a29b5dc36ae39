// Drawing tables of the program's own.
#include <algorithm>

#include "../random.hpp"
#include "plan.hpp"

namespace spindrift::sim {
namespace {

constexpr std::uint64_t words_about_a_row = 3;  // in its content
constexpr std::uint64_t table_bytes_each = 256;  // at least, for each table to have a version

std::uint64_t bytes_of(const TablePlan& table) {
  const std::uint64_t lines = (words_about_a_row + table.words + 7) / 8;
  return std::max(table_bytes_each, (1 + 2 * lines) * 64);
}

}  // namespace

void draw_tables(std::uint64_t seed, Plan& plan) {
  Random random(seed, Purpose::tables);
  if (!random.chance(1, 4)) return;
  const auto span = static_cast<std::uint64_t>(plan.faults_end / 8 + 1000);
  for (std::uint64_t left = random.between(1, 3); left > 0; --left) {
    TablePlan table;
    table.words = random.pick<std::uint64_t>({1, 2, 5, 6, 13, 40});
    table.monotone = random.chance(1, 2);
    table.watched = random.chance(1, 3);
    const bool by_some = random.chance(1, 4);
    if (by_some) table.nodes = random.next();
    table.sets = static_cast<std::uint32_t>(random.spread(1, 100));
    if (!by_some && random.chance(2, 3)) table.rounds = static_cast<std::uint32_t>(random.spread(1, 30));
    table.late_ns_max = static_cast<Ticks>(random.chance(1, 2) ? 1 : random.spread(1'000, 2'000'000));
    table.think_ns_max = static_cast<Ticks>(random.spread(1, random.chance(1, 2) ? std::min<std::uint64_t>(span, 1u << 30)
                                                                                : 5'000));
    plan.table_bytes += bytes_of(table);
    plan.tables.push_back(table);
  }
  plan.table_bytes = (plan.table_bytes + table_bytes_each - 1) / table_bytes_each * table_bytes_each;
}

}  // namespace spindrift::sim
