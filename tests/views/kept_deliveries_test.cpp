// The deliveries that are kept for an application, and the boundaries of views in their order, here and on the way to a
// newcomer.
#include <catch2/catch.hpp>

#include <cstring>
#include <string>

#include <spindrift/views/kept_deliveries.hpp>

using namespace spindrift;
using views::KeptDeliveries;

namespace {

constexpr SubgroupId id(0);

/// Writes down what it hears: a character per delivery, and a view's number.
class Application final : public views::Upcalls {
 public:
  void on_delivery(SubgroupId, std::span<const Delivery> batch) override {
    for (const Delivery& delivery : batch) heard += static_cast<char>(delivery.payload.front());
    at_work = works;
  }
  void on_space(SubgroupId) override {}
  [[nodiscard]] bool accepts(SubgroupId) const override { return ready && !at_work; }
  [[nodiscard]] bool busy(SubgroupId) const override { return at_work; }
  void on_view(const views::NewView&) override {}
  void on_boundary(SubgroupId, const ObjectBoundary& boundary) override {
    heard += std::to_string(boundary.view.value());
    last = boundary;
  }
  void on_dropped(SubgroupId, std::uint64_t) override {}
  [[nodiscard]] std::unique_ptr<views::StateReader> save_state(SubgroupId) override { return nullptr; }
  [[nodiscard]] std::unique_ptr<views::StateWriter> load_state(SubgroupId) override { return nullptr; }
  void on_private(NodeId, std::span<const std::byte>) override {}

  std::string heard;
  ObjectBoundary last{};
  bool ready = true;
  bool works = false;  ///< on a thread of its own
  bool at_work = false;
};

/// A delivery of each character.
void keep(KeptDeliveries& backlog, const std::string& characters, std::uint32_t sender = 4) {
  for (const char& character : characters) {
    const Delivery delivery{NodeId(sender), SenderRank(1),       MessageIndex(2),
                            SequenceNumber(3), std::as_bytes(std::span(&character, 1)), ViewId(5)};
    backlog.keep(std::span(&delivery, 1));
  }
}

ObjectBoundary boundary(std::uint64_t view, std::vector<NodeId> senders = {}, std::vector<NodeId> anew = {}) {
  return {.view = ViewId(view), .here = true, .senders = std::move(senders), .began_anew = std::move(anew)};
}

/// "ab", view 7, "c", view 8
KeptDeliveries source() {
  KeptDeliveries backlog(1 << 20);
  keep(backlog, "ab");
  backlog.keep(boundary(7, {NodeId(0), NodeId(2)}, {NodeId(2)}));
  keep(backlog, "c");
  backlog.keep(boundary(8, {NodeId(9)}, {NodeId(9), NodeId(10)}));
  return backlog;
}

}  // namespace

TEST_CASE("deliveries and boundaries are handed over in their order") {
  KeptDeliveries backlog = source();
  Application application;
  CHECK_FALSE(backlog.passes());
  CHECK(backlog.flush(id, application));
  CHECK(application.heard == "ab7");
  CHECK(application.last.senders == std::vector{NodeId(0), NodeId(2)});
  CHECK(backlog.flush(id, application));
  CHECK(application.heard == "ab7c8");
  CHECK(backlog.idle());
  CHECK_FALSE(backlog.flush(id, application));
}

TEST_CASE("an application that takes nothing hears of no boundary behind what it did not take") {
  KeptDeliveries backlog = source();
  Application application;
  application.ready = false;
  CHECK_FALSE(backlog.flush(id, application));
  CHECK(application.heard.empty());
  CHECK_FALSE(backlog.empty());
}

TEST_CASE("a boundary waits for a handler that is at work on the delivery before it, and no delivery does") {
  KeptDeliveries backlog = source();
  Application application;
  application.works = true;
  CHECK(backlog.flush(id, application));
  CHECK(backlog.flush(id, application) == false);
  CHECK(application.heard == "ab");
  application.at_work = false;
  CHECK(backlog.flush(id, application));
  CHECK(application.heard == "ab7c");
  CHECK(backlog.passes());
  CHECK_FALSE(backlog.idle());
  application.at_work = false;
  backlog.pass_boundaries(id, application);
  CHECK(application.heard == "ab7c8");
  CHECK(backlog.idle());
}

