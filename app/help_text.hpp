// SPDX-License-Identifier: Apache-2.0
// What stands below the options of a command in its help and its section of the man page: examples, and what to know.
#pragma once

namespace stretto::app {

inline constexpr const char* kFooter = R"(Examples:
  stretto run configs/experiments/quickstart.yaml
  stretto run my.yaml --set cluster.workers.nic="25 Gbit/s" --set cluster.servers.nic="25 Gbit/s"
  stretto show vgg_16
`stretto COMMAND --help` says more about a command.
Exit codes: 0 done, 1 the simulation or a check says no, 2 bad usage or input, 3 a bug in stretto.)";

inline constexpr const char* kRunFooter = R"(Examples:
  stretto run what_if.yaml
  stretto run what_if.yaml --set cluster.workers.count=16 --set runs.seed=7
  stretto run what_if.yaml --format json > result.json
  stretto run what_if.yaml --out results/what_if
--out writes result.json, manifest.json (for `stretto reproduce`), steps.csv and per policy its schedule, its order
and a trace of one step, which https://ui.perfetto.dev opens. docs/reference/ describes the files.)";

inline constexpr const char* kImportFooter = R"(Examples:
  stretto import graph.txt -o vgg16.workload.json
  stretto import graph.txt --summary
`stretto list formats` names what can be imported.)";

inline constexpr const char* kInitFooter = R"(Examples:
  stretto init --workload vgg_16
  stretto init --import step.pb.gz --graph graph.pb.gz -o what_if.yaml
  stretto init --import graph.txt --batch 64
  stretto run what_if.yaml
The experiment runs as it is written; its comments say what each section does and which values to replace. A workload
that was imported is written beside it. No file is overwritten without --force.)";

inline constexpr const char* kShowFooter = R"(Examples:
  stretto show vgg_16
  stretto show my.workload.json
  stretto show what_if.yaml
  stretto show what_if.yaml --effective --set cluster.workers.count=4)";

inline constexpr const char* kSearchFooter = R"(Examples:
  stretto search what_if.yaml -o best.schedule.json
  stretto search what_if.yaml --budget 100000 --checkpoint search.json
  stretto search what_if.yaml --budget 100000 --resume search.json
The section `search` of the experiment says what may change; docs/search.md says how it is searched. The same budget
and seed give the same plan on any machine. Ctrl-C ends the search and keeps the best plan so far.)";

inline constexpr const char* kAttributeFooter = R"(Examples:
  stretto attribute what_if.yaml
  stretto attribute what_if.yaml --policy tac --format json
Every cause (transfer order, link contention, server contention, slow workers, noise) is idealised in every combination;
its share is what it costs on average, so that all shares and what is left sum to the step. docs/attribution.md says
what exactly is idealised.)";

inline constexpr const char* kVerifyFooter = R"(Examples:
  stretto search what_if.yaml -o best.schedule.json
  stretto verify best.schedule.json --experiment what_if.yaml
The checker shares no code with the simulator, the search and the bounds; docs/verify.md says what it checks.
Exit code 0: verified; 1: the first violation is named.)";

inline constexpr const char* kExportFooter = R"(Examples:
  stretto export best.schedule.json --to order -o order.txt
  stretto export best.schedule.json --to byteps
  stretto export best.schedule.json --to perfetto --experiment what_if.yaml -o step.json
What a format cannot carry is said on stderr. docs/export.md says where each is loaded.)";

inline constexpr const char* kExplainFooter = R"(Examples:
  stretto explain best.schedule.json --experiment what_if.yaml
  stretto explain best.schedule.json --experiment what_if.yaml --moves 20 --format json
Says what the schedule does otherwise than the orders of first use and TAC, what each of the largest moves and each
other change gains, and what the lower bound leaves.)";

inline constexpr const char* kValidateFooter = R"(Examples:
  stretto validate cluster.yaml
  stretto validate cluster.yaml --steps 50 --out results/cluster
  stretto validate cluster.yaml --bundle cluster.bundle.json
  stretto validate inception.yaml --real inception_v1
