// Peers that come, go and fall silent, and queue pairs that end.
#include "device_conformance.hpp"

using namespace conformance;

TEST_CASE_METHOD(ThreeStations, "operations to a peer that is gone end as lost, and others go on") {
  Area local(*a.device, 64, fabric::Access::write);
  Area others(*c.device, 8, fabric::Access::write);
  const Route to_b = connect(a, b);
  const Route to_c = connect(a, c);
  MemoryKeys lost_keys;
  {
    Area remote(*b.device, 8, fabric::Access::write);
    lost_keys = remote.keys;
    const PhysicalOperation first = operation(Kind::write, 1, to_b.peer, local, 0, 8, remote.keys);
    REQUIRE(carry_out(to_b, first) == OperationStatus::done);
    // It never hears of these.
    const PhysicalOperation under_way[] = {operation(Kind::write, 2, to_b.peer, local, 0, 8, remote.keys),
                                           operation(Kind::read, 3, to_b.peer, local, 0, 8, remote.keys),
                                           operation(Kind::send, 4, to_b.peer, local, 0, 8)};
    REQUIRE(to_b.line->pair->post(under_way) == 3);
  }
  destroy(b);
  const PhysicalOperation good = operation(Kind::write, 5, to_c.peer, local, 0, 8, others.keys);
  CHECK(carry_out(to_c, good) == OperationStatus::done);
  REQUIRE(until([&] { return to_b.line->completed(2) && to_b.line->completed(3) && to_b.line->completed(4); }));
  // An adapter may have carried them out, or found the memory gone before the peer was.
  const auto lost = [&](std::uint64_t id) {
    const OperationStatus status = to_b.line->status(id);
    if (!provider().answers_by_itself) return status == OperationStatus::peer_lost;
    return status != OperationStatus::local_error && status != OperationStatus::not_ready;
  };
  CHECK(lost(2));
  CHECK(lost(3));
  if (provider().acknowledges_messages) CHECK(lost(4));
  if (!provider().connectionless) {
    REQUIRE(until([&] { return to_b.line->count(EventKind::broken) == 1; }));
    CHECK(to_b.line->pair->post({&good, 1}) == 0);
    CHECK_FALSE(to_b.line->pair->reset().ok());
    return;
  }
  // Nobody answers there any more: the time for it runs out, for this peer alone.
  const PhysicalOperation later = operation(Kind::write, 6, to_b.peer, local, 0, 8, lost_keys);
  REQUIRE(to_b.line->pair->post({&later, 1}) == 1);
  REQUIRE(until_silence([&] { return to_b.line->completed(6); }, nullptr));
  CHECK(to_b.line->status(6) == OperationStatus::peer_lost);
  const PhysicalOperation still = operation(Kind::write, 7, to_c.peer, local, 0, 8, others.keys);
  CHECK(carry_out(to_c, still) == OperationStatus::done);
  CHECK(to_b.line->count(EventKind::broken) == 0);
}

TEST_CASE_METHOD(TwoConnectionless,
                 "a peer that ended with nothing under way to it is lost with the next operation, without a wait") {
  Area local(*a.device, 8, fabric::Access::write);
  const Route to_b = connect(a, b);
  const MemoryKeys lost_keys = write_before_the_end(to_b, local);
  clock.stop();
  const OperationStatus status = carry_out(to_b, operation(Kind::write, 2, to_b.peer, local, 0, 8, lost_keys));
  CHECK(status == OperationStatus::peer_lost);
}

TEST_CASE_METHOD(TwoConnectionless, "a peer that is there and has lost its connections alone is not lost") {
  Area local(*a.device, 8, fabric::Access::write);
  Area remote(*b.device, 8, fabric::Access::write);
  const Route to_b = connect(a, b);
  REQUIRE(carry_out(to_b, operation(Kind::write, 1, to_b.peer, local, 0, 8, remote.keys)) == OperationStatus::done);
  b.lines.clear();  // its device is reached all the same
  await_end_of_connection();
  local.put(0, "I did it");
  const PhysicalOperation again = operation(Kind::write, 2, to_b.peer, local, 0, 8, remote.keys);
  REQUIRE(to_b.line->pair->post({&again, 1}) == 1);
  REQUIRE(until([&] {
    b.device->progress();
    return to_b.line->completed(2);
  }));
  CHECK(to_b.line->status(2) == OperationStatus::done);
  CHECK(remote.text(0, 8) == "I did it");
}

