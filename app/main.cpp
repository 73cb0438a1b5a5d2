// SPDX-License-Identifier: Apache-2.0
// The command line: the only user of CLI11 (whose header is slow to compile). CLI11 parses; what it does not know is
// collected and answered here with the nearest name, and its exit codes are mapped to ours: 0 done, 1 the simulation or
// a check says no, 2 bad usage or input, 3 bug, 130 interrupted.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <exception>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "app/command_report.hpp"
#include "app/commands.hpp"
#include "app/join.hpp"
#include "app/output.hpp"
#include "sim/base/assert.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/version.hpp"

namespace stretto::app {

namespace {

const CLI::Validator kNotEmpty([](const std::string& text) { return text.empty() ? "the value is empty" : ""; }, "");

constexpr int kUsage = 2;
constexpr int kBug = 3;
constexpr int kInterrupted = 130;

// A command: its parser, its positional argument (required where there is one) and what it runs.
struct Command {
  CLI::App* parser;
  CLI::Option* argument;  // null: none
  std::function<int()> run;
};

struct Settings {
  RunOptions run;
  ImportOptions import;
  InitOptions init;
  ShowOptions show;
  SearchOptions search;
  SweepOptions sweep;
  ResultsOptions results;
  ReportOptions report;
  PlotOptions plot;
  AttributeOptions attribute;
  VerifyOptions verify;
  ExportOptions export_;
  ExplainOptions explain;
  StragglersOptions stragglers;
  CriticalPathOptions critical_path;
  ListOptions list;
  ReproduceOptions reproduce;
  ValidateOptions validate;
  CalibrateOptions calibrate;
};

constexpr const char* kFooter = R"(Examples:
  stretto run configs/experiments/quickstart.yaml
  stretto run my.yaml --set cluster.workers.nic="25 Gbit/s" --format json
  stretto show vgg_16
`stretto COMMAND --help` says more about a command.
Exit codes: 0 done, 1 the simulation or a check says no, 2 bad usage or input, 3 a bug in stretto.)";

constexpr const char* kRunFooter = R"(Examples:
  stretto run what_if.yaml
  stretto run what_if.yaml --set cluster.workers.count=16 --set runs.seed=7
  stretto run what_if.yaml --format json > result.json
  stretto run what_if.yaml --out results/what_if
--out writes result.json, manifest.json (for `stretto reproduce`), steps.csv and per policy its schedule, its order
and a trace of one step, which https://ui.perfetto.dev opens. docs/reference/ describes the files.)";

constexpr const char* kImportFooter = R"(Examples:
  stretto import graph.txt -o vgg16.workload.json
  stretto import graph.txt --summary
`stretto list formats` names what can be imported.)";

constexpr const char* kInitFooter = R"(Examples:
  stretto init --workload vgg_16
  stretto init --import step.pb.gz --graph graph.pb.gz -o what_if.yaml
  stretto init --import graph.txt --batch 64
  stretto run what_if.yaml
The experiment runs as it is written; its comments say what each section does and which values to replace. A workload
that was imported is written beside it. No file is overwritten without --force.)";

constexpr const char* kShowFooter = R"(Examples:
  stretto show vgg_16
  stretto show my.workload.json
  stretto show what_if.yaml
  stretto show what_if.yaml --effective --set cluster.workers.count=4)";

constexpr const char* kSearchFooter = R"(Examples:
  stretto search what_if.yaml -o best.schedule.json
  stretto search what_if.yaml --budget 100000 --checkpoint search.json
  stretto search what_if.yaml --budget 100000 --resume search.json
The section `search` of the experiment says what may change; docs/search.md says how it is searched. The same budget
and seed give the same plan on any machine. Ctrl-C ends the search and keeps the best plan so far.)";

constexpr const char* kAttributeFooter = R"(Examples:
  stretto attribute what_if.yaml
  stretto attribute what_if.yaml --policy tac --format json
Every cause (transfer order, link contention, server contention, slow workers, noise) is idealised in every combination;
its share is what it costs on average, so that all shares and what is left sum to the step. docs/attribution.md says
what exactly is idealised.)";