TEST_CASE("while the state is on its way boundaries pass and deliveries wait") {
  KeptDeliveries backlog(1 << 20);
  Application application;
  backlog.begin_loading();
  backlog.keep(boundary(6));
  CHECK_FALSE(backlog.flush(id, application));
  CHECK(application.heard == "6");
  keep(backlog, "a");
  CHECK_FALSE(backlog.flush(id, application));
  CHECK_FALSE(backlog.passes());
  backlog.end_loading();
  CHECK(backlog.flush(id, application));
  CHECK(application.heard == "6a");
}

TEST_CASE("what a state includes is dropped, but not the boundaries at which objects end") {
  KeptDeliveries backlog = source();
  Application application;
  CHECK(backlog.count_of(NodeId(4)) == 3);
  backlog.begin_loading();
  CHECK(backlog.empty());
  CHECK(backlog.count_of(NodeId(4)) == 0);
  backlog.pass_boundaries(id, application);
  CHECK(application.heard == "78");
  CHECK(backlog.encode().empty());
}

TEST_CASE("a newcomer gets what its source had kept, with the boundaries among and behind it, before what it kept itself") {
  KeptDeliveries old(1 << 20);
  old.keep(boundary(3));  // before every delivery: nothing of the newcomer's ends there
  CHECK(old.encode().empty());
  Application application;
  old.pass_boundaries(id, application);
  const std::vector<std::byte> bytes = source().encode();
  application.heard.clear();

  KeptDeliveries backlog(1 << 20);
  backlog.begin_loading();
  keep(backlog, "d");
  REQUIRE(backlog.prepend(bytes));
  backlog.end_loading();
  CHECK(backlog.count_of(NodeId(4)) == 4);
  CHECK(backlog.encode().size() > bytes.size());
  while (backlog.flush(id, application)) {
  }
  CHECK(application.heard == "ab7c8d");
  CHECK(application.last.here);
  CHECK(application.last.senders == std::vector{NodeId(9)});
  CHECK(application.last.began_anew == std::vector{NodeId(9), NodeId(10)});
  CHECK(backlog.has_space());
}

TEST_CASE("impossible bytes behind a state are refused, and nothing of them is taken") {
  const std::vector<std::byte> bytes = source().encode();
  const auto refused = [](const std::vector<std::byte>& damaged) {
    KeptDeliveries backlog(1);
    const bool taken = backlog.prepend(damaged);
    return !taken && backlog.idle() && backlog.has_space();
  };
  const auto with = [&](std::size_t event_at, std::size_t word, std::uint64_t value) {
    std::vector<std::byte> damaged = bytes;
    std::memcpy(damaged.data() + event_at + word * 8, &value, sizeof value);
    return damaged;
  };
  constexpr std::size_t head = 8 * 8;
  constexpr std::size_t first_boundary = 2 * (head + 1);
  CHECK_FALSE(refused(bytes));
  for (std::size_t length = 1; length < first_boundary; ++length) {
    INFO(length);
    CHECK(refused({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)}) == (length != head + 1));
  }
  CHECK(refused(with(0, 0, 3)));                        // no kind
  CHECK(refused(with(0, 2, bytes.size())));             // longer than the stream
  CHECK(refused(with(0, 2, ~std::uint64_t{0})));
  CHECK(refused(with(0, 3, std::uint64_t{1} << 32U)));  // no node
  CHECK(refused(with(0, 4, std::uint64_t{1} << 32U)));  // no rank
  CHECK(refused(with(first_boundary, 2, 13)));          // half a node
  CHECK(refused(with(first_boundary, 7, 4)));           // more nodes than there are
  CHECK(refused(with(first_boundary, 7, ~std::uint64_t{0})));
}