TEST_CASE_METHOD(ThreeStations, "a peer that falls silent is lost after the time to answer, and others go on") {
  Area local(*a.device, 64, fabric::Access::write);
  Area remote(*b.device, 8, fabric::Access::read);
  Area others(*c.device, 8, fabric::Access::write);
  local.put(0, "as it was");
  const Route to_b = connect(a, b);
  const Route to_c = connect(a, c);
  const PhysicalOperation read = operation(Kind::read, 1, to_b.peer, local, 0, 8, remote.keys);
  carry_out(to_b, read);
  local.put(0, "as it was");
  const PhysicalOperation asked[] = {operation(Kind::read, 2, to_b.peer, local, 0, 8, remote.keys),
                                     operation(Kind::read, 3, to_b.peer, local, 0, 8, remote.keys)};
  REQUIRE(to_b.line->pair->post(asked) == 2);
  if (provider().answers_by_itself) {
    REQUIRE(until([&] { return to_b.line->completed(3); }, &b));
    CHECK(to_b.line->status(3) == OperationStatus::done);
    return;
  }
  REQUIRE(until_silence([&] { return to_b.line->completed(2) && to_b.line->completed(3); }, &b));
  CHECK(to_b.line->status(2) == OperationStatus::peer_lost);
  CHECK(to_b.line->status(3) == OperationStatus::peer_lost);
  CHECK((to_b.line->count(EventKind::broken) == 1) == !provider().connectionless);
  const PhysicalOperation good = operation(Kind::write, 4, to_c.peer, local, 0, 8, others.keys);
  CHECK(carry_out(to_c, good, &b) == OperationStatus::done);
  if (!provider().connectionless) return;

  // Until the provider has given up too, what is posted to it is lost at once.
  const PhysicalOperation next = operation(Kind::read, 5, to_b.peer, local, 0, 8, remote.keys);
  CHECK(carry_out(to_b, next, &b) == OperationStatus::peer_lost);

  // It speaks again. The late answers touch nothing, and it is a peer as any other.
  const PhysicalOperation again = operation(Kind::read, 10, to_b.peer, local, 16, 8, remote.keys);
  REQUIRE(until_done(to_b, again, [&] { CHECK(local.text(0, 9) == "as it was"); }));
  CHECK(local.text(0, 9) == "as it was");
}

TEST_CASE_METHOD(ThreeConnectionless,
                 "memory lent to a silent peer's connection is taken back by breaking the queue pair, which a reset mends") {
  Area local(*a.device, 1 << 16, fabric::Access::write);
  Area remote(*b.device, 1 << 16, fabric::Access::read);
  Area others(*c.device, 8, fabric::Access::write);
  const Route to_b = connect(a, b);
  const Route to_c = connect(a, c);
  const Metadata before = a.device->metadata();
  const PhysicalOperation first = operation(Kind::read, 0, to_b.peer, local, 0, 8, remote.keys);
  carry_out(to_b, first);
  const PhysicalOperation read = operation(Kind::read, 1, to_b.peer, local, 0, 1 << 16, remote.keys);
  REQUIRE(to_b.line->pair->post({&read, 1}) == 1);
  CHECK_FALSE(to_b.line->pair->reset().ok());
  REQUIRE(until_silence([&] { return to_b.line->count(EventKind::broken) == 1; }, &b));
  CHECK(to_b.line->status(1) == OperationStatus::peer_lost);
  const PhysicalOperation good = operation(Kind::write, 2, to_c.peer, local, 0, 8, others.keys);
  CHECK(to_c.line->pair->post({&good, 1}) == 0);
  CHECK(to_b.line->heard.back().kind == EventKind::broken);

  auto mended = to_b.line->pair->reset();
  INFO((mended ? std::string() : mended.error().to_string()));
  REQUIRE(mended.ok());
  CHECK(a.device->metadata() == before);
  CHECK(carry_out(to_c, good) == OperationStatus::done);
  // And it can be reached as before.
  const Route back = connect(c, a);
  PhysicalOperation send = operation(Kind::send, 3, back.peer, others, 0, 8);
  std::uint64_t id = 3;
  const auto arrived = [&] {
    if (to_b.line->count(EventKind::received) > 0) return true;
    if (id > 3 && !back.line->completed(id)) return false;
    send.id = ++id;
    REQUIRE(back.line->pair->post({&send, 1}) == 1);
    return false;
  };
  REQUIRE(until(arrived));
}

