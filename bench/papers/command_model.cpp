// `spindrift_papers model`: Spindle's experiments in virtual time, over modeled links, with the real objects.
#include <algorithm>

#include <spindrift/bench/papers/commands.hpp>
#include <spindrift/bench/papers/model/sheet.hpp>

namespace spindrift::bench {

namespace {

struct ModelOptions : BenchOptions {
  ModelOptions() { repeats = 0; }  // the same every time
  std::vector<std::string> names;
  bool quick = false;
};

void run_model_bench(const ModelOptions& options, FigureReport& report) {
  for (const model::FigureEntry& figure : model::figures()) {
    const bool chosen =
        options.names.empty() || std::find(options.names.begin(), options.names.end(), figure.name) != options.names.end();
    if (!chosen) continue;
    model::Sheet sheet(report, figure.title, options.quick);
    figure.measure(sheet);
    sheet.finish();
  }
}

}  // namespace

void add_model_command(const Commands& to) {
  auto options = std::make_shared<ModelOptions>();
  Command command(to, "model", "Spindle's experiments in virtual time, beside the paper's numbers",
                  "  spindrift_papers model --figure 3,12\n  spindrift_papers model --json model.jsonl", options,
                  run_model_bench);
  std::vector<std::string> names;
  for (const model::FigureEntry& figure : model::figures()) names.emplace_back(figure.name);
  command->add_option("--figure", options->names, "Only these: the number in the paper, or the name of what goes beyond it")
      ->delimiter(',')
      ->check(CLI::IsMember(names));
  command->add_flag("--quick", options->quick, "Groups of 2 and 4, short runs");
}

}  // namespace spindrift::bench
