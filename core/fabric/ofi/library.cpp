// Finding libfabric on this host; a refusal says what to install.
#include <spindrift/core/fabric/ofi/library.hpp>

#include <dlfcn.h>

#include <string>
#include <type_traits>

#include <spindrift/core/fabric/ofi/load_library.hpp>

namespace spindrift::fabric::ofi {
namespace {

Result<Library> load() {
  void* const handle = load_library("libfabric.so.1");
  if (handle == nullptr) {
    const char* const reason = ::dlerror();
    return Error(ErrorKind::unsupported, std::string("libfabric cannot be loaded: ") + (reason == nullptr ? "?" : reason))
        .fix("install it (Debian: apt-get install libfabric1), or set [SPINDRIFT] fabric = shm for a group on one host");
  }
  Library library;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    return function != nullptr;
  };
  if (!find(library.getinfo, "fi_getinfo") || !find(library.freeinfo, "fi_freeinfo") ||
      !find(library.dupinfo, "fi_dupinfo") || !find(library.fabric, "fi_fabric") || !find(library.strerror, "fi_strerror")) {
    return Error(ErrorKind::unsupported, "libfabric.so.1 is no libfabric").fix("install libfabric 1.17 or later");
  }
  return library;
}

}  // namespace

// Stays loaded: objects of it may live as long as the process. Debian's takes 0.2 s to load, in which libinfinipath measures
// its clock, and its first fi_getinfo 0.1 s, in which it searches the kernel's symbols for verbs; FI_PROVIDER spares
// neither.
Result<const Library*> library() {
  static const Result<Library> loaded = load();
  if (!loaded) return loaded.error();
  return &loaded.value();
}

const Library& loaded_library() { return *library().value(); }

void FreeInfo::operator()(fi_info* info) const noexcept { loaded_library().freeinfo(info); }

Error ofi_error(std::string_view what, long code) {
  return Error(ErrorKind::resource,
               std::string(what) + ": " + loaded_library().strerror(static_cast<int>(code < 0 ? -code : code)));
}

}  // namespace spindrift::fabric::ofi
