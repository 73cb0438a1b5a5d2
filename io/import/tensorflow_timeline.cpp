// SPDX-License-Identifier: Apache-2.0
#include "io/import/tensorflow_timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <utility>

#include "io/file/file.hpp"
#include "io/import/common.hpp"
#include "io/import/decimal.hpp"
#include "io/import/tensorflow_nodes.hpp"
#include "io/import/tensorflow_variables.hpp"
#include "io/json/reader.hpp"
#include "io/json/repair.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::io {

namespace {

constexpr std::size_t kHead = std::size_t{1} << 16;
constexpr int kUsToNs = 3;
constexpr std::size_t kMostInputs = 10'000;  // of one node
constexpr std::size_t kMostErrors = 20;
constexpr std::string_view kCompute = " Compute";

struct Event {
  std::string process;
  std::string node;
  std::string op;
  std::map<std::size_t, std::string> inputs;
  std::optional<std::int64_t> start_ns;
  std::optional<std::int64_t> length_ns;
};

std::optional<std::int64_t> nanoseconds(const json::Value& value) {
  const auto scaled = parse_scaled(scalar_text(value), kUsToNs);
  return scaled ? std::optional(scaled->value) : std::nullopt;
}

class Reader {
 public:
  void read(const json::Value& root) {
    bool found = false;
    root.members([&](std::string_view key, const json::Value& value) {
      if (key != "traceEvents") return;
      found = true;
      value.elements([&](const json::Value& event) { read_event(event); });
    });
    if (!found) root.error("there is no traceEvents");
  }

  std::map<std::string, std::string> names;  // of processes
  std::vector<Event> events;
  std::size_t renamed = 0;  // processes that got a second name

 private:
  void read_arguments(const json::Value& arguments, Event& e, std::string& process_name) {
    if (arguments.kind() != json::Kind::Object) return;
    arguments.members([&](std::string_view key, const json::Value& v) {
      if (key == "name") {
        e.node = scalar_text(v);
        process_name = e.node;
      } else if (key == "op") {
        e.op = scalar_text(v);
      } else if (key.starts_with("input")) {
        std::size_t i = 0;
        const char* const end = key.data() + key.size();
        const auto parsed = std::from_chars(key.data() + 5, end, i);
        if (parsed.ec == std::errc() && parsed.ptr == end && i < kMostInputs) e.inputs[i] = scalar_text(v);
      }
    });
  }

  void read_event(const json::Value& value) {
    if (value.kind() != json::Kind::Object) {
      value.error("an event is no object");
      return;
    }
    Event e;
    std::string phase;
    std::string name;
    std::string process_name;
    value.members([&](std::string_view key, const json::Value& v) {
      if (key == "ph")
        phase = scalar_text(v);
      else if (key == "name")
        name = scalar_text(v);
      else if (key == "pid")
        e.process = scalar_text(v);
      else if (key == "ts")
        e.start_ns = nanoseconds(v);
      else if (key == "dur")
        e.length_ns = nanoseconds(v);
      else if (key == "args")
        read_arguments(v, e, process_name);
    });
    if (phase == "M" && name == "process_name") {
      const auto [it, is_new] = names.emplace(e.process, process_name);
      if (!is_new && it->second != process_name) ++renamed;
    } else if (phase == "X") {
      events.push_back(std::move(e));
    }
  }
};

// "w/read_S11" -> "w/read", "w/read/_3" -> "w/read"; as it is without such a suffix.
std::string_view without_suffix(std::string_view name) {
  const std::size_t digits = name.find_last_not_of("0123456789");
  if (digits == std::string_view::npos || digits + 1 == name.size()) return name;
  const std::string_view head = name.substr(0, digits + 1);
  if (head.ends_with("_S")) return head.substr(0, head.size() - 2);
  if (head.ends_with("/_")) return head.substr(0, head.size() - 2);
  return name;
}

class Builder {
 public:
  Builder(const Reader& in, const std::string& path) : in_(in), path_(path) {}

