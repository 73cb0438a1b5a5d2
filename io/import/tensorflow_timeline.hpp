// SPDX-License-Identifier: Apache-2.0
// TensorFlow's timeline (the Chrome trace that timeline.py makes of a step's StepStats) as StepStats and a graph.
//
// A complete event of a process "<device> Compute" is one record of that device: node (args.name), op (args.op), begin
// and duration in us, read by decimal digits. args.input0, input1, ... are its inputs, so the events are a graph too,
// of the nodes that ran. A received tensor's consumer names it "w/read_S11", one that was copied between devices
// "w/read/_3": the sender is the node without the suffix. Inputs on nodes that did not run (folded constants, feeds)
// are counted and become placeholders. Lanes (tid), flow events and the processes "Tensors" say nothing more.
//
// What the file does not hold is the size of tensors: variables need the program's GraphDef, or a table of their bytes.
// Processes are looked up in the file's own table. A variable that stands twice (one step takes each once), a node on
// two devices or a process of two names is a file merged of several runs: their tables of processes differ and only one
// was kept, so that ops stand under the wrong device. Such a file is refused. Cost: O(text + events log events).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "io/import/import.hpp"
#include "io/import/proto/tensorflow.pb.h"

namespace stretto::io {

struct TfTimeline {
  tf::StepStats stats;
  tf::GraphDef graph;                  // the nodes that ran, with the inputs that ran
  std::vector<std::string> variables;  // of the graph, in the file's order
};

bool is_tensorflow_timeline(std::string_view text);
// Throws UserError with place; what was dropped and repaired goes into `report`.
TfTimeline read_timeline(const std::string& text, const std::string& path, ImportReport& report);

// Bytes by variable: one "name bytes" a line, apart by spaces or tabs; empty lines and lines that begin with # count
// for nothing. Throws UserError with the line: no number of 1 or more, a name twice, no line at all.
std::map<std::string, std::int64_t> read_variable_table(const std::string& text, const std::string& path);

}  // namespace stretto::io
