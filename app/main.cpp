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

#include "app/choices.hpp"
#include "app/command_report.hpp"
#include "app/commands.hpp"
#include "app/help_text.hpp"
#include "app/manual.hpp"
#include "app/output.hpp"
#include "io/export/exporters.hpp"
#include "sim/base/assert.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/join.hpp"
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

std::string version_line() { return fmt::format("stretto {} (commit {})", version(), commit()); }

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
  std::string completion;  // shell
};

std::vector<std::string> shell_names() {
  std::vector<std::string> names;
  for (const Shell& shell : shells()) names.emplace_back(shell.name);
  return names;
}

// Values that an option or, with the name of its argument, a command takes, where they can be counted.
std::vector<std::string> choices_of(const std::string& command, const std::string& name) {
  if (name == "--format" && command != "import") return output_formats();
  if (name == "--network") return network_kinds();
  if (command == "list") return list_subjects();
  if (command == "results" && name == "ACTION") return results_actions();
  if (command == "completion") return shell_names();
  std::vector<std::string> names;
  if (name == "--to")
    for (const io::Exporter& e : io::exporters()) names.emplace_back(e.name);
  return names;
}

CommandRecord record_of(const CLI::App& parser, const std::string& name) {
  CommandRecord record{name, parser.get_description(), parser.get_footer(), "", "", {}, {}};
  for (const CLI::Option* option : parser.get_options()) {
    if (option->nonpositional()) {
      OptionRecord o{{}, option->get_type_name(), option->get_description(), option->get_default_str(), {}};
      for (const std::string& s : option->get_snames()) o.names.push_back("-" + s);
      for (const std::string& l : option->get_lnames()) o.names.push_back("--" + l);
      if (option->get_items_expected_max() == 0) o.value = o.fallback = "";
      o.choices = choices_of(name, o.names.back());
      record.options.push_back(std::move(o));
    } else {
      record.argument = option->get_name();
      record.argument_help = option->get_description();
      record.choices = choices_of(name, record.argument);
    }
  }
  return record;
}

Manual manual_of(const CLI::App& root) {
  Manual manual{record_of(root, "")};
  for (const CLI::App* parser : root.get_subcommands([](const CLI::App*) { return true; }))
    manual.push_back(record_of(*parser, parser->get_name()));
  return manual;
}

int completion_command(const Manual& manual, const std::string& name) {
  for (const Shell& shell : shells()) {
    if (shell.name != name) continue;
    print(shell.completion(manual));
    return 0;
  }
  throw UserError(fmt::format("no completion for '{}'", name), "there are " + join(shell_names(), " and "));
}

