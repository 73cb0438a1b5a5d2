// SPDX-License-Identifier: Apache-2.0
// The commands of the command line as plain functions: parsed options in, exit code out (0 done, 1 the simulation or a
// check says no). They write to stdout and stderr through app/output.hpp and throw UserError for bad input. main.cpp
// alone knows the parser of the command line and maps exceptions to exit codes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace stretto::app {

struct RunOptions {
  std::string file;
  std::vector<std::string> set;      // "path=value", later ones win
  std::string seed;                  // stands for runs.seed=SEED; empty: as the file says
  std::string format = "text";       // text or json
  std::string out;                   // directory for result, manifest and traces; empty: none
  bool quiet = false;                // no progress
  std::vector<std::string> command;  // the command line as typed, for the manifest
};

struct ImportOptions {
  std::string file;
  std::string out;                 // empty: the workload goes to stdout
  std::string name;                // of the graph; empty: from the file
  std::string source;              // where the figures come from; empty: from the file
  std::string format;              // of the file; empty: told from its content
  std::string batch;               // samples per step; empty: from the file
  std::string graph;               // the GraphDef of a TensorFlow trace; empty: none
  std::string variables;           // table of the variables' bytes of a TensorFlow timeline; empty: none
  std::vector<std::string> ranks;  // Kineto traces of further ranks
  bool summary = false;            // figures only, no workload
};

struct InitOptions {
  std::string import;     // profile or trace to read; this or `workload`
  std::string graph;      // the GraphDef of a TensorFlow trace; empty: none
  std::string variables;  // table of the variables' bytes of a TensorFlow timeline; empty: none
  std::string name;       // of the imported workload; empty: from the file
  std::string batch;      // samples per step of the import; empty: from the file
  std::string workload;   // shipped name or workload file
  std::string cores;      // of the CPU that the profile is of; empty: as the import says, 1 for a CPU
  std::string out = "what_if.yaml";
  bool force = false;  // overwrite files
};

struct ShowOptions {
  std::string what;  // a workload (shipped name or file) or an experiment file
  std::vector<std::string> set;
  bool effective = false;  // the experiment as YAML with every default
};

struct SearchOptions {
  std::string file;
  std::vector<std::string> set;
  std::string seed;
  std::string budget;   // evaluations; empty: the default
  std::string seconds;  // in place of the budget; empty: none
  std::string format = "text";
  std::string out;         // schedule file to write; empty: none
  std::string checkpoint;  // file to keep the state in; empty: none
  std::string resume;      // checkpoint to go on from; empty: none
  bool quiet = false;
};

struct AttributeOptions {
  std::string file;
  std::vector<std::string> set;
  std::string seed;
  std::vector<std::string> policies;  // empty: the first one of the experiment
  std::string format = "text";
  bool quiet = false;
};

struct VerifyOptions {
  std::string schedule;
  std::string experiment;  // the experiment that it is for
  std::vector<std::string> set;
  std::string format = "text";
};

struct ExportOptions {
  std::string schedule;
  std::string to;          // a format of io/export/exporters.hpp
  std::string out;         // empty: stdout
  std::string experiment;  // empty: none; then the schedule is held against nothing
  std::vector<std::string> set;
};

struct ExplainOptions {
  std::string schedule;
  std::string experiment;
  std::vector<std::string> set;
  std::string moves;  // how many are judged; empty: the default
  std::string format = "text";
};

struct CriticalPathOptions {
  std::string file;
  std::string annotation;  // begin of the name of the span to look at; empty: the whole trace
  std::string instance;    // of the spans of that name, from 0; empty: the first
  std::string format = "text";
};

struct StragglersOptions {
  std::string file;
  std::string format = "text";
};

struct ListOptions {
  std::string what;  // policies, placements, topologies, fields, workloads, formats
};

struct ReproduceOptions {
  std::string result;  // directory that `run --out` wrote, or its manifest.json
  bool quiet = false;
};

struct ValidateOptions {
  std::string file;
  std::vector<std::string> set;
  std::string steps;  // measured per policy; empty: the default
  std::string warm_up;
  std::string window;      // for policies that say no window; empty: 1
  std::string time_limit;  // of the measurement, seconds
  std::string network = "auto";
  std::string real;      // a network that is computed in place of emulated ops; empty: none
  std::string measured;  // a measurement to compare with, in place of making one
  std::string bundle;    // write the bundle here and end
  std::string out;       // directory for bundle, measurement, comparison and traces; empty: none
  std::string format = "text";
  bool quiet = false;
};

struct CalibrateOptions {
  std::vector<std::string> files;                          // measured cells
  std::vector<std::pair<std::string, std::string>> cases;  // experiment, measured steps
  std::vector<std::string> predict;                        // cells to predict only
  std::string cluster;                                     // costs to begin with; empty: the shipped ones of TensorFlow
  std::string fit;                                         // names of costs, apart by commas; empty: the default ones
  std::string window;                                      // for policies of cases that say no window; empty: 1
  std::string replications;                                // per cell whose order is drawn; empty: the default
  std::string out;                                         // cluster file to write; empty: none
  bool leave_one_out = false;
  std::string format = "text";
  bool quiet = false;
  std::vector<std::string> command;  // the command line as typed, for the file
};

struct SweepOptions {
  std::string file;
  std::vector<std::string> set;
  std::string store;    // empty: named after the file, in the current directory
  std::string shard;    // "i/n"; empty: all
  std::string divide;   // number of shards to describe in place of running; empty: none
  std::string threads;  // empty: all cores
  std::string format = "text";
  bool quiet = false;
};

struct ResultsOptions {
  std::vector<std::string> words;  // action and files
  std::string sweep;               // number, name or hash; empty: the latest
  std::string against;             // the same, for compare; empty: the one before
};

int run_command(const RunOptions& options);
int sweep_command(const SweepOptions& options);
int results_command(const ResultsOptions& options);
int import_command(const ImportOptions& options);
int init_command(const InitOptions& options);
int show_command(const ShowOptions& options);
int search_command(const SearchOptions& options);
int verify_command(const VerifyOptions& options);
int export_command(const ExportOptions& options);
int explain_command(const ExplainOptions& options);
int validate_command(const ValidateOptions& options);
int calibrate_command(const CalibrateOptions& options);
int attribute_command(const AttributeOptions& options);
int critical_path_command(const CriticalPathOptions& options);
int stragglers_command(const StragglersOptions& options);
int list_command(const ListOptions& options);
int reproduce_command(const ReproduceOptions& options);

// What `list` can list.
const std::vector<std::string>& list_subjects();
// What `results` can do.
const std::vector<std::string>& results_actions();

}  // namespace stretto::app
