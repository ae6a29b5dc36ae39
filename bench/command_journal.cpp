// `spindrift bench journal`: what it costs to make messages durable, beside plain files on the same disk.
#include <spindrift/bench/command_options.hpp>
#include <spindrift/bench/journal.hpp>
#include <spindrift/bench/plain_files.hpp>

namespace spindrift::bench {

namespace {

struct JournalBenchOptions : BenchOptions {
  JournalBenchOptions() { seconds = 2; }
  std::string directory = ".";
  std::vector<std::uint64_t> processes{1, 3};
  std::vector<std::uint64_t> message_bytes{1024, 10240};
  std::uint64_t commits = 300;
};

struct Times {
  std::vector<double> journal{};
  std::vector<double> file{};
};

void add_percentile(Times& times, JournalRun run, double fraction) {
  auto own = journal_latencies_ns(run);
  auto plain = file_latencies_ns({run.directory, run.processes, run.message_bytes}, run.commits);
  times.journal.push_back(percentile(own, fraction) / 1e3);
  times.file.push_back(percentile(plain, fraction) / 1e3);
}

void measure(const JournalBenchOptions& options, const JournalRun& run, FigureReport& report) {
  Times median;
  Times rate;
  std::uint64_t batch = 0;
  for (std::uint32_t repeat = 0; repeat < options.repeats; ++repeat) {
    add_percentile(median, run, 0.5);
    const JournalRate own = journal_rate(run, options.duration());
    rate.journal.push_back(own.messages_per_second);
    batch = own.batch_bytes;
    const double batches = file_batches_per_second({run.directory, run.processes, batch}, options.duration());
    rate.file.push_back(batches * run.processes * static_cast<double>(batch) / static_cast<double>(run.message_bytes));
  }
  const Parameters parameters{{"processes", std::uint64_t{run.processes}}, {"bytes", run.message_bytes}};
  report.add({"journal, durable, p50", parameters, "us", median.journal, median.file});
  Parameters with_batch = parameters;
  with_batch.emplace_back("batch", batch);
  report.add({"journal throughput", with_batch, "messages/s", rate.journal, rate.file});
}

void run_journal_bench(const JournalBenchOptions& options, FigureReport& report) {
  for (const std::uint64_t processes : options.processes) {
    for (const std::uint64_t bytes : options.message_bytes)
      measure(options, {options.directory, static_cast<std::uint32_t>(processes), bytes, options.commits}, report);
  }
}

}  // namespace

void add_journal_command(const Commands& to) {
  auto options = std::make_shared<JournalBenchOptions>();
  Command command(to, "journal", "What it costs to make messages durable, beside plain files on the same disk",
                  "  spindrift bench journal --directory /var/tmp\n"
                  "  spindrift bench journal --processes 3 --size 100,1024 --json -",
                  options, run_journal_bench);
  command.seconds("How long one run of throughput takes");
  command->add_option("--directory", options->directory, "On the disk to measure; what is made there is removed again")
      ->capture_default_str();
  command.list("--processes", options->processes, "Processes, each with a journal of its own on that disk", 1, 16);
  command.list("--size", options->message_bytes, "Payload bytes of a message", 1, 1 << 20);
  command.number("--commits", options->commits, "Messages of each process, one at a time, for the latency", 10, 100'000);
}

}  // namespace spindrift::bench
