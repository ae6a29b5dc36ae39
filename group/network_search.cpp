// Calling members of other hosts, and judging the answers.
#include <spindrift/group/network_search.hpp>

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include <spindrift/core/config/addresses.hpp>
#include <spindrift/fabric/connected/wire.hpp>
#include <spindrift/fabric/tls/credentials.hpp>
#include <spindrift/group/network_feed.hpp>

namespace spindrift::group {

using fabric::connected::SocketAddress;
using fabric::tcp::Handshakes;

namespace {

/// The same for as long as the process runs, and others for others, so that observers spread over the members.
std::uint64_t own_number() {
  std::array<char, 256> host{};
  static_cast<void>(::gethostname(host.data(), host.size() - 1));
  return std::hash<std::string>{}(host.data() + std::to_string(::getpid()));
}

std::uint64_t mixed(std::uint64_t number) noexcept {  // the finalizer of MurmurHash3
  number = (number ^ (number >> 33U)) * 0xff51'afd7'ed55'8ccdU;
  number = (number ^ (number >> 33U)) * 0xc4ce'b9fe'1a85'ec53U;
  return number ^ (number >> 33U);
}

/// Those first that the configuration has in the subgroup.
std::vector<NodeId> callees_of(const Config& config, const std::string& subgroup, std::optional<NodeId> source) {
  const auto view = config.view();
  if (!view) return {};
  std::vector<NodeId> nodes = view->members;
  if (source) std::erase_if(nodes, [&](NodeId node) { return node != *source; });
  const std::uint64_t own = own_number();
  const auto place = [&](NodeId node) {
    const bool inside = std::any_of(view->subgroups.begin(), view->subgroups.end(), [&](const SubgroupView& each) {
      return each.name == subgroup && std::find(each.members.begin(), each.members.end(), node) != each.members.end();
    });
    return std::pair(!inside, mixed(own ^ mixed(node.value() + 1)));
  };
  std::sort(nodes.begin(), nodes.end(), [&](NodeId one, NodeId other) { return place(one) < place(other); });
  return nodes;
}

}  // namespace

NetworkSearch::NetworkSearch(const Config& config, std::string subgroup, std::optional<NodeId> source, const Clock& clock)
    : config_(config),
      subgroup_(std::move(subgroup)),
      clock_(clock),
      bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      resolver_([this] { ::eventfd_write(bell_.get(), 1); }) {
  for (const NodeId node : callees_of(config, subgroup_, source)) {
    std::string endpoint = config::observer_address_of(config, node);
    if (endpoint.empty()) continue;
    Callee& callee = callees_.emplace_back();
    callee.node = node;
    callee.endpoint = std::move(endpoint);
  }
}

void NetworkSearch::begin(std::optional<Resumption> from) {
  stop();
  from_ = from;
  next_call_ = clock_.now();
}

void NetworkSearch::stop() {
  handshakes_.reset();
  refusal_.reset();
  next_call_ = never;
  for (Callee& callee : callees_) {
    if (callee.state != State::resolving) callee.state = State::idle;
    callee.stream.reset();
    callee.deadline = {};
    callee.answer.clear();
  }
}

// The keys may be there a moment later.
Result<void> NetworkSearch::open() {
  Handshakes::Options options;
  options.patience = {std::chrono::seconds(10), std::chrono::seconds(10)};
  options.purpose = Handshakes::Purpose::observe;
  if (config_.proves_members()) {
    auto credentials = fabric::tls::Credentials::load_observer(config_.keys_directory(), config_.group_name());
    if (!credentials) {
      return Error(credentials.error().kind(), "it has no keys of an observer")
          .because(std::move(credentials).error())
          .fix("spindrift keys add " + config_.group_name() +
               " --observer NAME makes some; copy their directory here, and name it in [SPINDRIFT] keys");
    }
    options.credentials = std::move(*credentials);
  }
  SPINDRIFT_TRY_ASSIGN(handshakes_, Handshakes::start(FileDescriptor(), std::move(options)));
  return {};
}

Result<std::unique_ptr<FeedSource>> NetworkSearch::look() {
  if (next_call_ == never && handshakes_ == nullptr) return std::unique_ptr<FeedSource>();
  if (handshakes_ == nullptr) {
    if (clock_.now() < next_call_) return std::unique_ptr<FeedSource>();
    const auto opened = open();
    unable_ = opened ? "" : opened.error().to_string();
    if (!opened && opened.error().kind() == ErrorKind::refused) refusal_ = opened.error();
    if (!opened) next_call_ = clock_.now() + between_attempts;
    if (!opened) return std::unique_ptr<FeedSource>();
  }
  take_outcomes();
  for (Callee& callee : callees_) {
    if (callee.stream == nullptr) continue;
    SPINDRIFT_TRY_ASSIGN(auto found, hear(callee));
    if (found != nullptr) return found;
  }
  if (clock_.now() >= next_call_) call_next();
  return std::unique_ptr<FeedSource>();
}

void NetworkSearch::take_outcomes() {
  eventfd_t rings = 0;
  ::eventfd_read(bell_.get(), &rings);
  for (auto answer = resolver_.take(); answer; answer = resolver_.take()) {
    const auto at =
        std::find_if(callees_.begin(), callees_.end(), [&](const Callee& each) { return each.node == answer->node; });
    if (at != callees_.end() && at->state == State::resolving) call(*at, answer->address);
  }
  for (auto outcome = handshakes_->take(); outcome; outcome = handshakes_->take()) {
    const auto with = [&](fabric::tcp::CallTicket ticket) {
      return std::find_if(callees_.begin(), callees_.end(), [&](const Callee& each) {
        return each.state == State::calling && each.ticket == ticket;
      });
    };
    if (auto* const made = std::get_if<fabric::tcp::MadeCall>(&*outcome)) {
      if (const auto at = with(made->ticket); at != callees_.end()) ask(*at, std::move(made->stream));
    } else if (const auto* const failed = std::get_if<fabric::tcp::FailedCall>(&*outcome)) {
      if (const auto at = with(failed->ticket); at != callees_.end()) fail(*at, explained(failed->why.to_string()));
    }
  }
}

void NetworkSearch::call_next() {
  const Time now = clock_.now();
  const auto next = std::find_if(callees_.begin(), callees_.end(), [now](const Callee& each) {
    return each.state == State::idle && now >= each.deadline;
  });
  next_call_ = now + between_calls;
  if (next == callees_.end()) return;
  if (next->answer.empty()) next->answer = "has not answered yet";
  if (auto address = fabric::connected::resolve(next->endpoint, true)) return call(*next, address);
  next->state = State::resolving;
  resolver_.ask(next->node, next->endpoint);
}

void NetworkSearch::call(Callee& callee, const Result<SocketAddress>& address) {
  if (!address) return fail(callee, address.error().to_string());
  ++newest_;
  callee.ticket = newest_;
  callee.state = State::calling;
  handshakes_->call({newest_, callee.node, *address, fabric::connected::observer_greeting()});
}

void NetworkSearch::ask(Callee& callee, std::unique_ptr<fabric::tcp::ByteStream> stream) {
  ObserverPacket hello{ObserverCall::hello, 0, {}, subgroup_};
  hello.position = from_ ? 1 : 0;
  hello.delivered = from_ && from_->last ? 1 : 0;
  if (from_ && from_->last) hello.last = *from_->last;
  OutgoingFrames frames;
  frames.put(hello);
  callee.stream = std::move(stream);
  callee.frames = FrameBuffer(feed_record_bytes_max);
  callee.state = State::asked;
  callee.deadline = clock_.now() + answer_max;
  // A socket that is new takes as much as that.
  if (const auto sent = frames.flush(*callee.stream); !sent || !*sent)
    fail(callee, sent ? "takes nothing" : sent.error().to_string());
}

void NetworkSearch::fail(Callee& callee, std::string why) {
  callee.stream.reset();
  callee.state = State::idle;
  callee.answer = std::move(why);
  callee.deadline = clock_.now() + between_attempts;
  next_call_ = clock_.now();
}

std::string NetworkSearch::explained(const std::string& reason) const {
  using fabric::tcp::connection_broke;
  using fabric::tcp::connection_ended;
  if (!reason.starts_with(connection_ended) && !reason.starts_with(connection_broke)) return reason;
  const std::string own = config_.proves_members() ? "proves itself by keys" : "proves nothing";
  return reason + "; it did not answer, and may have another [SPINDRIFT] security: this observer " + own +
         "; fix: give both the same security, and read that member's log";
}

Result<std::unique_ptr<FeedSource>> NetworkSearch::hear(Callee& callee) {
  while (true) {
    SPINDRIFT_TRY_ASSIGN(const auto frame, callee.frames.next());
    if (frame && frame->kind == ObserverFrame::Kind::alive) continue;
    if (frame) {
      const auto said = frame->kind == ObserverFrame::Kind::packet ? decode_observer_packet(frame->body) : std::nullopt;
      if (said) {
        SPINDRIFT_TRY_ASSIGN(auto found, on_packet(callee, *said));
        if (found != nullptr || callee.stream == nullptr) return found;
        continue;
      }
      return Error(ErrorKind::bad_input, "node " + std::to_string(callee.node.value()) + " answered what no member does")
          .fix("use the same version of spindrift for members and observers");
    }
    const auto came = callee.frames.read(*callee.stream);
    if (came && *came > 0) {
      if (callee.state == State::standing_by) callee.deadline = clock_.now() + answer_max;
      continue;
    }
    const bool heard = callee.state == State::standing_by;
    if (!came) fail(callee, heard ? came.error().to_string() : explained(came.error().to_string()));
    else if (clock_.now() >= callee.deadline) fail(callee, "did not answer in 3 s");
    return std::unique_ptr<FeedSource>();
  }
}

Result<std::unique_ptr<FeedSource>> NetworkSearch::on_packet(Callee& callee, const ObserverPacket& said) {
  switch (said.call) {
    case ObserverCall::welcome: {
      const FeedOrigin origin{callee.node, said.mode, {said.delivered, said.last}, said.number};
      return std::unique_ptr<FeedSource>(
          std::make_unique<NetworkFeed>(origin, std::move(callee.stream), std::move(callee.frames), clock_));
    }
    case ObserverCall::standing_by:
      callee.state = State::standing_by;
      callee.answer = said.text;
      break;
    case ObserverCall::refused:
      if (said.number == static_cast<std::uint64_t>(ObserverRefusal::unknown_subgroup))
        return Error(ErrorKind::bad_argument, said.text).fix("name one of those");
      if (said.number == static_cast<std::uint64_t>(ObserverRefusal::not_admitted)) {
        refusal_ = Error(ErrorKind::refused, "node " + std::to_string(callee.node.value()) + " refuses this observer")
                       .at(callee.endpoint)
                       .because(Error(ErrorKind::refused, said.text));
      }
      [[fallthrough]];
    default: fail(callee, said.text.empty() ? "has ended" : said.text); break;
  }
  return std::unique_ptr<FeedSource>();
}

Time NetworkSearch::next_look() const noexcept {
  Time next = next_call_;
  for (const Callee& callee : callees_) {
    if (callee.stream != nullptr) next = std::min(next, callee.deadline);
  }
  return next;
}

void NetworkSearch::add_waits(std::vector<pollfd>& to) const {
  if (handshakes_ == nullptr) return;
  to.push_back({.fd = bell_.get(), .events = POLLIN, .revents = 0});
  to.push_back({.fd = handshakes_->descriptor(), .events = POLLIN, .revents = 0});
  for (const Callee& callee : callees_) {
    if (callee.stream != nullptr) to.push_back({.fd = callee.stream->descriptor(), .events = POLLIN, .revents = 0});
  }
}

std::string NetworkSearch::answers() const {
  if (!unable_.empty()) return "no other host can be asked: " + unable_;
  std::string text;
  for (const Callee& callee : callees_) {
    if (callee.answer.empty()) continue;
    text += (text.empty() ? "node " : "; node ") + std::to_string(callee.node.value()) + " at " + callee.endpoint + ": " +
            callee.answer;
  }
  return text;
}

}  // namespace spindrift::group
