// Runs of calls: fresh seeds are clean, the same seed gives the same run, and the books find each rule that is broken.
#include <catch2/catch.hpp>

#include "rpc_books.hpp"
#include "rpc_run.hpp"

namespace spindrift::sim {
namespace {

/// One of so many seeds is played: a sanitizer looks for other faults than the books do.
constexpr std::uint64_t share = SPINDRIFT_SIM_SHARE;

RpcPlan plan_with(PacketTrouble packets, bool scarce = false) {
  RpcPlan plan;
  plan.options.credits = 2;
  plan.packets = packets;
  plan.scarce = scarce;
  return plan;
}

/// Books of a plan, with one call of node 0 to node 1.
struct Booked {
  explicit Booked(RpcPlan with = plan_with({}),
                  BookedCall call = {.caller = 0, .server = 1, .response_bytes = 9, .response_room = 9})
      : plan(std::move(with)), books(plan), number(books.begin(call)) {
    request.resize(100);
    RpcOrder{number, 9, RpcOrder::Work::now}.write(request);
  }
  /// The call ends so, with a right response or another.
  void end(rpc::CallStatus status, std::uint64_t key) {
    rpc::CallAnswer answer;
    answer.status = status;
    answer.tag = number;
    answer.request = rpc::MessageBuffer(request.size(), 512);
    std::copy(request.begin(), request.end(), answer.request.data().begin());
    answer.response = rpc::MessageBuffer(9, 512);
    fill(answer.response.data(), key);
    books.on_answered(number, answer, Time{});
  }
  void send(std::uint64_t number_of_request, std::uint16_t packet) {
    const rpc::PacketHeader header{
        .kind = rpc::PacketKind::request, .token = 5, .request = number_of_request, .packet = packet};
    books.on_sent(0, {header, {}}, false);
  }

  RpcPlan plan;
  RpcBooks books;
  CallNumber number;
  std::vector<std::byte> request;
};

TEST_CASE("the same seed of calls gives the same trace hash, another seed another") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto once = run_rpc(RpcPlan::of(seed));
    const auto again = run_rpc(RpcPlan::of(seed));
    CHECK(once.hash == again.hash);
    CHECK(once.events == again.events);
    CHECK(once.hash != run_rpc(RpcPlan::of(seed + 1000)).hash);
  }
}

TEST_CASE("fresh seeds of calls violate nothing, and come to everything that they should") {
  std::map<std::string, std::uint64_t> probes;
  for (std::uint64_t seed = 1; seed <= 1500; seed += share) {
    const RpcPlan plan = RpcPlan::of(seed);
    const auto result = run_rpc(plan);
    INFO(plan.describe() << ": " << result.what);
    REQUIRE(result.invariant == "");
    for (const auto& [name, hits] : result.probes) probes[name] += hits;
  }
  for (const auto& [name, hits] : probes) {
    INFO(name);
    CHECK(hits > 0);
  }
}

TEST_CASE("a call that is as it should be violates nothing") {
  Booked booked;
  booked.books.on_handled(1, booked.request);
  booked.end(rpc::CallStatus::answered, ~booked.number);
  booked.books.check_all_ended();
  CHECK(booked.books.clean());
}

TEST_CASE("a request that is handled again is found (C1)") {
  Booked booked;
  booked.books.on_handled(1, booked.request);
  booked.books.on_handled(1, booked.request);
  CHECK(booked.books.invariant() == "C1");
}

TEST_CASE("a request, and a response, that nobody made are found (C2)") {
  Booked of_request;
  of_request.request[50] ^= std::byte{1};
  of_request.books.on_handled(1, of_request.request);
  CHECK(of_request.books.invariant() == "C2");
  Booked of_response;
  of_response.books.on_handled(1, of_response.request);
  of_response.end(rpc::CallStatus::answered, of_response.number);
  CHECK(of_response.books.invariant() == "C2");
  Booked elsewhere;
  elsewhere.books.on_handled(0, elsewhere.request);
  CHECK(elsewhere.books.invariant() == "C2");
}