constexpr const char* kVerifyFooter = R"(Examples:
  stretto search what_if.yaml -o best.schedule.json
  stretto verify best.schedule.json --experiment what_if.yaml
The checker shares no code with the simulator, the search and the bounds; docs/verify.md says what it checks.
Exit code 0: verified; 1: the first violation is named.)";

constexpr const char* kExportFooter = R"(Examples:
  stretto export best.schedule.json --to order -o order.txt
  stretto export best.schedule.json --to byteps
  stretto export best.schedule.json --to perfetto --experiment what_if.yaml -o step.json
What a format cannot carry is said on stderr. docs/export.md says where each is loaded.)";

constexpr const char* kExplainFooter = R"(Examples:
  stretto explain best.schedule.json --experiment what_if.yaml
  stretto explain best.schedule.json --experiment what_if.yaml --moves 20 --format json
Says what the schedule does otherwise than the orders of first use and TAC, what each of the largest moves and each
other change gains, and what the lower bound leaves.)";

constexpr const char* kValidateFooter = R"(Examples:
  stretto validate cluster.yaml
  stretto validate cluster.yaml --steps 50 --out results/cluster
  stretto validate cluster.yaml --bundle cluster.bundle.json
Predicts every policy of the experiment, measures it with real TensorFlow processes on this machine (compute is
emulated), and prints both. The first time, the harness makes its environment (1.6 GB, some minutes). Policies that
want a strict order are held to it by a window. docs/reference/harness.md describes bundle and measurement.)";

constexpr const char* kCalibrateFooter = R"(Examples:
  stretto calibrate results/cluster/measurement.json -o my_cluster.yaml
  stretto calibrate a.json b.json --predict c.json d.json --fit per_message,efficiency
  stretto calibrate --case step.yaml steps.json --leave-one-out
Fits the costs of a cluster, one value each, to measured steps, says what the data do not tell, and writes a file that
clusters include. docs/calibration.md says what is fitted and what is read.)";

constexpr const char* kCriticalPathFooter = R"(Examples:
  stretto critical-path trace.json.gz
  stretto critical-path trace.json.gz --annotation ProfilerStep --instance 2
TRACE is one of the PyTorch profiler (Kineto), of one process. docs/reference/critical_path.md says by which rules the
path is found.)";

constexpr const char* kStragglersFooter = R"(Examples:
  stretto stragglers trace.csv.gz
  stretto stragglers trace.csv.gz --format json
TRACE is one of StragglerAnalysis: a row per op of a job with data and pipeline parallelism, as CSV or JSON. Its steps
are replayed with what is typical of each kind of op. docs/reference/stragglers.md says what exactly is compared.)";

constexpr const char* kSweepFooter = R"(Examples:
  stretto sweep what_if.yaml
  stretto sweep what_if.yaml --store results.sqlite --threads 8
  stretto sweep what_if.yaml --store part_3.sqlite --shard 3/16
Runs every point of `vary` and of the section `sweep` (docs/sweep.md) into a results store. Given again after an end of
any kind, it goes on where it stopped. Exit code 1: points failed; `stretto results show` says why.)";

constexpr const char* kResultsFooter = R"(Examples:
  stretto results list results.sqlite
  stretto results show results.sqlite
  stretto results compare results.sqlite --sweep 2 --against 1
  stretto results export csv results.sqlite > results.csv
  stretto results merge all.sqlite part_1.sqlite part_2.sqlite
  stretto results gc results.sqlite
compare sets the step times of two sweeps side by side, merge adds the points of stores that shards wrote, gc removes
sweeps that a later one of the same name has replaced.)";

constexpr const char* kReportFooter = R"(Examples:
  stretto report what_if.yaml
  stretto report results/what_if -o what_if.html
  stretto report results.sqlite -o sweep.html
  stretto report what_if.yaml --attribute tac --set cluster.workers.count=16
INPUT is an experiment, which is run; or what `run --out` wrote, whose steps are simulated again for the timelines; or
a results store. The file needs no network and nothing beside it. docs/report.md shows one.)";

constexpr const char* kPlotFooter = R"(Examples:
  stretto run what_if.yaml --out results/what_if
  stretto plot results/what_if -o gains.svg
