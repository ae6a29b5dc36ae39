// The commands of `spindrift_papers`: the experiments of papers, which answer no user's question about a machine.
#pragma once

#include <spindrift/bench/command_options.hpp>

namespace spindrift::bench {

// Spindle (2021).
void add_model_command(const Commands& to);
void add_batching_command(const Commands& to);
void add_delay_command(const Commands& to);
void add_upcall_command(const Commands& to);
void add_threads_command(const Commands& to);
// Derecho (2019).
void add_object_command(const Commands& to);
// KRCore (2022).
void add_mesh_command(const Commands& to);
void add_lookups_command(const Commands& to);
void add_pool_command(const Commands& to);
void add_memory_command(const Commands& to);
void add_verbs_command(const Commands& to);
void add_share_command(const Commands& to);

}  // namespace spindrift::bench
