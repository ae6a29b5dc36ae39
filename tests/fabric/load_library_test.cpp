// Libraries that are loaded at run time: what they have, and what is said of what they have not.
#include <catch2/catch.hpp>

#include <spindrift/fabric/load_library.hpp>

using spindrift::fabric::LoadedLibrary;

TEST_CASE("what a library has is found, and the first function that it has not is named") {
  LoadedLibrary library("libc.so.6");
  REQUIRE(library.loaded());
  int (*absolute)(int) = nullptr;
  int (*nowhere)(int) = nullptr;
  library.find(absolute, "abs");
  REQUIRE(absolute != nullptr);
  CHECK(absolute(-7) == 7);
  library.find_if_there(nowhere, "no_such_function");
  CHECK(nowhere == nullptr);
  CHECK(library.error().empty());
  library.find(nowhere, "first_missing").find(nowhere, "second_missing").find(absolute, "abs");
  CHECK(library.error() == "libc.so.6 has no first_missing");
}

TEST_CASE("a library that is not there has no functions, and the reason stays the reason") {
  LoadedLibrary library("libno_such_library.so.1");
  CHECK_FALSE(library.loaded());
  int (*nowhere)(int) = nullptr;
  library.find(nowhere, "abs");
  CHECK(nowhere == nullptr);
  CHECK_THAT(library.error(), Catch::Contains("libno_such_library.so.1: cannot open"));
}