void add_set(CLI::App* parser, std::vector<std::string>& set) {
  parser->add_option("--set", set, "Set a field of the experiment by its path; may be given again")
      ->type_name("PATH=VALUE")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_format(CLI::App* parser, std::string& format, const char* what = "What to print") {
  parser->add_option("--format", format, fmt::format("{}: text or json", what))
      ->type_name("FORMAT")
      ->capture_default_str();
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
  add_format(run, s.run.format);
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
                   "Trace of another rank of the job whose Kineto or Chakra trace FILE is; again for more")
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
  init->add_option("--workload", s.init.workload, "Shipped workload, generator or workload file, in place of an import")
      ->type_name("NAME|FILE");
  init->add_option("--cores", s.init.cores, "The profile is of a CPU with this many threads for ops")->type_name("N");
  init->add_option("-o,--out", s.init.out, "Experiment file to write")->type_name("FILE")->capture_default_str();
  init->add_flag("--force", s.init.force, "Overwrite files");

  CLI::App* show =
      command("show", "Show a workload or what an experiment says", kShowFooter, "WORKLOAD|FILE.yaml", s.show.what,
              "Shipped workload, generator, workload file or experiment", [&s] { return show_command(s.show); });
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
  add_format(search, s.search.format);
  search->add_flag("--quiet", s.search.quiet, "Show no progress");

  CLI::App* sweep = command("sweep", "Run many points into a results store, on all cores", kSweepFooter, "FILE",
                            s.sweep.file, "Experiment (YAML)", [&s] { return sweep_command(s.sweep); });
  add_set(sweep, s.sweep.set);
  sweep->add_option("--store", s.sweep.store, "Results store; without it: named after FILE, in this directory")
      ->type_name("STORE");
  sweep->add_option("--shard", s.sweep.shard, "Run only part I of N, all of which are predicted to take equally long")
      ->type_name("I/N");
  sweep->add_option("--divide", s.sweep.divide, "Say what each of N shards would do, and run nothing")->type_name("N");
  add_format(sweep, s.sweep.format, "What --divide prints");
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
  add_format(attribute, s.attribute.format);
  attribute->add_flag("--quiet", s.attribute.quiet, "Show no progress");

  CLI::App* verify = command("verify", "Check a schedule and its times independently", kVerifyFooter, "SCHEDULE",
                             s.verify.schedule, "Schedule file", [&s] { return verify_command(s.verify); });
  verify->add_option("--experiment", s.verify.experiment, "Experiment (YAML) that the schedule is for")
      ->type_name("FILE");
  add_set(verify, s.verify.set);
  add_format(verify, s.verify.format);

  CLI::App* carry = command("export", "Write a schedule in the form of another program", kExportFooter, "SCHEDULE",
                            s.export_.schedule, "Schedule file", [&s] { return export_command(s.export_); });
  carry->add_option("--to", s.export_.to, "order, bytescheduler, byteps, dpro, dpro_groups, csv or perfetto")
      ->type_name("FORMAT");
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
  add_format(explain, s.explain.format);

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
  validate->add_option("--real", s.validate.real, "Really compute this network, of which the workload is a profile")
      ->type_name("NET");
  validate->add_option("--time-limit", s.validate.time_limit, "Seconds for the measurement (default 900)")
      ->type_name("S");
  validate->add_option("--measured", s.validate.measured, "Compare with this measurement and measure nothing")
      ->type_name("FILE");
  validate->add_option("--bundle", s.validate.bundle, "Only write what is to be measured")->type_name("FILE");
  validate->add_option("--out", s.validate.out, "Also write bundle, measurement, comparison and traces here")
      ->type_name("DIR");
  add_format(validate, s.validate.format);
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
  add_format(calibrate, s.calibrate.format);
  calibrate->add_flag("--quiet", s.calibrate.quiet, "Show no progress");

  CLI::App* critical_path =
      command("critical-path", "Find the critical path of a traced PyTorch process", kCriticalPathFooter, "TRACE",
              s.critical_path.file, "Kineto trace", [&s] { return critical_path_command(s.critical_path); });
  critical_path->add_option("--annotation", s.critical_path.annotation, "Only the span whose name begins so")
      ->type_name("NAME");
  critical_path->add_option("--instance", s.critical_path.instance, "Which of the spans of that name, from 0")
      ->type_name("N");
  add_format(critical_path, s.critical_path.format);

  CLI::App* stragglers =
      command("stragglers", "Say what the stragglers of a traced job cost, and which ones", kStragglersFooter, "TRACE",
              s.stragglers.file, "Trace of a job", [&s] { return stragglers_command(s.stragglers); });
  add_format(stragglers, s.stragglers.format);

  const std::string subjects = fmt::format("One of {}", join(list_subjects()));
  command("list", "List what experiments can name", kListFooter, "WHAT", s.list.what, subjects.c_str(),
          [&s] { return list_command(s.list); });

  CLI::App* reproduce =
      command("reproduce", "Run again what a manifest says and compare the results", kReproduceFooter, "RESULT",
              s.reproduce.result, "Directory that `stretto run --out` wrote, or its manifest.json",
              [&s] { return reproduce_command(s.reproduce); });
  reproduce->add_flag("--quiet", s.reproduce.quiet, "Show no progress");
  command("completion", "Write the completion of these commands for a shell", kCompletionFooter, "SHELL", s.completion,
          "bash or zsh", [&s, &root] { return completion_command(manual_of(root), s.completion); });
  bare_command("manual", "Write the man page of these commands", kManualFooter, [&root] {
    print(man_page(manual_of(root), version_line()));
    return 0;
  });
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
  root.set_version_flag("--version", version_line());
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
