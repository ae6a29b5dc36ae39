// Answers for clients, from what a call is told.
#include <spindrift/group/relayed_call.hpp>

#include <spindrift/core/check.hpp>
#include <spindrift/group/replicated_error.hpp>

namespace spindrift::replicated {

clients::MemberAnswer RelayedCall::answer() {
  const std::lock_guard lock(mutex());
  CHECK(told_ && answer_);
  return *std::exchange(answer_, std::nullopt);
}

bool RelayedCall::store_bytes(bool threw, std::span<const std::byte> bytes) {
  answer_ = {threw ? clients::CallerOutcome::threw : clients::CallerOutcome::returned, {bytes.begin(), bytes.end()}, {}};
  return true;
}

// A request that was carried out before is answered at a later place, up to which all is applied as well.
void RelayedCall::store_place(const MessagePlace& place) {
  if (answer_ && answer_->outcome <= clients::CallerOutcome::threw) answer_->place = place;
}

void RelayedCall::store_value(NodeId, std::span<const std::byte> bytes) { static_cast<void>(store_bytes(false, bytes)); }

void RelayedCall::store_thrown(NodeId, std::exception_ptr thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const ClientRefused& refused) {
    answer_ = clients::refusal_of(refused.reason());
  } catch (...) {
    std::vector<std::byte> bytes;
    put_exception(bytes, thrown);
    static_cast<void>(store_bytes(true, bytes));
  }
}

// A refusal changed nothing, but what it tells may be of a call that is not durable yet, so it waits as well.
void RelayedCall::on_stage(CallStage stage) {
  if (stage == (durably_ ? CallStage::durable : CallStage::delivered)) tell();
}

void RelayedCall::on_ended(const Error& why) {
  if (told_) return;
  answer_ = clients::answer_of(clients::CallerOutcome::interrupted, why.to_string());
  tell();
}

void RelayedCall::tell() {
  if (std::exchange(told_, true)) return;
  CHECK(answer_);
  on_answer_();
}

}  // namespace spindrift::replicated
