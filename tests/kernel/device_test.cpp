// The promises of a device about operations and messages, tried with every provider that there is.
#include "device_conformance.hpp"

using namespace conformance;

TEST_CASE_METHOD(TwoStations, "a write lands where it was meant to, and a read brings it back") {
  Area local(*a.device, 64, fabric::Access::write);
  Area writable(*b.device, 64, fabric::Access::write);
  Area readable(*b.device, 64, fabric::Access::read);
  readable.put(8, "from there");
  local.put(0, "to there");
  const Route route = connect(a, b);
  const PhysicalOperation both[] = {operation(Kind::write, 1, route.peer, local, 0, 8, writable.keys, 16),
                                    operation(Kind::read, 2, route.peer, local, 32, 10, readable.keys, 8)};
  REQUIRE(route.line->pair->post(both) == 2);
  REQUIRE(until([&] { return route.line->completed(1) && route.line->completed(2); }));
  CHECK(route.line->status(1) == OperationStatus::done);
  CHECK(route.line->status(2) == OperationStatus::done);
  CHECK(writable.text(15, 10) == std::string("\0to there\0", 10));
  CHECK(local.text(32, 10) == "from there");
}

TEST_CASE_METHOD(TwoStations, "a completion proves that a write is in the peer's memory, if the device says so") {
  REQUIRE(a.device->traits().visible_on_completion != provider().answers_by_itself);
  if (provider().answers_by_itself) return;
  Area local(*a.device, 8, fabric::Access::write);
  Area remote(*b.device, 8, fabric::Access::write);
  const Route route = connect(a, b);
  for (std::uint64_t i = 1; i <= 200; ++i) {
    std::memcpy(local.memory.data(), &i, sizeof i);
    const PhysicalOperation write = operation(Kind::write, i, route.peer, local, 0, 8, remote.keys);
    carry_out(route, write);
    REQUIRE(remote.word(0) == i);
  }
}

TEST_CASE_METHOD(TwoStations, "writes to one peer become visible in their order") {
  constexpr std::uint64_t count = 2000;
  Area local(*a.device, 8 * count, fabric::Access::write);
  Area remote(*b.device, 4096 + 8, fabric::Access::write);
  const Route route = connect(a, b);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t value = i + 1;
    std::memcpy(local.memory.data() + 8 * i, &value, sizeof value);
  }
  // Data at 0, a guard behind it: the guard is never ahead of the data.
  std::uint64_t posted = 0;
  std::uint64_t seen = 0;
  bool ordered = true;
  REQUIRE(until([&] {
    const std::uint64_t guard = remote.word(4096);
    ordered = ordered && guard >= seen && remote.word(0) >= guard;
    seen = guard;
    while (posted < count) {
      const PhysicalOperation pair[] = {
          operation(Kind::write, 2 * posted, route.peer, local, 8 * posted, 8, remote.keys, 0),
          operation(Kind::write, 2 * posted + 1, route.peer, local, 8 * posted, 8, remote.keys, 4096)};
      const std::size_t taken = route.line->pair->post(pair);
      if (taken == 1) REQUIRE(until([&] { return route.line->pair->post({&pair[1], 1}) == 1; }));
      if (taken == 0) break;
      ++posted;
    }
    return route.line->count(EventKind::completed) == 2 * count;
  }));
  CHECK(ordered);
  CHECK(remote.word(4096) == count);
}

TEST_CASE_METHOD(TwoStations, "messages arrive whole and in their order, header before payload") {
  Area local(*a.device, 4096, fabric::Access::read);
  const std::string payload(4000, 'p');
  local.put(0, payload);
  const Route route = connect(a, b);
  std::vector<std::string> sent;
  for (std::uint64_t i = 0; i < 600; ++i) {
    const std::string header = "header " + std::to_string(i) + " ";
    const std::size_t bytes = i * 7 % 4001;
    PhysicalOperation send = operation(Kind::send, i, route.peer, local, 0, bytes);
    send.header = bytes_of(header);
    REQUIRE(until([&] { return route.line->pair->post({&send, 1}) == 1; }));
    sent.push_back(header + payload.substr(0, bytes));
  }
  REQUIRE(until([&] { return route.there->count(EventKind::received) == sent.size(); }));
  CHECK(route.there->messages() == sent);
  REQUIRE(until([&] { return route.line->count(EventKind::completed) == sent.size(); }));
}

