// The public face of clients.
#include <spindrift/group/client.hpp>

#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/group/client_core.hpp>

namespace spindrift {
namespace clients {

static_assert(static_cast<std::uint32_t>(ObjectWay::Kind::update) == static_cast<std::uint32_t>(Ask::update) &&
              static_cast<std::uint32_t>(ObjectWay::Kind::query) == static_cast<std::uint32_t>(Ask::query) &&
              static_cast<std::uint32_t>(ObjectWay::Kind::ordered_query) == static_cast<std::uint32_t>(Ask::ordered_query) &&
              static_cast<std::uint32_t>(ObjectWay::Kind::query_after) == static_cast<std::uint32_t>(Ask::query_after));
static_assert(static_cast<int>(AwaitedAnswer::Kind::failed) == static_cast<int>(Ended::Kind::failed));

void AwaitedAnswer::set(Kind kind, std::vector<std::byte> bytes, const MessagePlace& place, std::exception_ptr why) {
  {
    const std::lock_guard lock(mutex_);
    CHECK(!kind_);
    kind_ = kind;
    bytes_ = std::move(bytes);
    place_ = place;
    why_ = std::move(why);
  }
  changed_.notify_all();
}

AwaitedAnswer::Kind AwaitedAnswer::await(std::optional<Duration> limit) const {
  check_process(process_);
  std::unique_lock lock(mutex_);
  const auto there = [&] { return kind_.has_value(); };
  if (!limit) {
    changed_.wait(lock, there);
  } else if (!changed_.wait_for(lock, *limit, there)) {
    throw Exception(Error(ErrorKind::timed_out, "a client's request was not answered in the time that was given to wait for "
                                                "it; it goes on"));
  }
  if (*kind_ == Kind::failed) std::rethrow_exception(why_);
  return *kind_;
}

MessagePlace AwaitedAnswer::place(std::optional<Duration> limit) const {
  static_cast<void>(await(limit));
  return place_;
}

const std::vector<std::byte>& AwaitedAnswer::get(std::optional<Duration> limit) const {
  if (await(limit) == Kind::returned) return bytes_;
  std::exception_ptr thrown;
  try {
    thrown = replicated::take_exception(bytes_);
  } catch (const replicated::BadBytes& bad) {
    refuse_result(bad.what());
  }
  std::rethrow_exception(thrown);
}

bool AwaitedAnswer::is_there() const {
  check_process(process_);
  const std::lock_guard lock(mutex_);
  return kind_.has_value();
}

void refuse_result(const std::string& why) {
  throw Exception(Error(ErrorKind::bad_input, "the result of a client's request cannot be read")
                      .because(Error(ErrorKind::bad_input, why))
                      .fix("let the type of the result be the same in the client and in the members"));
}

std::shared_ptr<const AwaitedAnswer> ObjectWay::ask(Kind kind, std::size_t method, std::vector<std::byte> arguments,
                                                    const MessagePlace& after) const {
  return core_->ask(caller_, {.ask = static_cast<Ask>(kind),
                            .method = static_cast<std::uint32_t>(method),
                            .after = after,
                            .arguments = std::move(arguments)});
}

}  // namespace clients

Client::Client(ClientOptions options) : core_(std::make_shared<clients::ClientCore>(std::move(options))) {}

// A child that was forked has not got the thread, and no connection: what there is of the client is memory, and stays.
Client::~Client() {
  if (core_->is_of_this_process())
    core_->close();
  else
    static_cast<void>(new std::shared_ptr(core_));
}

clients::ObjectWay Client::way(std::string_view subgroup, std::uint64_t digest) {
  return {core_, core_->add_caller(std::string(subgroup), digest)};
}

}  // namespace spindrift