TEST_CASE_METHOD(TwoConnected, "a call brings its token, and messages both ways") {
  Area of_a(*a.device, 8, fabric::Access::read);
  Area of_b(*b.device, 8, fabric::Access::read);
  auto made = a.device->connect(b.device->metadata(), 0xfedcba9876543210);
  REQUIRE(made.ok());
  Line& line = a.lines.emplace_back(Line{std::move(made).value(), {}, true});
  const PhysicalOperation early = operation(Kind::send, 1, PeerHandle(), of_a, 0, 8);
  CHECK(line.pair->post({&early, 1}) == 0);
  REQUIRE(until([&] { return b.tokens.size() == 1 && line.count(EventKind::connected) == 1; }));
  CHECK(b.tokens.front() == 0xfedcba9876543210);
  const PhysicalOperation answer = operation(Kind::send, 2, PeerHandle(), of_b, 0, 8);
  REQUIRE(b.lines.back().pair->post({&answer, 1}) == 1);
  REQUIRE(line.pair->post({&early, 1}) == 1);
  REQUIRE(until([&] { return line.count(EventKind::received) == 1 && b.lines.back().count(EventKind::received) == 1; }));
  CHECK(line.count(EventKind::connected) == 1);
  CHECK(b.lines.back().count(EventKind::connected) == 0);
}

TEST_CASE_METHOD(TwoConnected, "calls at the same time each become a connection of their own") {
  for (std::uint64_t token = 0; token < 8; ++token) {
    Station& from = token % 2 == 0 ? a : b;
    Station& to = token % 2 == 0 ? b : a;
    auto made = from.device->connect(to.device->metadata(), token);
    REQUIRE(made.ok());
    from.lines.emplace_back(Line{std::move(made).value(), {}, true});
  }
  const auto connected = [](const Station& station) {
    std::size_t count = 0;
    for (const Line& line : station.lines) count += line.count(EventKind::connected);
    return count;
  };
  REQUIRE(until([&] { return a.tokens.size() == 4 && b.tokens.size() == 4 && connected(a) == 4 && connected(b) == 4; }));
  std::sort(a.tokens.begin(), a.tokens.end());
  std::sort(b.tokens.begin(), b.tokens.end());
  CHECK(a.tokens == std::vector<std::uint64_t>{1, 3, 5, 7});
  CHECK(b.tokens == std::vector<std::uint64_t>{0, 2, 4, 6});
}

TEST_CASE_METHOD(TwoConnected, "a call to nobody breaks, and so does a connection whose other end is destroyed") {
  Station& gone = station();
  const Metadata nobody = gone.device->metadata();
  destroy(gone);
  auto made = a.device->connect(nobody, 1);
  REQUIRE(made.ok());
  Line& call = a.lines.emplace_back(Line{std::move(made).value(), {}, true});
  REQUIRE(until([&] { return call.count(EventKind::broken) == 1; }));
  CHECK(call.count(EventKind::connected) == 0);

  const Route route = connect(a, b);
  b.lines.pop_back();
  REQUIRE(until([&] { return route.line->count(EventKind::broken) == 1; }));
  const PhysicalOperation none{};
  CHECK(route.line->pair->post({&none, 1}) == 0);
}

