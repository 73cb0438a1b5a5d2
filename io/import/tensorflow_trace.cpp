// SPDX-License-Identifier: Apache-2.0
#include "io/import/tensorflow_trace.hpp"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace stretto::io {

namespace {

constexpr std::int64_t kLongest = 3'600'000'000'000;     // ns; a record of more than an hour is damaged
constexpr std::int64_t kMostTotal = 50'000'000'000'000;  // ns, half of what a graph may hold
constexpr std::size_t kManyKernels = 8;                  // of one op; cuDNN tries algorithms in a session's first step

struct Span {
  std::int64_t start = 0;  // ns
  std::int64_t length = 0;
};

// Nothing if the record's times make no sense.
std::optional<Span> read_span(const tf::NodeExecStats& record) {
  Span span;
  if (record.all_start_nanos() != 0) {
    span = {record.all_start_nanos(), record.all_end_rel_nanos()};
  } else {
    if (record.all_start_micros() > std::int64_t{1} << 53 || record.all_end_rel_micros() > kLongest / 1000)
      return std::nullopt;
    span = {record.all_start_micros() * 1000, record.all_end_rel_micros() * 1000};
  }
  if (span.start < 0 || span.length < 0 || span.length > kLongest) return std::nullopt;
  return span;
}

// "[mklcpu 1.0MB 1.0MB] fc6/BiasAdd = _FusedConv2D(a, b)": "a, b".
std::optional<std::string> label_inputs(const std::string& label, const std::string& name) {
  const std::size_t start = label.find(fmt::format("{} = ", name));
  if (start == std::string::npos) return std::nullopt;
  const std::size_t open = label.find('(', start + name.size());
  if (open == std::string::npos || label.back() != ')') return std::nullopt;
  return label.substr(open + 1, label.size() - open - 2);
}

// "[768B] [6.94Mb/s] edge_20_conv2/biases/read from A to B"
bool parse_transfer(const tf::NodeExecStats& record, TfTransfer& out) {
  const std::string& label = record.timeline_label();
  const std::size_t to = label.rfind(" to ");
  if (to == std::string::npos) return false;
  const std::size_t from = label.rfind(" from ", to);
  if (from == std::string::npos) return false;
  out.from = parse_device(std::string_view(label).substr(from + 6, to - from - 6));
  out.to = parse_device(std::string_view(label).substr(to + 4));
  const std::size_t space = label.rfind("] ", from);
  const std::size_t start = space == std::string::npos ? 0 : space + 2;
  std::string_view tensor = std::string_view(label).substr(start, from - start);
  if (tensor.starts_with("edge_")) {
    const std::size_t end = tensor.find('_', 5);
    if (end != std::string_view::npos) tensor.remove_prefix(end + 1);
  }
  out.tensor = tensor;
  if (record.output().empty()) return false;
  const std::int64_t bytes = record.output(0).tensor_description().allocation_description().requested_bytes();
  if (bytes < 0) return false;
  out.bytes = Bytes(bytes);
  return true;
}

bool is_copy(const std::string& name) { return name.starts_with("MEMCPY") || name.starts_with("Memcpy"); }

// Kernels are named by their node, or "node:op", or by a label that starts so.
std::string kernel_node(const tf::NodeExecStats& record) {
  const std::string& name = record.node_name();
  const std::size_t colon = name.find(':');
  if (colon != std::string::npos && colon > 0) return name.substr(0, colon);
  return name;
}

class TraceReader {
 public:
  TraceReader(const TfDevice& worker, ImportReport& report) : worker_(worker), report_(report) {}

  TfTrace read(const tf::StepStats& stats) {
    for (const tf::DeviceStepStats& device : stats.dev_stats()) {
      const TfDevice d = parse_device(device.device());
      if (!d.job.empty() && !d.is_server()) continue;
      has_all_ = has_all_ || d.rest == "stream:all";
      if (d.rest.starts_with("stream:")) has_stream_ = true;
    }
    for (const tf::DeviceStepStats& device : stats.dev_stats()) read_device(device);
    finish();
    return std::move(trace_);
  }

 private:
  // The same, and keeps the sum of all times within what a graph may hold.
  std::optional<Span> span_of(const tf::NodeExecStats& record) {
    const auto span = read_span(record);
    if (!span || span->length > kMostTotal - total_) return std::nullopt;
    total_ += span->length;
    return span;
  }

  void read_device(const tf::DeviceStepStats& device) {
    const TfDevice d = parse_device(device.device());
    if (!d.rest.empty()) return read_gpu(device, d);
    const bool mine = !d.is_server() && (worker_.job.empty() || d.job.empty() || d.same_task(worker_));
    for (const tf::NodeExecStats& record : device.node_stats()) {
      if (record.node_name() == "RecvTensor") {
        TfTransfer transfer;
        if (parse_transfer(record, transfer))
          trace_.transfers.push_back(std::move(transfer));
        else
          ++trace_.unreadable_transfers;
        continue;
      }
      if (!mine) {
        if (d.is_server())
          trace_.server_nodes.insert(record.node_name());
        else
          ++other_workers_;
        continue;
      }
      if (record.node_name() == "_SOURCE" || record.node_name() == "_SINK") continue;  // the executor's own
      const auto span = span_of(record);
      if (!span) {
        ++bad_times_;
        continue;
      }
      if (!seen_.emplace(record.node_name(), span->start, span->length).second) {
        ++duplicates_;
        continue;
      }
      const auto [it, is_new] = trace_.records.try_emplace(record.node_name());
      repeated_ += is_new ? 0U : 1U;
      TfRecord& out = it->second;
      out.time += Duration::ns(span->length);
      if (is_new) out.inputs = label_inputs(record.timeline_label(), record.node_name());
      for (const tf::NodeOutput& output : record.output()) {
        TfShape shape;
        const tf::Shape& dims = output.tensor_description().shape();
        for (const tf::Shape::Dim& dim : dims.dim()) shape.push_back(dim.size());
        if (dims.unknown_rank()) shape = {-1};
        out.outputs[output.slot()] = std::move(shape);
      }
    }
  }

