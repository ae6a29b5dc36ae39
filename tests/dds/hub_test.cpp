// A topic's hub by itself: samples and the news of their writers come by two subgroups, in any order.
#include <catch2/catch.hpp>

#include <cstring>

#include <spindrift/dds/topic_hub.hpp>

#include "dds_fixture.hpp"

using namespace spindrift;
using namespace spindrift::topics;
using spindrift::test::Reading;

namespace {

/// A hub with one reader, which keeps all, and writers that are told of and written for by hand.
class Hub {
 public:
  Hub() {
    hub_.open(type_support<Reading>());
    hub_.add_reader(reader_);
  }

  void tell_of(const EndpointId& writer) { hub_.on_endpoint(facts(writer, EndpointKind::writer), false); }
  void remove(const EndpointId& writer) { hub_.on_removed(facts(writer, EndpointKind::writer)); }
  void write(const EndpointId& writer, std::int64_t value) {
    const Reading sample{1, value};
    send(writer, SampleKind::data, std::as_bytes(std::span<const Reading>(&sample, 1)),
         type_support<Reading>().key(&sample));
  }
  void end(const EndpointId& writer) { send(writer, SampleKind::gone, {}, {}); }
  void fail(const EndpointId& writer) { begin_view({facts(writer, EndpointKind::writer)}); }
  void begin_view(std::vector<EndpointFacts> failed = {}) {
    hub_.on_view({std::move(failed), [this] { return mark_; }});
  }
  /// From now on deliveries wait here when a view begins.
  void hold_up() { mark_ = 1; }
  void pass_mark() { hub_.on_mark(std::exchange(mark_, 0)); }
  std::vector<std::int64_t> values() {
    std::vector<std::int64_t> all;
    for (const ReadSample& each : reader_->cache().get({}, true, 0)) {
      if (each.data) all.push_back(static_cast<const Reading*>(each.data.get())->value);
    }
    return all;
  }
  ReaderCore& reader() { return *reader_; }

 private:
  static EndpointFacts facts(const EndpointId& id, EndpointKind kind) {
    EndpointFacts made{.id = id, .kind = kind, .topic = "readings"};
    return made;
  }
  void send(const EndpointId& writer, SampleKind kind, std::span<const std::byte> bytes, const Digest& key) {
    SampleEnvelope header;
    header.type = type_support<Reading>().identity;
    header.writer = writer;
    header.sequence = ++sequence_;
    header.key = key;
    header.kind = static_cast<std::uint8_t>(kind);
    hub_.on_message({header, bytes}, wall_ns());
    hub_.end_batch();
  }

  Monitor monitor_;
  ListenerThread thread_{monitor_};
  std::shared_ptr<ReaderCore> reader_ = std::make_shared<ReaderCore>(
      facts({9, 1, 1}, EndpointKind::reader), CacheRules{.depth = 0}, std::make_shared<StatusBoard>(thread_));
  TopicHub hub_;
  std::uint64_t sequence_ = 0;
  std::uint32_t mark_ = 0;
};

constexpr EndpointId first{1, 1, 1}, second{2, 1, 1};
using Values = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("samples that come before the news of their writer wait for it, and all behind them, in their order") {
  Hub hub;
  hub.tell_of(first);
  hub.write(first, 1);
  hub.write(second, 2);
  hub.write(first, 3);
  CHECK(hub.values() == Values{1});
  hub.tell_of(second);
  CHECK(hub.values() == Values{2, 3});
  hub.write(first, 4);
  CHECK(hub.values() == Values{4});
}

TEST_CASE("a writer's last message may come before the news of it, and then it is gone with these") {
  Hub hub;
  hub.write(first, 1);
  hub.end(first);
  CHECK(hub.reader().matched().empty());
  hub.tell_of(first);
  CHECK(hub.values() == Values{1});
  CHECK(hub.reader().matched().empty());
  CHECK(hub.reader().statuses().matched.total_count() == 1);
}

TEST_CASE("a writer that others were told is gone is so with its last message, or with the next view") {
  Hub hub;
  hub.tell_of(first);
  hub.tell_of(second);
  hub.remove(first);
  hub.write(first, 1);  // it was on its way
  CHECK(hub.values() == Values{1});
  hub.end(first);
  CHECK_FALSE(hub.reader().wants(first));
  hub.remove(second);
  CHECK(hub.reader().wants(second));
  hub.begin_view();
  CHECK_FALSE(hub.reader().wants(second));
}

TEST_CASE("what a writer that failed or ended had written comes though it waited here when the view began") {
  Hub hub;
  hub.tell_of(first);
  hub.tell_of(second);
  hub.remove(second);
  hub.hold_up();
  hub.fail(first);
  hub.write(first, 1);
  hub.write(second, 2);
  CHECK(hub.values() == Values{1, 2});
  CHECK(hub.reader().matched().size() == 2);
  hub.pass_mark();
  CHECK(hub.reader().matched().empty());
  CHECK(hub.reader().statuses().liveliness.not_alive_count() == 1);
}

TEST_CASE("a writer whose process failed is gone, which counts as not alive") {
  Hub hub;
  hub.tell_of(first);
  hub.write(first, 1);
  hub.fail(first);
  CHECK(hub.reader().matched().empty());
  CHECK(hub.reader().statuses().liveliness.not_alive_count() == 1);
}