TEST_CASE_METHOD(
    TwoStations,
    "writes, reads and messages mixed keep their order at the peer, and their completions if the device says so") {
  Area local(*a.device, 1 << 20, fabric::Access::write);
  Area remote(*b.device, 1 << 20, fabric::Access::write);
  Area readable(*b.device, 1 << 20, fabric::Access::read);
  const Route route = connect(a, b);
  std::vector<PhysicalOperation> operations;
  for (std::uint64_t i = 0; i < 60; i += 3) {
    const std::size_t large = 1000 * (i + 1);
    operations.push_back(operation(Kind::read, i, route.peer, local, 0, large, readable.keys));
    operations.push_back(operation(Kind::write, i + 1, route.peer, local, 0, 8, remote.keys));
    operations.push_back(operation(Kind::send, i + 2, route.peer, local, 0, 8));
  }
  REQUIRE(route.line->pair->post(operations) == operations.size());
  REQUIRE(until([&] { return route.line->count(EventKind::completed) == operations.size(); }));
  CHECK(route.there->count(EventKind::received) == 20);
  std::vector<std::uint64_t> completed;
  for (const Heard& heard : route.line->heard) {
    if (heard.kind != EventKind::completed) continue;
    CHECK(heard.status == OperationStatus::done);
    completed.push_back(heard.id);
  }
  if (a.device->traits().ordered_completions) CHECK(std::is_sorted(completed.begin(), completed.end()));
}

TEST_CASE_METHOD(TwoStations, "only signaled operations complete, and failed ones") {
  Area local(*a.device, 8, fabric::Access::write);
  Area remote(*b.device, 8, fabric::Access::write);
  const Route route = connect(a, b);
  PhysicalOperation writes[] = {operation(Kind::write, 1, route.peer, local, 0, 8, remote.keys),
                                operation(Kind::write, 2, route.peer, local, 0, 8, remote.keys),
                                operation(Kind::write, 3, route.peer, local, 0, 8, remote.keys)};
  writes[0].signaled = writes[1].signaled = false;
  writes[1].local_key ^= 1;
  REQUIRE(route.line->pair->post(writes) == 3);
  REQUIRE(until([&] { return route.line->completed(2) && route.line->completed(3); }));
  CHECK(route.line->count(EventKind::completed) == 2);
  CHECK(route.line->status(2) == OperationStatus::local_error);
  CHECK(route.line->status(3) == OperationStatus::done);
}

TEST_CASE_METHOD(TwoStations, "a message larger than the maximum is refused, and so is memory that is not registered") {
  const std::size_t bytes_max = a.device->traits().message_bytes_max;
  Area local(*a.device, bytes_max + 1, fabric::Access::read);
  const Route route = connect(a, b);
  const PhysicalOperation largest = operation(Kind::send, 1, route.peer, local, 0, bytes_max);
  const PhysicalOperation too_large = operation(Kind::send, 2, route.peer, local, 0, bytes_max + 1);
  PhysicalOperation outside = operation(Kind::send, 3, route.peer, local, 1, bytes_max);
  outside.local += 1;
  PhysicalOperation with_header = largest;
  with_header.id = 4;
  with_header.header = bytes_of("h");
  const PhysicalOperation all[] = {largest, too_large, outside, with_header};
  REQUIRE(route.line->pair->post(all) == 4);
  REQUIRE(until([&] { return route.line->count(EventKind::completed) == 4; }));
  CHECK(route.line->status(1) == OperationStatus::done);
  CHECK(route.line->status(2) == OperationStatus::local_error);
  CHECK(route.line->status(3) == OperationStatus::local_error);
  CHECK(route.line->status(4) == OperationStatus::local_error);
  REQUIRE(until([&] { return route.there->count(EventKind::received) == 1; }));
}

