// A small world of members and clients around the client table: one order, members that die and join with a state, clients
// that make their requests again at other members. A seed decides everything.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <spindrift/group/client_table.hpp>

#include "client_reference.hpp"

namespace spindrift {

class ClientWorld {
 public:
  explicit ClientWorld(std::uint64_t seed) : random_{seed} {
    for (int i = 0; i < 3; ++i) members_.push_back(Member(next_member_++));
    clients_.resize(2 + random_.below(4));
  }

  /// Throws what is violated.
  void run() {
    for (std::uint64_t steps = 60 + random_.below(120); steps > 0; --steps) step();
    come_to_rest();
  }

 private:
  using Kind = replicated::ClientVerdict::Kind;
  using Operation = std::uint64_t;  // one that a client wants carried out; its method follows from it

  struct Message {
    enum class What : std::uint8_t { open, close, request };
    What what{};
    std::size_t client = 0;
    std::uint64_t member = 0;
    ClientRequest request{};  // of an open one the word; of a closed one the session
    Operation operation = 0;
    std::uint32_t method = 0;
  };
  struct Object {
    std::map<Operation, int> done{};
    std::uint64_t sum = 0;
  };
  struct State {
    std::vector<std::byte> table{};
    Object object{};
    std::size_t applied = 0;
  };
  struct Member {
    explicit Member(std::uint64_t which) : number(which) {}
    std::uint64_t number;
    replicated::ClientTable table{reference_limits};
    Object object{};
    std::size_t applied = 0;
    std::vector<Message> outbox{};
  };
  struct Request {
    Operation operation = 0;
    std::optional<std::string> answer{};
    bool mistaken = false;  // another method was called by its number first
  };
  struct Client {
    std::optional<ClientSessionId> session{};
    std::uint64_t settled = 0;
    std::map<std::uint64_t, Request> requests{};  // all of the session
  };

  [[noreturn]] static void violated(const std::string& what) { throw std::runtime_error(what); }

  void step() {
    switch (random_.below(16)) {
      case 0: return crash();
      case 1: return join();
      case 2: checkpoint_ = state_of(random_member()); return;
      case 3:
      case 4:
      case 5: return order_one();
      case 6:
      case 7:
      case 8:
      case 9: return apply_some(random_member());
      default: return act(random_.below(clients_.size()));
    }
  }

  // Members.

  Member& random_member() { return members_[random_.below(members_.size())]; }

  /// A member's messages that are not in the order are lost with it, and a change of the view may lose what others had.
  void crash() {
    if (members_.size() == 1) {
      if (random_.below(4) == 0) begin_anew();
      return;
    }
    members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(random_.below(members_.size())));
    for (Member& member : members_) {
      if (!member.outbox.empty() && random_.below(2) == 0) member.outbox.pop_back();
    }
  }
  /// Everything is lost, and the clients do not know.
  void begin_anew() {
    members_.assign(1, Member(next_member_++));
    order_.clear();
    expected_.clear();
    tables_.clear();
    checkpoint_.reset();
    reference_ = ClientReference();
    acknowledged_.clear();
  }
  /// With the state of another one, or with a checkpoint and the log behind it.
  void join() {
    if (members_.size() == 5) return;
    Member joiner(next_member_++);
    const State state = checkpoint_ && random_.below(2) == 0 ? *checkpoint_ : state_of(random_member());
    const auto same = [](std::uint32_t method) { return std::optional(method); };
    const auto loaded = joiner.table.load(state.table, same);
    if (!loaded) violated("X4 a table cannot be loaded: " + loaded.error().to_string());
    joiner.object = state.object;
    joiner.applied = state.applied;
    check_table(joiner);
    members_.push_back(std::move(joiner));
  }
  State state_of(const Member& member) {
    State state{{}, member.object, member.applied};
    member.table.save(state.table);
    return state;
  }

  // The order, and what members do at its places.

