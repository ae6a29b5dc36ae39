// Finding libfabric on this host; a refusal says what to install.
#include <spindrift/fabric/ofi/library.hpp>

#include <string>

#include <spindrift/fabric/load_library.hpp>

namespace spindrift::fabric::ofi {
namespace {

Result<Library> load() {
  LoadedLibrary loaded("libfabric.so.1");
  if (!loaded.loaded()) {
    return Error(ErrorKind::unsupported, "libfabric cannot be loaded: " + loaded.error())
        .fix("install it (Debian: apt-get install libfabric1), or set [SPINDRIFT] fabric = shm for a group on one host");
  }
  Library library;
  loaded.find(library.getinfo, "fi_getinfo")
      .find(library.freeinfo, "fi_freeinfo")
      .find(library.dupinfo, "fi_dupinfo")
      .find(library.fabric, "fi_fabric")
      .find(library.strerror, "fi_strerror");
  if (!loaded.error().empty()) {
    return Error(ErrorKind::unsupported, "libfabric.so.1 is no libfabric: " + loaded.error())
        .fix("install libfabric 1.17 or later");
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