TEST_CASE_METHOD(TwoStations, "metadata that is not of such a device is refused") {
  const Metadata good = b.device->metadata();
  const auto refused = [&](const Metadata& metadata) {
    if (provider().connectionless) {
      const auto peer = a.device->resolve(metadata);
      return !peer.ok() && peer.error().kind() == ErrorKind::bad_argument;
    }
    const auto made = a.device->connect(metadata, 1);
    return !made.ok() && made.error().kind() == ErrorKind::bad_argument;
  };
  CHECK(refused(Metadata{}));
  Metadata longer = good;
  ++longer.size;
  CHECK(refused(longer));
  longer.size = 255;
  CHECK(refused(longer));
  // The address' last bytes and the ports may be anything but zero; the rest is fixed.
  for (std::size_t i = 0; i < 4; ++i) {
    Metadata bad = good;
    bad.bytes[i] ^= std::byte{0x40};
    CHECK(refused(bad));
  }
  const auto overwritten = [&](std::size_t first, std::size_t bytes, std::byte with) {
    Metadata bad = good;
    std::fill_n(bad.bytes.begin() + static_cast<std::ptrdiff_t>(first), bytes, with);
    return bad;
  };
  CHECK(refused(overwritten(provider().port_at, provider().port_bytes, std::byte{0})));
  CHECK(refused(overwritten(provider().address_at, 4, std::byte{0xff})));  // broadcast
  CHECK_FALSE(refused(good));
}

TEST_CASE("a class that a device does not offer is unsupported") {
  World world(generated());
  Station& a = world.station();
  const DeviceTraits& traits = a.device->traits();
  if (!traits.connectionless) CHECK(a.device->open().error().kind() == ErrorKind::unsupported);
  if (!traits.connected) {
    CHECK(a.device->connect(a.device->metadata(), 1).error().kind() == ErrorKind::unsupported);
    CHECK(a.device->accepted().queue_pair == nullptr);
  }
  CHECK(a.device->register_memory({}, fabric::Access::read).error().kind() == ErrorKind::bad_argument);
}

TEST_CASE("a peer is taken in once, forgotten when nobody wants it any more, and there is room for so many") {
  DeviceSizes sizes;
  sizes.peers_max = 2;
  World world(generated(Class::connectionless), sizes);
  Station& a = world.station();
  Station& b = world.station();
  Station& c = world.station();
  Area local(*a.device, 8, fabric::Access::write);
  Area of_c(*c.device, 8, fabric::Access::write);
  const Route to_b = world.connect(a, b);
  const Route to_c = world.connect(a, c);
  CHECK(a.device->resolve(b.device->metadata()).value() == to_b.peer);
  CHECK(a.device->resolve(a.device->metadata()).error().kind() == ErrorKind::resource);
  const PhysicalOperation to_nobody[] = {operation(Kind::write, 1, PeerHandle(), local, 0, 8, of_c.keys),
                                         operation(Kind::write, 2, PeerHandle(77), local, 0, 8, of_c.keys),
                                         operation(Kind::send, 3, to_b.peer, local, 0, 8)};
  REQUIRE(to_b.line->pair->post(to_nobody) == 3);
  REQUIRE(world.until([&] { return to_b.line->count(EventKind::completed) == 3; }));
  CHECK(to_b.line->status(1) == OperationStatus::local_error);
  CHECK(to_b.line->status(2) == OperationStatus::local_error);
  CHECK(to_b.line->status(3) == OperationStatus::done);
  a.device->forget(to_b.peer);
  a.device->forget(PeerHandle(77));
  CHECK(a.device->resolve(b.device->metadata()).value() == to_b.peer);
  a.device->forget(to_b.peer);
  a.device->forget(to_b.peer);
  const PhysicalOperation forgotten = operation(Kind::send, 4, to_b.peer, local, 0, 8);
  CHECK(world.carry_out(to_b, forgotten) == OperationStatus::local_error);
  // A device reaches itself, and its number is that of who was forgotten.
  const auto self = a.device->resolve(a.device->metadata());
  REQUIRE(self.ok());
  const PhysicalOperation ordinary[] = {operation(Kind::write, 5, to_c.peer, local, 0, 8, of_c.keys),
                                        operation(Kind::send, 6, *self, local, 0, 8)};
  REQUIRE(to_c.line->pair->post(ordinary) == 2);
  REQUIRE(world.until([&] { return to_c.line->completed(5) && to_c.line->completed(6); }));
  CHECK(to_c.line->status(5) == OperationStatus::done);
  CHECK(to_c.line->status(6) == OperationStatus::done);
  REQUIRE(world.until([&] { return a.line().count(EventKind::received) == 1; }));
}