  void order_one() {
    Member& member = random_member();
    if (member.outbox.empty()) return;
    order_.push_back(member.outbox.front());
    member.outbox.erase(member.outbox.begin());
  }
  void apply_some(Member& member) {
    for (std::uint64_t most = 1 + random_.below(6); most > 0 && member.applied < order_.size(); --most) apply(member);
  }
  void apply(Member& member) {
    const Message& message = order_[member.applied++];
    switch (message.what) {
      case Message::What::open: open(member, message); break;
      case Message::What::close:
        member.table.close(message.request.session);
        if (is_first(member)) reference_.close(message.request.session);
        break;
      case Message::What::request: carry_out(member, message); break;
    }
    check_table(member);
  }
  /// Nobody was at that place of the order before.
  [[nodiscard]] bool is_first(const Member& member) const { return member.applied > tables_.size(); }

  void open(Member& member, const Message& message) {
    const ClientSessionId session = member.table.open(message.request.session.word);
    if (is_first(member)) reference_.open(session);
    if (message.member == member.number && random_.below(4) > 0) start_session(clients_[message.client], session);
  }
  static void start_session(Client& client, const ClientSessionId& session) {
    if (client.session) return;
    client = Client{session};
  }

  void carry_out(Member& member, const Message& message) {
    const auto judged = member.table.judge(message.request, message.method);
    const std::size_t place = member.applied - 1;
    if (is_first(member)) expected_[place] = reference_.judge(message.request, message.method);
    const ClientReference::Verdict& expected = expected_.at(place);
    if (judged.kind != expected.kind || (judged.kind == Kind::refused && judged.why != expected.why))
      violated("X5 a request is judged otherwise than by the rules");
    std::string answer;
    if (judged.kind == Kind::fresh) {
      answer = run(member, message);
      if (is_first(member)) reference_.keep(message.request, message.method, answer);
    } else if (judged.kind == Kind::repeated) {
      answer = text_of(*judged.kept);
      if (answer != expected.answer) violated("X3 a repeated answer is not the first");
    }
    if (message.member == member.number && random_.below(4) > 0) on_answer(message, judged.kind, judged.why, answer);
  }
  /// The object's method: what it returns follows from the object.
  static std::string run(Member& member, const Message& message) {
    if (++member.object.done[message.operation] > 1) violated("X1 a request is carried out twice");
    member.object.sum += message.operation;
    const bool threw = message.operation % 5 == 0;
    std::string result = std::to_string(member.object.sum);
    result.resize(member.object.sum % 16, '.');
    const auto bytes = std::as_bytes(std::span(result));
    member.table.keep(message.request, message.method, threw, bytes);
    return (threw ? "threw " : "") + result;
  }
  static std::string text_of(const replicated::KeptResult& kept) {
    if (kept.kind == replicated::KeptResult::Kind::too_large) return "too large";
    const std::string result(reinterpret_cast<const char*>(kept.bytes.data()), kept.bytes.size());
    return (kept.kind == replicated::KeptResult::Kind::threw ? "threw " : "") + result;
  }

  /// All tables are equal behind equal orders, and within their bounds.
  void check_table(const Member& member) {
    std::vector<std::byte> bytes;
    member.table.save(bytes);
    if (member.table.sessions() > reference_limits.sessions || member.table.bytes() > reference_limits.bytes)
      violated("X6 a table is beyond its bounds");
    if (member.applied == 0) return;
    if (member.applied > tables_.size()) {
      tables_.push_back(std::move(bytes));
    } else if (tables_[member.applied - 1] != bytes) {
      violated("X4 two tables differ behind the same order");
    }
  }

  // Clients.

