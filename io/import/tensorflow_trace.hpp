// SPDX-License-Identifier: Apache-2.0
// What one traced step says about each node of one worker: its time, the op that really ran, its outputs' shapes; and
// the tensors that the processes received from each other.
//
// Time of an op on a CPU: all_end_rel (from taking the node up to having passed its outputs on), in nanoseconds where
// the file has them. On a GPU: the sum of its kernels in "stream:all"; without that stream, in the streams "stream:N"
// less the copies; without any, the host's time. Exact duplicates are dropped, further runs of one node add up. Cost:
// O(records log records).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/import/import.hpp"
#include "io/import/proto/tensorflow.pb.h"
#include "io/import/tensorflow_nodes.hpp"
#include "sim/base/units.hpp"

namespace stretto::io {

struct TfRecord {
  Duration time;
  bool kernels = false;               // the time is that of GPU kernels
  std::optional<std::string> inputs;  // what the op took, by the label: "images, conv1/weights/read_S3"
  std::map<std::int32_t, TfShape> outputs;

  // Whether the label lists that node as an input; true without a label. A received one has a suffix.
  bool took(std::string_view node) const;
};

// One RecvTensor. `tensor` is the sender's node, without the edge's number.
struct TfTransfer {
  std::string tensor;
  TfDevice from;
  TfDevice to;
  Bytes bytes;
};

struct TfTrace {
  std::map<std::string, TfRecord, std::less<>> records;  // of the chosen worker, by node name
  std::vector<TfTransfer> transfers;                     // of all processes
  std::set<std::string, std::less<>> server_nodes;       // with a record on a server
  std::size_t unreadable_transfers = 0;                  // without label or bytes
};

// `worker` chooses the task whose records count; one without a job takes every task but the servers'. Notes on what was
// dropped or repaired go to the report.
TfTrace read_trace(const tf::StepStats& stats, const TfDevice& worker, ImportReport& report);

// The tasks with records, servers left out, in order.
std::vector<TfDevice> traced_workers(const tf::StepStats& stats);

}  // namespace stretto::io