  TfTimeline build(ImportReport& report) {
    for (const Event& e : in_.events) take(e);
    connect();
    if (out_.stats.dev_stats().empty())
      refuse_file(path_, "the timeline has no events of a device (a process \"... Compute\")",
                  "trace the step with FULL_TRACE");
    report.read.push_back(fmt::format("{} records of {} devices", records_, devices_.size()));
    note_count(report.dropped, timeless_, "events without begin or duration");
    note_count(report.dropped, strangers_, "events of processes that are no device");
    note_count(report.dropped, unknown_inputs_, "inputs on nodes that did not run (folded constants, feeds)");
    return std::move(out_);
  }

 private:
  void take(const Event& e) {
    const auto name = in_.names.find(e.process);
    if (name == in_.names.end() || !name->second.ends_with(kCompute) || e.node.empty()) {
      ++strangers_;
      return;
    }
    if (!e.start_ns || !e.length_ns) {
      ++timeless_;
      return;
    }
    const std::string device = name->second.substr(0, name->second.size() - kCompute.size());
    const bool tracer = !parse_device(device).rest.empty();  // the GPU's own records: kernels and copies
    tf::NodeExecStats& record = *stats_of(device).add_node_stats();
    ++records_;
    record.set_node_name(tracer && e.op.starts_with("MEMCPY") ? e.op : e.node);
    record.set_all_start_nanos(*e.start_ns);
    record.set_all_end_rel_nanos(*e.length_ns);
    if (tracer || e.node == "_SOURCE" || e.node == "_SINK" || e.node == "RecvTensor") return;
    std::string inputs;
    for (const auto& [i, input] : e.inputs) inputs.append(inputs.empty() ? "" : ", ").append(input);
    if (!inputs.empty()) record.set_timeline_label(fmt::format("{} = {}({})", e.node, e.op, inputs));
    add_node(e, device);
  }

  tf::DeviceStepStats& stats_of(const std::string& device) {
    const auto [it, is_new] = devices_.emplace(device, out_.stats.dev_stats_size());
    if (is_new) out_.stats.add_dev_stats()->set_device(device);
    return *out_.stats.mutable_dev_stats(it->second);
  }

  void add_node(const Event& e, const std::string& device) {
    const auto [it, is_new] = nodes_.emplace(e.node, out_.graph.node_size());
    if (!is_new) {
      const std::string& first = out_.graph.node(it->second).device();
      const char* const kHint = "give the timeline of one step as TensorFlow wrote it";
      if (first != device)
        refuse_file(path_,
                    fmt::format("node \"{}\" ran on {} and on {}: the file is merged of several runs, whose tables of "
                                "devices differ",
                                e.node, first, device),
                    kHint);
      if (is_variable(e.op))
        refuse_file(path_,
                    fmt::format("variable \"{}\" stands in several steps: the file is merged of several runs, whose "
                                "tables of devices differ and of which one was kept",
                                e.node),
                    kHint);
      return;  // a loop's further run
    }
    tf::NodeDef& node = *out_.graph.add_node();
    node.set_name(e.node);
    node.set_op(e.op);
    node.set_device(device);
    for (const auto& [i, input] : e.inputs) node.add_input(input);
    if (is_variable(e.op)) out_.variables.push_back(e.node);
  }