  void act(std::size_t which) {
    Client& client = clients_[which];
    if (!client.session) return send({.what = Message::What::open, .client = which, .request = {{0, random_.word()}}});
    settle(client);
    const std::uint64_t choice = random_.below(20);
    if (choice == 0) {
      send({.what = Message::What::close, .client = which, .request = {*client.session}});
    } else if (choice < 8 || client.requests.empty()) {
      const std::uint64_t ahead = random_.below(8) == 0 ? reference_limits.open - 1 : 0;
      const std::uint64_t number =
          (client.requests.empty() ? client.settled : client.requests.rbegin()->first + 1) + ahead;
      client.requests[number].operation = ++next_operation_;
      request(which, number);
    } else {
      auto again = client.requests.begin();
      std::advance(again, static_cast<std::ptrdiff_t>(random_.below(client.requests.size())));
      request(which, again->first);
    }
  }
  /// A client settles requests whose results it has, and now and then one that it gives up.
  void settle(Client& client) {
    for (auto next = client.requests.lower_bound(client.settled); next != client.requests.end(); ++next) {
      const bool gives_up = random_.below(12) == 0;
      if ((!next->second.answer && !gives_up) || random_.below(3) == 0) return;
      client.settled = next->first + 1;
    }
  }
  void request(std::size_t which, std::uint64_t number) {
    const Client& client = clients_[which];
    const Operation operation = client.requests.at(number).operation;
    const bool mistaken = random_.below(40) == 0;
    const auto method = static_cast<std::uint32_t>(operation % 3 + (mistaken ? 1 : 0));
    const ClientRequest request{*client.session, number, std::min(number, client.settled)};
    // A mistaken one that comes first is carried out, and the others are refused.
    send({.what = Message::What::request, .client = which, .request = request, .operation = operation, .method = method});
  }
  void send(Message message) {
    Member& member = random_member();
    message.member = member.number;
    member.outbox.push_back(message);
  }

  void on_answer(const Message& message, Kind kind, ClientRefusal why, const std::string& answer) {
    Client& client = clients_[message.client];
    if (!client.session || *client.session != message.request.session) return;
    if (kind == Kind::refused) {
      if (why == ClientRefusal::over) client.session.reset();
      if (why == ClientRefusal::other_method) client.requests.at(message.request.number).mistaken = true;
      if (why == ClientRefusal::settled && message.request.number >= client.settled)
        violated("X5 what nobody has settled is said to be");
      return;
    }
    Request& request = client.requests.at(message.request.number);
    const bool comparable = request.answer && *request.answer != "too large" && answer != "too large";
    if (comparable && *request.answer != answer) violated("X3 two answers to one request");
    if (!request.answer) request.answer = answer;
    acknowledged_.push_back(message.operation);
  }

  /// Everything that is under way is delivered, clients ask again for what they lack, and nothing is missing.
  void come_to_rest() {
    deliver_all();
    for (std::size_t which = 0; which < clients_.size(); ++which) ask_again(which);
    for (const Member& member : members_) {
      if (member.applied != order_.size()) violated("X7 a member stays behind");
      for (const Operation operation : acknowledged_) {
        const auto done = member.object.done.find(operation);
        if (done == member.object.done.end() || done->second != 1) violated("X2 what was answered was not carried out");
      }
    }
  }
  void ask_again(std::size_t which) {
    Client& client = clients_[which];
    for (const auto& [number, request] : client.requests) {
      if (number < client.settled) continue;
      client.settled = number;
      for (int tries = 0; client.session && !request.answer && !request.mistaken; ++tries) {
        if (tries == 64) violated("X7 a request that is made again and again has no answer");
        this->request(which, number);
        deliver_all();
      }
    }
  }
  void deliver_all() {
    for (Member& member : members_) {
      for (const Message& message : member.outbox) order_.push_back(message);
      member.outbox.clear();
    }
    for (Member& member : members_) {
      while (member.applied < order_.size()) apply(member);
    }
  }

  Random random_;
  std::vector<Member> members_;
  std::vector<Client> clients_;
  std::vector<Message> order_;
  std::map<std::size_t, ClientReference::Verdict> expected_;
  std::vector<std::vector<std::byte>> tables_;  // behind each place of the order
  ClientReference reference_;
  std::optional<State> checkpoint_;
  std::vector<Operation> acknowledged_;
  Operation next_operation_ = 0;
  std::uint64_t next_member_ = 0;
};

}  // namespace spindrift
