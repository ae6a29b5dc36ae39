// Sizes of rings that a roster has for the layout's subgroups.
#include <catch2/catch.hpp>

#include <spindrift/core/ring_sizes.hpp>
#include <spindrift/core/roster.hpp>
#include <spindrift/core/view.hpp>

namespace spindrift {
namespace {

SubgroupView subgroup(std::string name, std::uint64_t window) {
  SubgroupView made;
  made.name = std::move(name);
  made.profile = {.ring_bytes = 4096, .window_messages = window, .message_bytes_max = 100};
  return made;
}

const std::vector<SubgroupView> layout{subgroup("orders", 8), subgroup("news", 16)};
const std::vector<RingSizes> sizes{{"orders", 8192, 9}, {"news", 4096, 16}};

View view_with(std::vector<RingSizes> of) {
  View view;
  view.subgroups = layout;
  view.roster.nodes = {{NodeId(0), ""}};
  view.roster.sizes = std::move(of);
  return view;
}

RosterChange resize(std::string name, std::uint64_t ring, std::uint64_t window) {
  return {.kind = RosterChange::Kind::resize, .sizes = {std::move(name), ring, window}};
}

}  // namespace

TEST_CASE("sizes fit the subgroups of a layout, all in their order, if these hold their largest messages in them") {
  CHECK(fit(ring_sizes_of(layout), layout));
  CHECK(fit(sizes, layout));
  CHECK_FALSE(fit({}, layout));
  CHECK_FALSE(fit(std::vector{sizes[0]}, layout));
  CHECK_FALSE(fit(std::vector{sizes[1], sizes[0]}, layout));
  const auto impossible = [](RingSizes of) { return !fit(std::vector{std::move(of), sizes[1]}, layout); };
  CHECK(impossible({"order", 8192, 9}));
  CHECK(impossible({"orders", 8192, 0}));
  CHECK(impossible({"orders", 8000, 9}));
  CHECK(impossible({"orders", std::uint64_t{1} << 31, 9}));
  std::vector<SubgroupView> large = layout;
  large[0].profile.message_bytes_max = 2041;
  CHECK_FALSE(fit(std::vector<RingSizes>{{"orders", 4096, 9}, sizes[1]}, large));
  CHECK(fit(sizes, large));
}

TEST_CASE("subgroups have the sizes that they are given, and keep everything else, and none are no sizes") {
  std::vector<SubgroupView> changed = layout;
  set_ring_sizes(changed, {});
  CHECK(changed[0].profile == layout[0].profile);
  set_ring_sizes(changed, sizes);
  CHECK(ring_sizes_of(changed) == sizes);
  CHECK(changed[0].profile.message_bytes_max == 100);
}

TEST_CASE("a group that begins behind another keeps the sizes of subgroups that it has still, if they hold their messages") {
  CHECK(kept_ring_sizes(layout, {}) == ring_sizes_of(layout));
  CHECK(kept_ring_sizes(layout, sizes) == sizes);
  CHECK(kept_ring_sizes(layout, std::vector<RingSizes>{{"gone", 8192, 1}, {"news", 8192, 3}}) ==
        std::vector<RingSizes>{{"orders", 4096, 8}, {"news", 8192, 3}});
  std::vector<SubgroupView> large = layout;
  large[1].profile = {.ring_bytes = 16384, .window_messages = 1, .message_bytes_max = 5000};
  CHECK(kept_ring_sizes(large, sizes) == std::vector<RingSizes>{sizes[0], {"news", 16384, 1}});
}

TEST_CASE("sizes travel as bytes, and what is no list of them is none") {
  ByteWriter writer;
  put_sizes(writer, sizes);
  const std::vector<std::byte> bytes = writer.take();
  std::vector<RingSizes> back;
  ByteReader reader(bytes);
  REQUIRE(get_sizes(reader, back));
  CHECK(reader.complete());
  CHECK(back == sizes);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    ByteReader shorter(std::span<const std::byte>(bytes).first(length));
    std::vector<RingSizes> some;
    CHECK_FALSE(get_sizes(shorter, some));
  }
  const auto refused = [](std::uint64_t count, std::uint32_t length, const std::string& name) {
    ByteWriter wrong;
    wrong.put(count, length).put_text(name, name.size()).put(std::uint64_t{4096}, std::uint64_t{1});
    const std::vector<std::byte> made = wrong.take();
    ByteReader from(made);
    std::vector<RingSizes> some;
    return !get_sizes(from, some);
  };
  CHECK_FALSE(refused(1, 6, "orders"));
  CHECK(refused(ring_sizes_count_max + 1, 6, "orders"));
  CHECK(refused(1, 0, ""));
  CHECK_FALSE(valid_layout_name(""));
  CHECK(refused(1, 3, "a\nb"));
  CHECK(refused(1, 256, std::string(256, 'a')));
}

TEST_CASE("a subgroup of the layout changes in the sizes of its rings, and in nothing else") {
  View view = view_with(ring_sizes_of(layout));
  view.roster.filed = digest_of(view.roster.sizes);
  CHECK(check(view.roster, resize("orders", 8192, 9), view));
  const Roster next = next_edition(view.roster, std::vector{resize("orders", 8192, 9)}, view);
  CHECK(next.edition == view.roster.edition + 1);
  CHECK(next.sizes == sizes);
  CHECK(next.filed == Digest());
  CHECK(next.digest() != view.roster.digest());
  CHECK(in_effect(next, resize("orders", 8192, 9)));
  CHECK_FALSE(in_effect(view.roster, resize("orders", 8192, 9)));
  CHECK(in_effect(next, resize("news", 4096, 16)));
  CHECK_FALSE(in_effect(view.roster, resize("order", 4096, 8)));
  // A wish for what is there already is no idle one: until it is granted files may change that.
  CHECK_FALSE(in_effect(view.roster, resize("orders", 4096, 8)));
  CHECK(next_edition(view.roster, std::vector{resize("orders", 4096, 8)}, view).filed == Digest());

  const auto refused = [&](const RosterChange& wish) {
    const auto checked = check(view.roster, wish, view);
    return !checked && checked.error().kind() == ErrorKind::bad_argument && !checked.error().fix().empty();
  };
  CHECK(refused(resize("orders", 5000, 9)));
  CHECK(refused(resize("orders", 4096, 0)));
  CHECK(refused(resize("order", 4096, 8)));
  RosterChange of_a_node = resize("orders", 8192, 9);
  of_a_node.node = NodeId(1);
  CHECK(refused(of_a_node));
  for (const auto kind : {RosterChange::Kind::change, RosterChange::Kind::drop}) {
    RosterChange other{.kind = kind};
    other.subgroup.name = "orders";
    CHECK(refused(other));
  }
}

TEST_CASE("a view's subgroups of the layout have the roster's sizes, whatever the layout says") {
  const LayoutFunction function = [](const std::vector<NodeId>&, const View*) { return layout; };
  const View view = view_with(sizes);
  CHECK(ring_sizes_of(subgroups_of(function, view.roster, {NodeId(0)}, nullptr)) == sizes);
}

}  // namespace spindrift
