# Writes commit.hpp, only when it changes, so that a build records what it was made from without rebuilding everything.
# Variables: SOURCE, OUTPUT, VERSION.
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty=+changes --exclude=*
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed OR commit STREQUAL "")
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define SPINDRIFT_VERSION \"${VERSION}\"\n#define SPINDRIFT_COMMIT \"${commit}\"\n")
