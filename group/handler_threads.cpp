// The entries of the calling thread.
#include <spindrift/group/handler_threads.hpp>

namespace spindrift::group {
namespace {

thread_local const HandlerThreads::Entry* innermost = nullptr;

}  // namespace

HandlerThreads::Entry::Entry(const HandlerThreads& whose, Kind kind) noexcept
    : whose_(whose), kind_(kind), before_(innermost) {
  innermost = this;
}
HandlerThreads::Entry::~Entry() { innermost = before_; }

bool HandlerThreads::is_one() const noexcept { return innermost != nullptr && &innermost->whose_ == this; }
bool HandlerThreads::is_poller() const noexcept { return is_one() && innermost->kind_ == Kind::poller; }
void HandlerThreads::note_refusal() const noexcept {
  if (is_one()) innermost->refused_ = true;
}
bool HandlerThreads::is_beside() const noexcept { return is_one() && innermost->kind_ == Kind::beside; }

}  // namespace spindrift::group