  // Inputs by the names of nodes that ran; "^" and ":slot" stay. What did not run becomes a placeholder, so that the
  // others keep their places.
  void connect() {
    const int ran = out_.graph.node_size();
    for (int i = 0; i < ran; ++i) {
      std::vector<std::string> inputs;
      const std::string device = out_.graph.node(i).device();
      for (const std::string& input : out_.graph.node(i).input()) {
        const bool control = input.starts_with('^');
        std::string_view name = std::string_view(input).substr(control ? 1 : 0);
        const std::size_t colon = name.rfind(':');
        std::string slot(colon == std::string_view::npos ? "" : name.substr(colon));
        name = name.substr(0, colon);
        if (!nodes_.contains(std::string(name)) && nodes_.contains(std::string(without_suffix(name))))
          name = without_suffix(name);
        const auto it = nodes_.find(std::string(name));
        if (it == nodes_.end() || it->second >= ran || it->second == i) {
          ++unknown_inputs_;
          if (control || name.empty() || (it != nodes_.end() && it->second == i)) continue;
          if (it == nodes_.end()) {
            nodes_.emplace(std::string(name), out_.graph.node_size());
            tf::NodeDef& fed = *out_.graph.add_node();
            fed.set_name(std::string(name));
            fed.set_op("Placeholder");
            fed.set_device(device);
          }
        }
        inputs.push_back(fmt::format("{}{}{}", control ? "^" : "", name, slot));
      }
      tf::NodeDef& node = *out_.graph.mutable_node(i);
      node.clear_input();
      for (std::string& input : inputs) node.add_input(std::move(input));
    }
  }

  const Reader& in_;
  const std::string& path_;
  TfTimeline out_;
  std::map<std::string, int> devices_;
  std::unordered_map<std::string, int> nodes_;
  std::size_t records_ = 0;
  std::size_t timeless_ = 0;
  std::size_t strangers_ = 0;
  std::size_t unknown_inputs_ = 0;
};

}  // namespace

bool is_tensorflow_timeline(std::string_view text) {
  const std::string_view head = text.substr(0, kHead);
  const std::size_t start = head.find_first_not_of(" \t\r\n");
  const auto has = [&](std::string_view part) { return head.find(part) != std::string_view::npos; };
  return start != std::string_view::npos && head[start] == '{' && has("\"traceEvents\"") && has("\"process_name\"") &&
         has("/job:");
}

TfTimeline read_timeline(const std::string& text, const std::string& path, ImportReport& report) {
  Reader reader;
  report.repaired = json::read_repaired(
      text, path, [&](const json::Value& root) { reader.read(root); }, [&] { reader = {}; });
  if (reader.renamed > 0)
    refuse_file(path, fmt::format("{} processes have two names: the file is merged of several runs", reader.renamed),
                "give the timeline of one step as TensorFlow wrote it");
  return Builder(reader, path).build(report);
}

std::map<std::string, std::int64_t> read_variable_table(const std::string& text, const std::string& path) {
  constexpr std::string_view kSpace = " \t\r";
  std::map<std::string, std::int64_t> table;
  std::vector<Diagnostic> errors;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    const std::size_t first = line.find_first_not_of(kSpace);
    if (first == std::string_view::npos || line[first] == '#') continue;
    const auto add_error = [&](std::string_view where, std::string message) {
      if (errors.size() >= kMostErrors) return;
      Diagnostic d;
      d.span = file::span_at(text, path, static_cast<std::size_t>(where.data() - text.data()), where.size());
      d.message = std::move(message);
      d.hint = "a line is: name of the variable, space or tab, its bytes";
      errors.push_back(std::move(d));
    };
    line = line.substr(first, line.find_last_not_of(kSpace) + 1 - first);
    const std::size_t gap = line.find_first_of(kSpace);
    if (gap == std::string_view::npos) {
      add_error(line, fmt::format("\"{}\" has no bytes beside it", line));
      continue;
    }
    const std::string_view figure = line.substr(line.find_first_not_of(kSpace, gap));
    const std::int64_t bytes = parse_whole(figure).value_or(0);
    if (bytes < 1)
      add_error(figure, fmt::format("\"{}\" is no number of bytes of 1 or more", figure));
    else if (!table.emplace(std::string(line.substr(0, gap)), bytes).second)
      add_error(line.substr(0, gap), fmt::format("variable \"{}\" stands twice", line.substr(0, gap)));
  }
  if (!errors.empty()) throw UserError(std::move(errors));
  if (table.empty()) refuse_file(path, "the table of variables is empty", "a line is: name of the variable, its bytes");
  return table;
}

}  // namespace stretto::io
