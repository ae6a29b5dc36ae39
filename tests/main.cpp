// The main function of every test executable, compiled once.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

#if defined(__has_feature)
#define SPINDRIFT_HAS_FEATURE(feature) __has_feature(feature)
#else
#define SPINDRIFT_HAS_FEATURE(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || SPINDRIFT_HAS_FEATURE(address_sanitizer)
// libfabric 1.17 forgets a call whose handshake is under way when the endpoint that was called goes: 376 bytes, and nobody
// else can free them. Each endpoint of its net provider forgets a description of itself, some 600 bytes.
extern "C" const char* __lsan_default_suppressions() { return "leak:libfabric.so.1\n"; }  // NOLINT
#endif