TEST_CASE_METHOD(ThreeStations, "an access that the peer refuses fails and changes nothing, and others go on") {
  Area local(*a.device, 64, fabric::Access::write);
  Area writable(*b.device, 64, fabric::Access::write);
  Area readable(*b.device, 64, fabric::Access::read);
  Area others(*c.device, 8, fabric::Access::write);
  local.put(0, "changed!");
  MemoryKeys wrong = writable.keys;
  wrong.remote_key ^= 1;
  const Route to_c = connect(a, c);
  const auto write = [&](const Route& route, std::uint64_t id, const MemoryKeys& keys, std::size_t at) {
    return operation(Kind::write, id, route.peer, local, 0, 8, keys, at);
  };
  std::uint64_t id = 1;
  const auto try_refused = [&](auto change) {
    const Route to_b = connect(a, b);
    PhysicalOperation refused = write(to_b, id, writable.keys, 0);
    change(refused);
    const OperationStatus status = carry_out(to_b, refused);
    CHECK((status == OperationStatus::access_refused || status == OperationStatus::peer_lost));
    const PhysicalOperation good = write(to_c, id + 100, others.keys, 0);
    CHECK(carry_out(to_c, good) == OperationStatus::done);
    id += 1;
  };
  try_refused([&](PhysicalOperation& o) { o.remote_key = wrong.remote_key; });
  try_refused([&](PhysicalOperation& o) { o.remote_address += 57; });
  try_refused([&](PhysicalOperation& o) { o.remote_address = ~std::uint64_t{3}; });
  try_refused([&](PhysicalOperation& o) { o.remote_key = readable.keys.remote_key; });
  try_refused([&](PhysicalOperation& o) { o.kind = Kind::read; });
  CHECK(writable.memory == std::vector<std::byte>(64));
  CHECK(readable.memory == std::vector<std::byte>(64));
  CHECK(local.text(0, 8) == "changed!");
  CHECK(others.text(0, 8) == "changed!");

  // The peer can be reached as before, though what is tried at once may still fail with the old connection.
  const Route again = connect(a, b);
  REQUIRE(until_done(again, write(again, 1000, writable.keys, 0), [] {}));
  CHECK(writable.text(0, 8) == "changed!");
}

TEST_CASE_METHOD(TwoStations, "memory that was given back is out of peers' reach") {
  Area local(*a.device, 8, fabric::Access::write);
  local.put(0, "changed!");
  Area remote(*b.device, 8, fabric::Access::write);
  const Route route = connect(a, b);
  b.device->deregister(remote.keys);
  const PhysicalOperation write = operation(Kind::write, 1, route.peer, local, 0, 8, remote.keys);
  CHECK(carry_out(route, write) != OperationStatus::done);
  CHECK(remote.memory == std::vector<std::byte>(8));
}

TEST_CASE("a queue pair takes as many operations as it is deep, and more when their completions were taken") {
  DeviceSizes sizes;
  sizes.send_depth = 8;
  World world(generated(), sizes);
  Station& a = world.station();
  Station& b = world.station();
  CHECK(a.device->traits().send_depth == 8);
  Area local(*a.device, 8, fabric::Access::write);
  Area remote(*b.device, 8, fabric::Access::write);
  const Route route = world.connect(a, b);
  std::vector<PhysicalOperation> operations;
  for (std::uint64_t i = 0; i < 20; ++i)
    operations.push_back(operation(Kind::write, i, route.peer, local, 0, 8, remote.keys));
  REQUIRE(route.line->pair->post(operations) == 8);
  CHECK(route.line->pair->post(operations) == 0);
  REQUIRE(world.until([&] { return route.line->count(EventKind::completed) == 8; }));
  CHECK(route.line->pair->post(std::span(operations).subspan(8)) == 8);
  REQUIRE(world.until([&] { return route.line->count(EventKind::completed) == 16; }));
}

TEST_CASE("messages wait while the peer has given no buffer back, and arrive when it has") {
  DeviceSizes sizes;
  sizes.receive_buffers = 4;
  World world(generated(), sizes);
  Station& a = world.station();
  Station& b = world.station();
  Area local(*a.device, 16, fabric::Access::read);
  const Route route = world.connect(a, b);
  route.there->gives_back = false;
  std::vector<std::string> sent;
  for (std::uint64_t i = 0; i < 40; ++i) {
    const std::string header = std::to_string(i);
    PhysicalOperation send = operation(Kind::send, i, route.peer, local, 0, 0);
    send.header = bytes_of(header);
    REQUIRE(route.line->pair->post({&send, 1}) == 1);
    sent.push_back(header);
  }
  REQUIRE(world.until([&] { return route.there->count(EventKind::received) == 4; }));
  CHECK(route.there->messages() == std::vector<std::string>(sent.begin(), sent.begin() + 4));
  // Each buffer that is given back brings one more.
  std::size_t given_back = 0;
  REQUIRE(world.until([&] {
    for (; given_back < route.there->heard.size(); ++given_back) {
      if (route.there->count(EventKind::received) > given_back + 4) return true;
      route.there->pair->give_back(route.there->heard[given_back].id);
    }
    return route.there->count(EventKind::received) == sent.size();
  }));
  CHECK(route.there->messages() == sent);
}