Step times with lower bounds and gains over random with their intervals, for papers.)";

constexpr const char* kListFooter = R"(Examples:
  stretto list policies
  stretto list fields)";

constexpr const char* kReproduceFooter = R"(Examples:
  stretto run what_if.yaml --out results/what_if
  stretto reproduce results/what_if
Exit code 0: the new result is equal byte for byte; 1: it differs.)";

void add_set(CLI::App* parser, std::vector<std::string>& set) {
  parser->add_option("--set", set, "Set a field of the experiment by its path; may be given again")
      ->type_name("PATH=VALUE")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

std::vector<Command> add_commands(CLI::App& root, Settings& s) {
  std::vector<Command> commands;
  const auto bare_command = [&](const char* name, const char* help, const char* footer, std::function<int()> run) {
    CLI::App* parser = root.add_subcommand(name, help);
    parser->footer(footer);
    parser->allow_extras();
    commands.push_back({parser, nullptr, std::move(run)});
    return parser;
  };
  const auto command = [&](const char* name, const char* help, const char* footer, const char* argument_name,
                           std::string& argument, const char* argument_help, std::function<int()> run) {
    CLI::App* parser = bare_command(name, help, footer, std::move(run));
    commands.back().argument = parser->add_option(argument_name, argument, argument_help)->type_name("");
    return parser;
  };

  CLI::App* run = command("run", "Simulate an experiment and say how long its steps take, and why", kRunFooter, "FILE",
                          s.run.file, "Experiment (YAML)", [&s] { return run_command(s.run); });
  add_set(run, s.run.set);
  run->add_option("--seed", s.run.seed, "Seed of everything random, in place of runs.seed")->type_name("N");
  run->add_option("--format", s.run.format, "What to print: text or json")->type_name("FORMAT")->capture_default_str();
  run->add_option("--out", s.run.out, "Also write result, manifest and traces here")->type_name("DIR");
  run->add_flag("--quiet", s.run.quiet, "Show no progress");

  CLI::App* import = command("import", "Read a profile or trace of a model and write it as a workload", kImportFooter,
                             "FILE", s.import.file, "Profile to read", [&s] { return import_command(s.import); });
  import->add_option("-o,--out", s.import.out, "Workload file to write; without it: stdout")->type_name("FILE");
  import->add_flag("--summary", s.import.summary, "Print figures of the model; write a workload only with -o");
  import->add_option("--name", s.import.name, "Name of the workload")->type_name("NAME");
  import->add_option("--batch", s.import.batch, "Samples a step, where the file does not say")->type_name("N");
  import->add_option("--source", s.import.source, "Where the figures come from")->type_name("TEXT");
  import->add_option("--graph", s.import.graph, "GraphDef of the program whose TensorFlow trace FILE is")
      ->type_name("FILE");
  import->add_option("--variables", s.import.variables, "Table of the variables' bytes, for a TensorFlow timeline")
      ->type_name("FILE");
  import
      ->add_option("--rank", s.import.ranks,
                   "Trace of another rank of the job whose Kineto trace FILE is; again for more")
      ->type_name("FILE")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  import->add_option("--format", s.import.format, "Format of FILE; without it: told from the content")
      ->type_name("FORMAT");

  CLI::App* init = bare_command("init", "Write an experiment to start from, around an import or a workload",
                                kInitFooter, [&s] { return init_command(s.init); });
  init->add_option("--import", s.init.import, "Profile or trace to import")->type_name("FILE");
  init->add_option("--graph", s.init.graph, "GraphDef of the program whose TensorFlow trace is imported")
      ->type_name("FILE");
  init->add_option("--variables", s.init.variables, "Table of the variables' bytes, for a TensorFlow timeline")
      ->type_name("FILE");
  init->add_option("--name", s.init.name, "Name of the imported workload")->type_name("NAME");
  init->add_option("--batch", s.init.batch, "Samples a step, where the import does not say")->type_name("N");
  init->add_option("--workload", s.init.workload, "Shipped workload or workload file, in place of an import")
      ->type_name("NAME|FILE");
  init->add_option("--cores", s.init.cores, "The profile is of a CPU with this many threads for ops")->type_name("N");
  init->add_option("-o,--out", s.init.out, "Experiment file to write")->type_name("FILE")->capture_default_str();
  init->add_flag("--force", s.init.force, "Overwrite files");

  CLI::App* show =
      command("show", "Show a workload or what an experiment says", kShowFooter, "WORKLOAD|FILE.yaml", s.show.what,
              "Shipped workload, workload file or experiment", [&s] { return show_command(s.show); });
  show->add_flag("--effective", s.show.effective, "The experiment as YAML with every default filled in");
  add_set(show, s.show.set);

  CLI::App* search =
      command("search", "Find the best plan for an experiment and say what is proven about it", kSearchFooter, "FILE",
              s.search.file, "Experiment (YAML)", [&s] { return search_command(s.search); });
  add_set(search, s.search.set);
  search->add_option("--budget", s.search.budget, "Evaluations to make (default 20000)")->type_name("N");
  search->add_option("--seconds", s.search.seconds, "Time to take instead; the answer then depends on the machine")
      ->type_name("S");
  search->add_option("--seed", s.search.seed, "Seed of everything random, in place of runs.seed")->type_name("N");
  search->add_option("-o,--out", s.search.out, "Schedule file to write")->type_name("FILE");
  search->add_option("--checkpoint", s.search.checkpoint, "Keep the state of the search here")->type_name("FILE");
  search->add_option("--resume", s.search.resume, "Go on from a checkpoint")->type_name("FILE");
  search->add_option("--format", s.search.format, "What to print: text or json")
      ->type_name("FORMAT")
      ->capture_default_str();
  search->add_flag("--quiet", s.search.quiet, "Show no progress");

  CLI::App* sweep = command("sweep", "Run many points into a results store, on all cores", kSweepFooter, "FILE",
                            s.sweep.file, "Experiment (YAML)", [&s] { return sweep_command(s.sweep); });
  add_set(sweep, s.sweep.set);
  sweep->add_option("--store", s.sweep.store, "Results store; without it: named after FILE, in this directory")
      ->type_name("STORE");
  sweep->add_option("--shard", s.sweep.shard, "Run only part I of N")->type_name("I/N");
  sweep->add_option("--threads", s.sweep.threads, "Points at a time; without it: one per core")->type_name("N");
  sweep->add_flag("--quiet", s.sweep.quiet, "Show no progress");

  CLI::App* results =
      bare_command("results", "Look into results stores", kResultsFooter, [&s] { return results_command(s.results); });
  commands.back().argument =
      results->add_option("ACTION", s.results.words, "list, show, compare, export csv, merge or gc, then the store")
          ->type_name("");
  results->add_option("--sweep", s.results.sweep, "Sweep by number, name or hash; without it: the latest")
      ->type_name("SWEEP");
  results->add_option("--against", s.results.against, "compare: the other sweep; without it: the one before")
      ->type_name("SWEEP");

  CLI::App* report = command("report", "Write a result, an experiment or a sweep as one HTML file", kReportFooter,
                             "INPUT", s.report.input, "Experiment (YAML), result of `run --out`, or results store",
                             [&s] { return report_command(s.report); });
  report->add_option("-o,--out", s.report.out, "HTML file to write")->type_name("FILE")->capture_default_str();
  add_set(report, s.report.set);
  report->add_option("--attribute", s.report.attribute, "Also say what the causes cost this policy; may be given again")
      ->type_name("POLICY")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  report->add_option("--sweep", s.report.sweep, "Sweep of the store by number, name or hash; without it: the latest")
      ->type_name("SWEEP");
  report->add_option("--bars", s.report.bars, "Bars of a timeline, at most; 0: no timelines")
      ->type_name("N")
      ->capture_default_str();
  report->add_flag("--quiet", s.report.quiet, "Show no progress");

  CLI::App* plot =
      command("plot", "Draw the gains of a result as SVG", kPlotFooter, "RESULT", s.plot.input,
              "Directory that `stretto run --out` wrote, or its result.json", [&s] { return plot_command(s.plot); });
  plot->add_option("-o,--out", s.plot.out, "SVG file to write")->type_name("FILE")->capture_default_str();

  CLI::App* attribute =
      command("attribute", "Say which causes take how much of a step, and show its critical path", kAttributeFooter,
              "FILE", s.attribute.file, "Experiment (YAML)", [&s] { return attribute_command(s.attribute); });
  add_set(attribute, s.attribute.set);
  attribute
      ->add_option("--policy", s.attribute.policies,
                   "Policy of the experiment to look at; may be given again (default: its first)")
      ->type_name("NAME")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  attribute->add_option("--seed", s.attribute.seed, "Seed of everything random, in place of runs.seed")->type_name("N");
  attribute->add_option("--format", s.attribute.format, "What to print: text or json")
      ->type_name("FORMAT")
      ->capture_default_str();
  attribute->add_flag("--quiet", s.attribute.quiet, "Show no progress");

  CLI::App* verify = command("verify", "Check a schedule and its times independently", kVerifyFooter, "SCHEDULE",
                             s.verify.schedule, "Schedule file", [&s] { return verify_command(s.verify); });
  verify->add_option("--experiment", s.verify.experiment, "Experiment (YAML) that the schedule is for")
      ->type_name("FILE");
  add_set(verify, s.verify.set);
  verify->add_option("--format", s.verify.format, "What to print: text or json")
      ->type_name("FORMAT")
      ->capture_default_str();

  CLI::App* carry = command("export", "Write a schedule in the form of another program", kExportFooter, "SCHEDULE",
                            s.export_.schedule, "Schedule file", [&s] { return export_command(s.export_); });
  carry->add_option("--to", s.export_.to, "order, bytescheduler, byteps, dpro, csv or perfetto")->type_name("FORMAT");
  carry->add_option("-o,--out", s.export_.out, "File to write; without it: stdout")->type_name("FILE");
  carry->add_option("--experiment", s.export_.experiment, "Experiment (YAML) that the schedule is for")
      ->type_name("FILE");
  add_set(carry, s.export_.set);

  CLI::App* explain =
      command("explain", "Say what a schedule changes and what each change gains", kExplainFooter, "SCHEDULE",
              s.explain.schedule, "Schedule file", [&s] { return explain_command(s.explain); });
  explain->add_option("--experiment", s.explain.experiment, "Experiment (YAML) that the schedule is for")
      ->type_name("FILE");
  add_set(explain, s.explain.set);
  explain->add_option("--moves", s.explain.moves, "Transfers to judge per direction (default 8)")->type_name("N");
  explain->add_option("--format", s.explain.format, "What to print: text or json")
      ->type_name("FORMAT")
      ->capture_default_str();

  CLI::App* validate =
      command("validate", "Measure an experiment on a real TensorFlow cluster and compare", kValidateFooter, "FILE",
              s.validate.file, "Experiment (YAML)", [&s] { return validate_command(s.validate); });
  add_set(validate, s.validate.set);
  validate->add_option("--steps", s.validate.steps, "Steps to measure per policy (default 20)")->type_name("N");
  validate->add_option("--warm-up", s.validate.warm_up, "Steps before them (default 3)")->type_name("N");
  validate->add_option("--window", s.validate.window, "Transfers under way where a policy does not say (default 1)")
      ->type_name("K");
  validate->add_option("--network", s.validate.network, "auto, namespaces or loopback")
      ->type_name("KIND")
      ->capture_default_str();
  validate->add_option("--time-limit", s.validate.time_limit, "Seconds for the measurement (default 900)")
      ->type_name("S");
  validate->add_option("--measured", s.validate.measured, "Compare with this measurement and measure nothing")
      ->type_name("FILE");
  validate->add_option("--bundle", s.validate.bundle, "Only write what is to be measured")->type_name("FILE");
  validate->add_option("--out", s.validate.out, "Also write bundle, measurement, comparison and traces here")
      ->type_name("DIR");
  validate->add_option("--format", s.validate.format, "What to print: text or json")
      ->type_name("FORMAT")
      ->capture_default_str();
  validate->add_flag("--quiet", s.validate.quiet, "Show no progress of the prediction");

  CLI::App* calibrate = bare_command("calibrate", "Fit the costs of a cluster to measured steps", kCalibrateFooter,
                                     [&s] { return calibrate_command(s.calibrate); });
  calibrate->add_option("FILES", s.calibrate.files, "Measured cells to fit to: measurements of the harness")
      ->type_name("");
  calibrate->add_option("--case", s.calibrate.cases, "Fit to an experiment and its measured steps; may be given again")
      ->type_name("EXPERIMENT MEASURED")
      ->allow_extra_args(false);
  calibrate->add_option("--predict", s.calibrate.predict, "Cells to predict with the fitted costs, not to fit to")
      ->type_name("FILES");
  calibrate->add_option("--cluster", s.calibrate.cluster, "Costs to begin with (default: the shipped local_tensorflow)")
      ->type_name("FILE");
  calibrate->add_option("--fit", s.calibrate.fit, "Costs to fit, or none (default: all but rate_cap)")
      ->type_name("NAMES");
  calibrate->add_option("--window", s.calibrate.window, "Transfers under way where a case does not say (default 1)")
      ->type_name("K");
  calibrate->add_option("--replications", s.calibrate.replications, "Of cells whose order is drawn (default 20)")
      ->type_name("N");
  calibrate->add_flag("--leave-one-out", s.calibrate.leave_one_out,
                      "Also predict each cell by the costs that are fitted to the others");
  calibrate->add_option("-o,--out", s.calibrate.out, "Cluster file to write")->type_name("FILE");
  calibrate->add_option("--format", s.calibrate.format, "What to print: text or json")
      ->type_name("FORMAT")
      ->capture_default_str();
  calibrate->add_flag("--quiet", s.calibrate.quiet, "Show no progress");

  CLI::App* critical_path =
      command("critical-path", "Find the critical path of a traced PyTorch process", kCriticalPathFooter, "TRACE",
              s.critical_path.file, "Kineto trace", [&s] { return critical_path_command(s.critical_path); });
  critical_path->add_option("--annotation", s.critical_path.annotation, "Only the span whose name begins so")
      ->type_name("NAME");
  critical_path->add_option("--instance", s.critical_path.instance, "Which of the spans of that name, from 0")
      ->type_name("N");
  critical_path->add_option("--format", s.critical_path.format, "What to print: text or json")
      ->type_name("FORMAT")
      ->capture_default_str();

  CLI::App* stragglers =
      command("stragglers", "Say what the stragglers of a traced job cost, and which ones", kStragglersFooter, "TRACE",
              s.stragglers.file, "Trace of a job", [&s] { return stragglers_command(s.stragglers); });
  stragglers->add_option("--format", s.stragglers.format, "What to print: text or json")
      ->type_name("FORMAT")
      ->capture_default_str();

  const std::string subjects = fmt::format("One of {}", join(list_subjects()));
  command("list", "List what experiments can name", kListFooter, "WHAT", s.list.what, subjects.c_str(),
          [&s] { return list_command(s.list); });

  CLI::App* reproduce =
      command("reproduce", "Run again what a manifest says and compare the results", kReproduceFooter, "RESULT",
              s.reproduce.result, "Directory that `stretto run --out` wrote, or its manifest.json",
              [&s] { return reproduce_command(s.reproduce); });
  reproduce->add_flag("--quiet", s.reproduce.quiet, "Show no progress");
  // To the commands an empty text means that the option was not given.
  for (const Command& c : commands)
    for (CLI::Option* option : c.parser->get_options())
      if (option->get_items_expected_max() > 0) option->check(kNotEmpty);
  return commands;
}

std::vector<std::string> option_names(const CLI::App& parser) {
  std::vector<std::string> names;
  for (const CLI::Option* option : parser.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

[[noreturn]] void refuse_unknown(const std::string& what, const std::string& word,
                                 const std::vector<std::string>& candidates, const std::string& help) {
  const std::string near = nearest_name(word, candidates);
  throw UserError(fmt::format("unknown {} '{}'", what, word),
                  near.empty() ? help : fmt::format("did you mean '{}'?", near));
}

// Words that no parser took.
void refuse_extras(const CLI::App& root, const CLI::App* parser, const std::vector<Command>& commands) {
  const std::vector<std::string> extras = parser != nullptr ? parser->remaining() : root.remaining();
  if (extras.empty()) return;
  const std::string help = parser != nullptr
                               ? fmt::format("`stretto {} --help` lists the options", parser->get_name())
                               : "`stretto --help` lists the commands; options of a command follow its name";
  for (const std::string& extra : extras)
    if (extra.size() > 1 && extra[0] == '-')
      refuse_unknown("option", extra.substr(0, extra.find('=')), option_names(parser != nullptr ? *parser : root),
                     help);
  if (parser != nullptr) throw UserError(fmt::format("one argument too many: '{}'", extras.front()), help);
  std::vector<std::string> names;
  for (const Command& c : commands) names.push_back(c.parser->get_name());
  refuse_unknown("command", extras.front(), names, help);
}

int dispatch(int argc, char** argv) {
  Settings settings;
  settings.run.command.assign(argv, argv + argc);
  if (!settings.run.command.empty()) settings.run.command.front() = "stretto";
  settings.report.command = settings.run.command;
  settings.calibrate.command = settings.run.command;
  CLI::App root(
      "How long does a training step take, which transfer order is best, and how far is it from the best "
      "possible?\n",
      "stretto");
  root.footer(kFooter);
  root.allow_extras();
  root.require_subcommand(0, 1);  // a second word that is a command's name is an argument
  root.set_help_flag("-h,--help", "Print this help and exit");
  root.set_version_flag("--version", fmt::format("stretto {} (commit {})", version(), commit()));
  const std::vector<Command> commands = add_commands(root, settings);
  try {
    root.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    // Only now: the parser itself would complain of a missing argument before it names an unknown option.
    for (const Command& c : commands)
      if (c.argument != nullptr) c.argument->required();
    print(root.help());
    return 0;
  } catch (const CLI::CallForVersion& version_text) {
    print(std::string(version_text.what()) + '\n');
    return 0;
  } catch (const CLI::ParseError& error) {
    throw UserError(error.what(), "`stretto --help` and `stretto COMMAND --help` show the usage");
  }
  const std::vector<CLI::App*> parsed = root.get_subcommands();
  refuse_extras(root, parsed.empty() ? nullptr : parsed.front(), commands);
  if (parsed.empty()) {
    print_error(root.help());
    return kUsage;
  }
  for (const Command& c : commands) {
    if (c.parser != parsed.front()) continue;
    if (c.argument != nullptr && c.argument->count() == 0)
      throw UserError(fmt::format("{} is missing", c.argument->get_name()),
                      fmt::format("`stretto {} --help` shows the usage", c.parser->get_name()));
    return c.run();
  }
  return kUsage;
}

int bug(const char* what) {
  print_error(
      fmt::format("stretto {} (commit {}): this is a bug in stretto, not in your input; please report it with "
                  "the command line and the input files.\n{}\n",
                  version(), commit(), escape_control(what)));
  return kBug;
}

int guarded(int argc, char** argv) {
  try {
    return dispatch(argc, argv);
  } catch (const ReaderGone&) {
    return 0;
  } catch (const Interrupted&) {
    print_error("interrupted\n");
    return kInterrupted;
  } catch (const UserError& error) {
    print_error(render(error.diagnostics()));
    return kUsage;
  } catch (const OutOfRange& error) {
    print_error(
        fmt::format("error: the experiment goes beyond what can be counted ({})\n  hint: faster networks or devices, "
                    "fewer iterations or smaller variables\n",
                    escape_control(error.what())));
    return kUsage;
  } catch (const std::bad_alloc&) {
    print_error(
        "error: out of memory: this needs more than the machine has\n  hint: fewer workers, servers or slices\n");
    return kUsage;
  } catch (const std::exception& error) {
    return bug(error.what());
  } catch (...) {
    return bug("unknown exception");
  }
}

}  // namespace

}  // namespace stretto::app

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on the size of files is an error of writing like any other
  return stretto::app::guarded(argc, argv);
}