Predicts every policy of the experiment, measures it with real TensorFlow processes on this machine (compute is
emulated, or with --real that of a network), and prints both. The first time, the harness makes its environment (1.6 GB,
some minutes). Policies that want a strict order are held to it by a window. docs/reference/harness.md describes
bundle and measurement.)";

inline constexpr const char* kCalibrateFooter = R"(Examples:
  stretto calibrate results/cluster/measurement.json -o my_cluster.yaml
  stretto calibrate a.json b.json --predict c.json d.json --fit per_message,efficiency
  stretto calibrate --case step.yaml steps.json --leave-one-out
Fits the costs of a cluster, one value each, to measured steps, says what the data do not tell, and writes a file that
clusters include. docs/calibration.md says what is fitted and what is read.)";

inline constexpr const char* kCriticalPathFooter = R"(Examples:
  stretto critical-path trace.json.gz
  stretto critical-path trace.json.gz --annotation ProfilerStep --instance 2
TRACE is one of the PyTorch profiler (Kineto), of one process. docs/reference/critical_path.md says by which rules the
path is found.)";

inline constexpr const char* kStragglersFooter = R"(Examples:
  stretto stragglers trace.csv.gz
  stretto stragglers trace.csv.gz --format json
TRACE is one of StragglerAnalysis: a row per op of a job with data and pipeline parallelism, as CSV or JSON. Its steps
are replayed with what is typical of each kind of op. docs/reference/stragglers.md says what exactly is compared.)";

inline constexpr const char* kSweepFooter = R"(Examples:
  stretto sweep what_if.yaml
  stretto sweep what_if.yaml --store results.sqlite --threads 8
  stretto sweep what_if.yaml --divide 16
  stretto sweep what_if.yaml --store part_3.sqlite --shard 3/16
Runs every point of `vary` and of the section `sweep` (docs/sweep.md) into a results store. Given again after an end of
any kind, it goes on where it stopped. Exit code 1: points failed; `stretto results show` says why.)";

inline constexpr const char* kResultsFooter = R"(Examples:
  stretto results list results.sqlite
  stretto results show results.sqlite
  stretto results compare results.sqlite --sweep 2 --against 1
  stretto results export csv results.sqlite > results.csv
  stretto results merge all.sqlite part_1.sqlite part_2.sqlite
  stretto results gc results.sqlite
compare sets the step times of two sweeps side by side, merge adds the points of stores that shards wrote, gc removes
sweeps that a later one of the same name has replaced.)";

inline constexpr const char* kReportFooter = R"(Examples:
  stretto report what_if.yaml
  stretto report results/what_if -o what_if.html
  stretto report results.sqlite -o sweep.html
  stretto report what_if.yaml --attribute tac --set cluster.workers.count=16
INPUT is an experiment, which is run; or what `run --out` wrote, whose steps are simulated again for the timelines; or
a results store. The file needs no network and nothing beside it. docs/report.md shows one.)";

inline constexpr const char* kPlotFooter = R"(Examples:
  stretto run what_if.yaml --out results/what_if
  stretto plot results/what_if -o gains.svg
Step times with lower bounds and gains over random with their intervals, for papers.)";

inline constexpr const char* kListFooter = R"(Examples:
  stretto list policies
  stretto list fields)";

inline constexpr const char* kReproduceFooter = R"(Examples:
  stretto run what_if.yaml --out results/what_if
  stretto reproduce results/what_if
Exit code 0: the new result is equal byte for byte; 1: it differs.)";

inline constexpr const char* kCompletionFooter = R"(Examples:
  source <(stretto completion bash)
  stretto completion zsh > ~/.zfunc/_stretto
An installed stretto has both already, where bash-completion and zsh look for them.)";

inline constexpr const char* kManualFooter = R"(Examples:
  stretto manual | man -l -)";

}  // namespace stretto::app