TEST_CASE_METHOD(TwoConnectionless,
                 "a device's memory is reached and messages come, whichever of its queue pairs are open") {
  Line& second = b.open();
  Area local(*a.device, 8, fabric::Access::write);
  Area remote(*b.device, 8, fabric::Access::write);
  local.put(0, "by both!");
  const Route route = connect(a, b);
  const auto back = b.device->resolve(a.device->metadata());
  REQUIRE(back.ok());
  const PhysicalOperation send = operation(Kind::send, 1, route.peer, local, 0, 8);
  REQUIRE(route.line->pair->post({&send, 1}) == 1);
  REQUIRE(until([&] { return b.line().count(EventKind::received) == 1; }));
  const PhysicalOperation from_second = operation(Kind::send, 2, *back, remote, 0, 8);
  REQUIRE(second.pair->post({&from_second, 1}) == 1);
  REQUIRE(until([&] { return a.line().count(EventKind::received) == 1 && second.completed(2); }));
  CHECK(second.count(EventKind::received) == 0);
  // The first goes; writes land all the same, and the next one that is opened hears the messages.
  b.lines.pop_front();
  REQUIRE(until_done(route, operation(Kind::write, 10, route.peer, local, 0, 8, remote.keys), [] {}));
  CHECK(remote.text(0, 8) == "by both!");
  Line& third = b.open();
  const PhysicalOperation more = operation(Kind::send, 100, route.peer, local, 0, 8);
  REQUIRE(route.line->pair->post({&more, 1}) == 1);
  REQUIRE(until([&] { return third.count(EventKind::received) == 1; }));
}

TEST_CASE("a message longer than the receiver's buffers is not delivered, and hurts nobody else") {
  World world(generated());
  Station& a = world.station();
  Station& c = world.station();
  DeviceSizes small;
  small.message_bytes_max = 64;
  Station& b = world.add(small);
  Area local(*a.device, 1024, fabric::Access::read);
  Area of_c(*c.device, 8, fabric::Access::read);
  const Route to_b = world.connect(a, b);
  const Route from_c = world.connect(c, b);
  const PhysicalOperation too_long = operation(Kind::send, 1, to_b.peer, local, 0, 1024);
  world.carry_out(to_b, too_long);
  const PhysicalOperation short_one = operation(Kind::send, 2, from_c.peer, of_c, 0, 8);
  REQUIRE(from_c.line->pair->post({&short_one, 1}) == 1);
  REQUIRE(world.until([&] { return from_c.there->count(EventKind::received) == 1; }));
  for (const Line& line : b.lines) {
    for (const std::string& message : line.messages()) CHECK(message.size() == 8);
  }
}

TEST_CASE_METHOD(TwoStations,
                 "a device asks to be looked at, though nothing comes, only while something has no answer yet") {
  Area local(*a.device, 8, fabric::Access::write);
  Area remote(*b.device, 8, fabric::Access::read);
  const Route to_b = connect(a, b);
  CHECK(a.device->next_look() == never);
  CHECK(carry_out(to_b, operation(Kind::read, 1, to_b.peer, local, 0, 8, remote.keys)) == OperationStatus::done);
  REQUIRE(until([&] { return a.device->next_look() == never; }));
  const PhysicalOperation asked = operation(Kind::read, 2, to_b.peer, local, 0, 8, remote.keys);
  REQUIRE(to_b.line->pair->post({&asked, 1}) == 1);
  CHECK(a.device->next_look() <= clock.now() + provider().answer_max);
  REQUIRE(until_silence([&] { return to_b.line->completed(2); }, provider().answers_by_itself ? nullptr : &b));
  CHECK(a.device->next_look() == never);
}
