// `spindrift bench model`: the papers' experiments in virtual time, over modelled links, with the real objects.
#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>

#include <spindrift/bench/command_options.hpp>
#include <spindrift/bench/model/sheet.hpp>

namespace spindrift::bench {

namespace {

struct ModelOptions {
  std::string json;
  std::vector<std::string> names;
  bool quick = false;
};

Result<void> run_model_bench(const ModelOptions& options) {
  auto report = Report::open(options.json);
  if (!report) return Error(report.error());
  for (const model::FigureEntry& figure : model::figures()) {
    const bool chosen =
        options.names.empty() || std::find(options.names.begin(), options.names.end(), figure.name) != options.names.end();
    if (!chosen) continue;
    model::Sheet sheet(*report, figure.title, options.quick);
    figure.measure(sheet);
    sheet.finish();
  }
  return {};
}

}  // namespace

void add_model_command(CLI::App& bench, tools::Work& chosen) {
  auto options = std::make_shared<ModelOptions>();
  CLI::App* command =
      bench.add_subcommand("model", "Spindle's and KRCore's experiments in virtual time, beside the papers' numbers");
  std::vector<std::string> names;
  for (const model::FigureEntry& figure : model::figures()) names.emplace_back(figure.name);
  command
      ->add_option("--figure", options->names,
                   "Only these: the number in Spindle, the name of what goes beyond it, or krcore-NUMBER")
      ->delimiter(',')
      ->check(CLI::IsMember(names));
  command
      ->add_option("--json", options->json,
                   "Write one JSON object per figure to this file; -: to standard output, without the table")
      ->type_name("FILE|-");
  command->add_flag("--quick", options->quick, "Groups of 2 and 4, short runs");
  command->footer("Examples:\n  spindrift bench model --figure 3,12\n  spindrift bench model --json model.jsonl");
  command->callback([options, &chosen] { choose(chosen, [options] { return run_model_bench(*options); }); });
}

}  // namespace spindrift::bench