TEST_CASE("more packets under way than credits, and credits that are lost or made, are found (C3)") {
  Booked of_packets;
  of_packets.send(8, 0);
  of_packets.send(9, 0);
  CHECK(of_packets.books.clean());
  of_packets.send(9, 1);
  CHECK(of_packets.books.invariant() == "C3");
  RpcPlan with_cancels = plan_with({});
  with_cancels.given_up = 400;
  Booked giving_up(with_cancels, {.caller = 0, .server = 1, .response_bytes = 9, .response_room = 9, .canceled = true});
  giving_up.send(8, 0);
  giving_up.send(9, 0);
  giving_up.end(rpc::CallStatus::canceled, 0);
  giving_up.send(10, 0);  // while the packets of the call that was given up are on the way
  CHECK(giving_up.books.clean());
  Booked made, lost;
  made.books.check_credits(3, 1, 2);
  CHECK(made.books.invariant() == "C3");
  lost.books.check_credits(1, 0, 2);
  CHECK(lost.books.invariant() == "C3");
}

TEST_CASE("a call that ends twice, and one that ends without a cause, are found (C4)") {
  Booked twice;
  twice.books.on_handled(1, twice.request);
  twice.end(rpc::CallStatus::answered, ~twice.number);
  CHECK(twice.books.clean());
  twice.end(rpc::CallStatus::answered, ~twice.number);
  CHECK(twice.books.invariant() == "C4");
  using enum rpc::CallStatus;
  for (const auto status :
       {answered, unhandled, failed, overloaded, too_large, timed_out, canceled, session_closed, peer_lost}) {
    Booked booked;
    booked.end(status, ~booked.number);
    INFO(rpc::to_string(status));
    CHECK(booked.books.invariant() == "C4");
  }
}

TEST_CASE("a call is overloaded only where memory is scarce, and before it was carried out or for want of room (C4)") {
  RpcPlan scarce = plan_with({});
  scarce.options.kept_bytes_max = 1000;
  Booked refused(scarce), carried_out(scarce), without_room(scarce);
  refused.end(rpc::CallStatus::overloaded, 0);
  CHECK(refused.books.clean());
  carried_out.books.on_handled(1, carried_out.request);
  carried_out.end(rpc::CallStatus::overloaded, 0);
  CHECK(carried_out.books.invariant() == "C4");
  without_room.books.on_handled(1, without_room.request);
  without_room.books.of(without_room.number).without_room = true;
  without_room.end(rpc::CallStatus::overloaded, 0);
  CHECK(without_room.books.clean());
}

TEST_CASE("a server that keeps more than it may is found (C9)") {
  Booked booked;
  booked.books.check_kept(1, booked.plan.options.kept_bytes_max);
  CHECK(booked.books.clean());
  booked.books.check_kept(1, booked.plan.options.kept_bytes_max + 1);
  CHECK(booked.books.invariant() == "C9");
}

TEST_CASE("a request that comes back otherwise is found (C5)") {
  Booked booked;
  booked.books.on_handled(1, booked.request);
  booked.request[60] ^= std::byte{1};
  booked.end(rpc::CallStatus::answered, ~booked.number);
  CHECK(booked.books.invariant() == "C5");
}

TEST_CASE("a call that never ends, and one that has to be answered and is not, are found (C6)") {
  Booked open;
  open.books.check_all_ended();
  CHECK(open.books.invariant() == "C6");
  Booked unanswered(plan_with({}, true), {.caller = 0, .server = 1, .has_to_be_answered = true});
  unanswered.end(rpc::CallStatus::peer_lost, 0);
  CHECK(unanswered.books.clean());
  unanswered.books.check_all_ended();
  CHECK(unanswered.books.invariant() == "C6");
}

TEST_CASE("a session that is lost though all packets arrive is found (C7)") {
  Booked alone;
  alone.books.on_lost(0, 1);
  CHECK(alone.books.invariant() == "C7");
}

TEST_CASE("a session that is lost because strangers send packets is found (C8)") {
  Booked beside(plan_with({.strange = 10}));
  beside.books.on_lost(0, 1);
  CHECK(beside.books.invariant() == "C8");
  Booked with_reason(plan_with({.lost = 10, .strange = 10}));
  with_reason.books.on_lost(0, 1);
  CHECK(with_reason.books.clean());
}

}  // namespace
}  // namespace spindrift::sim