  void read_gpu(const tf::DeviceStepStats& device, const TfDevice& d) {
    const bool all = d.rest == "stream:all";
    if (has_all_ != all || d.rest == "memcpy") {  // the same work again under its stream's number, or a copy
      repeated_gpu_ += static_cast<std::size_t>(device.node_stats_size());
      return;
    }
    for (const tf::NodeExecStats& record : device.node_stats()) {
      const auto span = span_of(record);
      if (!span) {
        ++bad_times_;
        continue;
      }
      if (is_copy(record.node_name())) {
        ++copies_;
        continue;
      }
      if (!seen_kernels_.emplace(record.node_name(), record.timeline_label(), span->start).second) {
        ++duplicates_;
        continue;
      }
      auto& kernels = kernels_[kernel_node(record)];
      kernels.first += Duration::ns(span->length);
      ++kernels.second;
    }
  }

  void finish() {
    std::size_t strangers = 0;
    for (const auto& [name, kernels] : kernels_) {
      const auto it = trace_.records.find(name);
      if (it == trace_.records.end()) {
        strangers += kernels.second;
        continue;
      }
      if (kernels.second >= kManyKernels || it->second.time > kernels.first * 10 + Duration::ms(1))
        note_warm_up(name, kernels.second);
      it->second.time = kernels.first;
      it->second.kernels = true;
    }
    if (warm_ups_ > 0)
      report_.guessed.push_back(
          fmt::format("{} GPU ops ran {} or more kernels, or were enqueued for far longer than they ran (first: {}): "
                      "this looks like a "
                      "session's first step, in which cuDNN tries algorithms; take a later step",
                      warm_ups_, kManyKernels, warm_up_));
    const auto dropped = [&](std::size_t n, std::string_view what) {
      if (n > 0) report_.dropped.push_back(fmt::format("{} {}", n, what));
    };
    dropped(repeated_gpu_, "GPU records that list kernels a second time (by stream) or copies");
    dropped(copies_, "GPU copies: the engine that copies is not a part of the op's time");
    dropped(strangers, "GPU kernels that belong to no recorded op");
    dropped(other_workers_, "records of other tasks");
    dropped(duplicates_, "records that are exact copies of another");
    dropped(bad_times_, "records with a negative time or one of more than an hour");
    dropped(trace_.unreadable_transfers, "RecvTensor records without a tensor, its bytes or its peer");
    if (repeated_ > 0)
      report_.read.push_back(
          fmt::format("{} further runs of ops that ran more than once (loops); their times add up", repeated_));
    if (has_stream_ && !has_all_)
      report_.guessed.push_back(
          "the trace has no \"stream:all\": kernels are taken from the single streams, copies left out by name");
  }

  void note_warm_up(const std::string& name, std::size_t kernels) {
    if (warm_ups_++ == 0) warm_up_ = fmt::format("\"{}\" with {} kernels", name, kernels);
  }

  const TfDevice& worker_;
  ImportReport& report_;
  TfTrace trace_;
  std::map<std::string, std::pair<Duration, std::size_t>> kernels_;  // time and number, by node
  std::set<std::tuple<std::string, std::int64_t, std::int64_t>> seen_;
  std::set<std::tuple<std::string, std::string, std::int64_t>> seen_kernels_;
  std::int64_t total_ = 0;  // ns
  bool has_all_ = false;
  bool has_stream_ = false;
  std::string warm_up_;
  std::size_t warm_ups_ = 0;
  std::size_t repeated_ = 0;
  std::size_t duplicates_ = 0;
  std::size_t bad_times_ = 0;
  std::size_t other_workers_ = 0;
  std::size_t repeated_gpu_ = 0;
  std::size_t copies_ = 0;
};

}  // namespace

bool TfRecord::took(std::string_view node) const {
  if (!inputs) return true;
  const std::string_view all = *inputs;
  for (std::size_t at = all.find(node); at != std::string_view::npos; at = all.find(node, at + 1)) {
    const std::string_view before = all.substr(0, at);
    const std::string_view after = all.substr(at + node.size());
    const bool starts = before.empty() || before.ends_with(", ") || before.ends_with("^");
    const bool ends = after.empty() || after.starts_with(',') || after.starts_with(':') || after.starts_with("/_") ||
                      after.starts_with("_S");
    if (starts && ends) return true;
  }
  return false;
}

TfTrace read_trace(const tf::StepStats& stats, const TfDevice& worker, ImportReport& report) {
  return TraceReader(worker, report).read(stats);
}

std::vector<TfDevice> traced_workers(const tf::StepStats& stats) {
  std::set<std::pair<std::string, std::int64_t>> tasks;
  for (const tf::DeviceStepStats& device : stats.dev_stats()) {
    const TfDevice d = parse_device(device.device());
    if (!d.job.empty() && !d.is_server()) tasks.emplace(d.job, d.task);
  }
  std::vector<TfDevice> out;
  for (const auto& [job, task] : tasks) {
    TfDevice d;
    d.job = job;
    d.task = task;
    out.push_back(std::move(d));
  }
  return out;
}

}  // namespace stretto::io
