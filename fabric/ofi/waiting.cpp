// Wait objects of libfabric's queues.
#include <spindrift/fabric/ofi/waiting.hpp>

#include <array>
#include <cstdint>
#include <utility>

namespace spindrift::fabric::ofi {

Result<Waiting> Waiting::open(fid_fabric& fabric, std::string_view provider) {
  Waiting waiting;
  waiting.fabric_ = &fabric;
  if (provider != "net") return waiting;
  for (Handle<fid_wait>* const set : {&waiting.of_events_, &waiting.of_completions_}) {
    fi_wait_attr attributes{};
    attributes.wait_obj = FI_WAIT_FD;
    fid_wait* made = nullptr;
    if (const int error = fi_wait_open(&fabric, &attributes, &made); error != 0) return ofi_error("fi_wait_open", error);
    set->reset(made);
  }
  return waiting;
}

Result<Handle<fid_cq>> Waiting::open_completions(fid_domain& domain, fi_cq_attr attributes) const {
  attributes.wait_set = of_completions_.get();
  attributes.wait_obj = attributes.wait_set == nullptr ? FI_WAIT_FD : FI_WAIT_SET;
  fid_cq* completions = nullptr;
  if (const int error = fi_cq_open(&domain, &attributes, &completions, nullptr); error != 0)
    return ofi_error("fi_cq_open", error);
  return Handle<fid_cq>(completions);
}

Result<Handle<fid_eq>> Waiting::open_events() const {
  fi_eq_attr attributes{};
  attributes.wait_set = of_events_.get();
  attributes.wait_obj = attributes.wait_set == nullptr ? FI_WAIT_FD : FI_WAIT_SET;
  fid_eq* events = nullptr;
  if (const int error = fi_eq_open(fabric_, &attributes, &events, nullptr); error != 0)
    return ofi_error("fi_eq_open", error);
  return Handle<fid_eq>(events);
}

Result<int> Waiting::descriptor_of(fid& queue) const {
  fid_wait* const set = queue.fclass == FI_CLASS_EQ ? of_events_.get() : of_completions_.get();
  int descriptor = -1;
  if (const int error = fi_control(set == nullptr ? &queue : &set->fid, FI_GETWAIT, &descriptor); error != 0)
    return ofi_error("a queue has no descriptor to wait for", error);
  return descriptor;
}

// The signals first, then the queues: what comes in between is seen here or leaves its signal. A provider makes progress
// while it looks whether one may wait, and some do not look again at what that has brought.
bool Waiting::may_block(fid_cq& completions, fid_eq* events) const noexcept {
  if (of_completions_ != nullptr && fi_wait(of_completions_.get(), 0) != -FI_ETIMEDOUT) return false;
  if (events != nullptr && of_events_ != nullptr && fi_wait(of_events_.get(), 0) != -FI_ETIMEDOUT) return false;
  std::array<fid*, 2> queues{&completions.fid, events == nullptr ? nullptr : &events->fid};
  if (fi_trywait(fabric_, queues.data(), events == nullptr ? 1 : 2) != FI_SUCCESS) return false;
  if (fi_cq_read(&completions, nullptr, 0) != -FI_EAGAIN) return false;
  std::uint32_t kind = 0;
  return events == nullptr || fi_eq_read(events, &kind, nullptr, 0, FI_PEEK) == -FI_EAGAIN;
}

}  // namespace spindrift::fabric::ofi
