// Finding libfabric on this host; a refusal says what to install.
#include <spindrift/fabric/ofi/library.hpp>

#include <array>
#include <cstdint>
#include <string>

namespace spindrift::fabric::ofi {
namespace {

Result<LibfabricCalls> load() {
  LoadedLibrary loaded("libfabric.so.1");
  if (!loaded.loaded()) {
    return Error(ErrorKind::unsupported, "libfabric cannot be loaded: " + loaded.error())
        .fix("install it (Debian: apt-get install libfabric1), or set [SPINDRIFT] fabric = shm for a group on one host");
  }
  LibfabricCalls table;
  SPINDRIFT_LIBFABRIC_CALLS(SPINDRIFT_FIND_CALL)
  if (!loaded.error().empty()) {
    return Error(ErrorKind::unsupported, "libfabric.so.1 is no libfabric: " + loaded.error())
        .fix("install libfabric 1.17 or later");
  }
  return table;
}

}  // namespace

// Stays loaded: objects of it may live as long as the process. Debian's takes 0.2 s to load, in which libinfinipath measures
// its clock, and its first fi_getinfo 0.1 s, in which it searches the kernel's symbols for verbs; FI_PROVIDER spares
// neither.
Result<const LibfabricCalls*> library() {
  static const Result<LibfabricCalls> loaded = load();
  if (!loaded) return loaded.error();
  return &loaded.value();
}

const LibfabricCalls& loaded_library() { return *library().value(); }

void FreeInfo::operator()(fi_info* info) const noexcept { loaded_library().freeinfo(info); }

Error ofi_error(std::string_view what, long code) {
  return Error(ErrorKind::resource,
               std::string(what) + ": " + loaded_library().strerror(static_cast<int>(code < 0 ? -code : code)));
}

// The provider `net` of libfabric 1.16 and 1.17 answers fi_trywait without taking back the signal that its last completion
// left in the queue's wait object: from then on the descriptor is readable for ever, and who sleeps on it spins. To wait on
// a wait set for no time takes signals back, so queues of `net` are opened in wait sets of ours.
Result<Waiting> Waiting::open(fid_fabric& fabric, std::string_view provider) {
  Waiting waiting;
  waiting.fabric_ = &fabric;
  if (provider != "net") return waiting;
  for (Handle<fid_wait>* const set : {&waiting.of_events_, &waiting.of_completions_}) {
    fi_wait_attr attributes{};
    attributes.wait_obj = FI_WAIT_FD;
    SPINDRIFT_TRY_ASSIGN(
        *set, made_by<fid_wait>("fi_wait_open", [&](fid_wait** made) { return fi_wait_open(&fabric, &attributes, made); }));
  }
  return waiting;
}

Result<Handle<fid_cq>> Waiting::open_completions(fid_domain& domain, fi_cq_attr attributes) const {
  attributes.wait_set = of_completions_.get();
  attributes.wait_obj = attributes.wait_set == nullptr ? FI_WAIT_FD : FI_WAIT_SET;
  return made_by<fid_cq>("fi_cq_open", [&](fid_cq** made) { return fi_cq_open(&domain, &attributes, made, nullptr); });
}

Result<Handle<fid_eq>> Waiting::open_events() const {
  fi_eq_attr attributes{};
  attributes.wait_set = of_events_.get();
  attributes.wait_obj = attributes.wait_set == nullptr ? FI_WAIT_FD : FI_WAIT_SET;
  return made_by<fid_eq>("fi_eq_open", [&](fid_eq** made) { return fi_eq_open(fabric_, &attributes, made, nullptr); });
}

Result<int> Waiting::descriptor_of(fid& queue) const {
  fid_wait* const set = queue.fclass == FI_CLASS_EQ ? of_events_.get() : of_completions_.get();
  int descriptor = -1;
  SPINDRIFT_TRY(outcome_of("a queue has no descriptor to wait for",
                           fi_control(set == nullptr ? &queue : &set->fid, FI_GETWAIT, &descriptor)));
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
