// The first half of a repair's plan: what a journal lacks, by what is left of it.
#pragma once

#include <spindrift/store/repair.hpp>

namespace spindrift::store {

/// Fills in the places, and what speaks against a repair from whatever source. Errors: resource.
[[nodiscard]] Result<void> survey_losses(Storage& storage, RepairPlan& plan);

}  // namespace spindrift::store
