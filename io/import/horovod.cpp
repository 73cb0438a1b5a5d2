// SPDX-License-Identifier: Apache-2.0
#include "io/import/horovod.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "io/import/common.hpp"
#include "io/import/decimal.hpp"
#include "io/json/reader.hpp"
#include "io/json/repair.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::io {

namespace {

using graph::OpId;
using graph::Phase;

constexpr std::size_t kHead = std::size_t{1} << 16;
constexpr int kUsToNs = 3;
constexpr std::int64_t kLatestNs = 4'000'000'000'000'000'000;
constexpr std::int64_t kLongestNs = 3'600'000'000'000;

constexpr std::array<std::pair<std::string_view, std::int64_t>, 10> kTypes = {{{"uint8", 1},
                                                                               {"int8", 1},
                                                                               {"uint16", 2},
                                                                               {"int16", 2},
                                                                               {"int32", 4},
                                                                               {"int64", 8},
                                                                               {"float16", 2},
                                                                               {"bfloat16", 2},
                                                                               {"float32", 4},
                                                                               {"float64", 8}}};

// One all-reduce of a tensor.
struct Reduction {
  std::map<std::int64_t, std::int64_t> ready_ns;  // by rank
  std::int64_t asked_ns = -1;                     // begin of the negotiation
  std::int64_t begin_ns = -1;
  std::int64_t end_ns = -1;
};

struct Tensor {
  std::string name;
  std::string type;
  std::string shape;
  std::vector<std::string> open;  // names of the events that are open, outermost first
  Reduction next;
  std::vector<Reduction> reductions;
  std::int64_t latest_ns = 0;  // begin or end of an outermost event
};

struct Event {
  std::string phase;
  std::string name;
  std::string process;
  std::optional<std::int64_t> at_ns;
  std::string process_name;
  std::string type;
  std::string shape;
};

// 0 or more.
std::optional<std::int64_t> whole(std::string_view text) {
  const auto number = parse_whole(text);
  return number && *number >= 0 ? number : std::nullopt;
}

// "[64, 3, 7, 7]" x dtype; none if either is not known.
std::optional<std::int64_t> bytes_of(const Tensor& tensor) {
  const auto* const type =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& t) { return t.first == tensor.type; });
  std::string_view text = tensor.shape;
  if (type == kTypes.end() || text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::int64_t bytes = type->second;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    const auto n = whole(part);
    if (!n || __builtin_mul_overflow(bytes, *n, &bytes) || bytes > (std::int64_t{1} << 50)) return std::nullopt;
  }
  return bytes;
}

class Reader {
 public:
  void read(const json::Value& root) {
    root.elements([&](const json::Value& value) {
      if (value.kind() != json::Kind::Object) {
        value.error("an event is no object");
        return;
      }
      Event e;
      value.members([&](std::string_view key, const json::Value& v) {
        if (key == "ph")
          e.phase = scalar_text(v);
        else if (key == "name")
          e.name = scalar_text(v);
        else if (key == "pid")
          e.process = scalar_text(v);
        else if (key == "ts")
          e.at_ns = time(v);
        else if (key == "args" && v.kind() == json::Kind::Object)
          v.members([&](std::string_view inner, const json::Value& w) {
            if (inner == "name") e.process_name = scalar_text(w);
            if (inner == "dtype") e.type = scalar_text(w);
            if (inner == "shape") e.shape = scalar_text(w);
          });
      });
      ++events;
      take(e);
    });
  }

  std::map<std::string, Tensor> tensors;           // by process
  std::map<std::string, std::size_t> other_kinds;  // collectives that are no all-reduces
  std::size_t events = 0;
  std::size_t timeless = 0;
  std::size_t unpaired = 0;
  std::size_t backward = 0;  // events of a tensor before the one that they follow
  std::string first_backward;

 private:
  static std::optional<std::int64_t> time(const json::Value& value) {
    const auto scaled = parse_scaled(scalar_text(value), kUsToNs);
    return scaled && scaled->value <= kLatestNs ? std::optional(scaled->value) : std::nullopt;
  }

  void take(const Event& e) {
    if (e.phase == "M") {
      if (e.name == "process_name") tensors[e.process].name = e.process_name;
      return;
    }
    if (e.phase != "B" && e.phase != "E" && e.phase != "X") return;
    if (!e.at_ns) {
      ++timeless;
      return;
    }
    Tensor& t = tensors[e.process];
    if (e.phase == "B") {
      if (t.open.empty()) {
        pass(t, *e.at_ns);
        begin(t, e);
      }
      t.open.push_back(e.name);
    } else if (e.phase == "X") {
      const auto rank = whole(e.name);
      if (!rank || t.open.empty() || t.open.front() != "NEGOTIATE_ALLREDUCE") return;
      if (*e.at_ns < t.next.asked_ns && backward++ == 0) first_backward = t.name;
      t.next.ready_ns.try_emplace(*rank, *e.at_ns);
    } else if (t.open.empty()) {
      ++unpaired;
    } else {
      const std::string name = std::move(t.open.back());
      t.open.pop_back();
      if (!t.open.empty()) return;
      pass(t, *e.at_ns);
      if (name == "ALLREDUCE") end(t, e);
    }
  }

  // Counts an event that lies before what it follows. Marks of ranks follow the begin of the negotiation, in any order;
  // events within an all-reduce are not looked at.
  void pass(Tensor& t, std::int64_t at_ns) {
    if (at_ns < t.latest_ns && backward++ == 0) first_backward = t.name;
    t.latest_ns = at_ns;
  }

  void begin(Tensor& t, const Event& e) {
    if (e.name == "NEGOTIATE_ALLREDUCE") {
      t.next = {};
      t.next.asked_ns = *e.at_ns;
    } else if (e.name == "ALLREDUCE") {
      t.next.begin_ns = *e.at_ns;
    } else if (!e.name.starts_with("NEGOTIATE_")) {
      ++other_kinds[e.name];
    }
  }

  void end(Tensor& t, const Event& e) {
    t.next.end_ns = *e.at_ns;
    if (!e.type.empty()) t.type = e.type;
    if (!e.shape.empty()) t.shape = e.shape;
    t.reductions.push_back(std::exchange(t.next, {}));
  }
};

// A gradient of the chosen step.
struct Gradient {
  const Tensor* tensor = nullptr;
  std::int64_t ready_ns = 0;
  std::int64_t bytes = 0;
};

class Builder {
 public:
  Builder(const Reader& in, const std::string& path, ImportReport& report) : in_(in), path_(path), report_(report) {}

  void build(graph::Graph& g) {
    if (in_.backward > 0)
      refuse_file(path_,
                  fmt::format("time runs backward at {}, first of tensor \"{}\"", plural(in_.backward, "event"),
                              escape_control(in_.first_backward)),
                  "give the timeline of one run as Horovod wrote it");
    for (const auto& [kind, n] : in_.other_kinds)
      if (kind != "BROADCAST" && kind != "BARRIER" && kind != "JOIN")
        refuse_file(path_, fmt::format("{} collectives are of kind {}, which a workload cannot hold", n, kind),
                    "a workload has gradients that are summed over all workers: all-reduces");
    choose_tensors();
    const std::size_t step = choose_step();
    make_graph(g, step);
    describe_ranks();
    for (const auto& [kind, n] : in_.other_kinds) note_count(report_.dropped, n, "broadcasts or barriers");
    note_count(report_.dropped, in_.timeless, "events without a time");
    note_count(report_.dropped, in_.unpaired, "ends without a begin");
  }

 private:
  void choose_tensors() {
    std::vector<std::size_t> counts;
    for (const auto& [process, t] : in_.tensors)
      if (!t.reductions.empty()) counts.push_back(t.reductions.size());
    if (counts.empty())
      refuse_file(path_, "no all-reduce ends in the timeline", "trace a job that trains with Horovod");
    std::nth_element(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 2), counts.end());
    const std::size_t usual = counts[counts.size() / 2];
    steps_ = usual;
    std::size_t rare = 0;
    for (const auto& [process, t] : in_.tensors) {
      if (t.reductions.empty()) continue;
      if (t.reductions.size() + 1 < usual) {
        ++rare;
        continue;
      }
      tensors_.push_back(&t);
      steps_ = std::min(steps_, t.reductions.size());
    }
    note_count(report_.dropped, rare, "tensors that are not reduced in every step");
    refuse_cut_step(usual);
  }

  // Reductions are counted from the first, which must be those of one step.
  void refuse_cut_step(std::size_t usual) const {
    std::int64_t first_end = 0;
    for (const Tensor* t : tensors_)
      if (t->reductions.size() >= usual) first_end = std::max(first_end, t->reductions.front().end_ns);
    const auto late = std::count_if(tensors_.begin(), tensors_.end(), [&](const Tensor* t) {
      return t->reductions.size() < usual && t->reductions.front().begin_ns > first_end;
    });
    if (late > 0)
      refuse_file(path_,
                  fmt::format("{} tensors are not reduced in the first step: the timeline begins within it", late),
                  "take its events out of the file");
  }

  std::int64_t end_of(std::size_t step) const {
    std::int64_t end = 0;
    for (const Tensor* t : tensors_) end = std::max(end, t->reductions[step].end_ns);
    return end;
  }

  // Rank 0's readiness; of a file without marks, the begin of the negotiation.
  std::int64_t ready(const Reduction& r) {
    const auto it = r.ready_ns.find(0);
    if (it != r.ready_ns.end()) return it->second;
    ++unmarked_;
    return r.asked_ns >= 0 ? r.asked_ns : r.begin_ns;
  }

  std::size_t choose_step() {
    if (steps_ < 2) {
      report_.guessed.emplace_back("the forward pass takes no time: the timeline holds one step, not what was before");
      return 0;
    }
    std::vector<std::pair<std::int64_t, std::size_t>> lengths;
    for (std::size_t s = 1; s < steps_; ++s) lengths.emplace_back(end_of(s) - end_of(s - 1), s);
    std::sort(lengths.begin(), lengths.end());
    const auto [length, step] = lengths[(lengths.size() - 1) / 2];
    report_.read.push_back(fmt::format("step {} of {}: {:.3f} ms", step, steps_, static_cast<double>(length) * 1e-6));
    return step;
  }

  void make_graph(graph::Graph& g, std::size_t step) {
    std::vector<Gradient> gradients;
    for (const Tensor* t : tensors_) {
      const auto bytes = bytes_of(*t);
      if (!bytes || *bytes < 1)
        refuse_file(path_, fmt::format("tensor \"{}\" has dtype \"{}\" and shape \"{}\": its bytes are not known",
                                       escape_control(t->name), escape_control(t->type), escape_control(t->shape)));
      gradients.push_back({t, ready(t->reductions[step]), *bytes});
    }
    std::stable_sort(gradients.begin(), gradients.end(),
                     [](const Gradient& a, const Gradient& b) { return a.ready_ns < b.ready_ns; });
    graph::Op forward;
    forward.name = "forward";
    std::int64_t at = gradients.front().ready_ns;
    if (step > 0) {
      const std::int64_t before = end_of(step - 1);
      forward.time = Duration::ns(between(before, at));
      if (at < before)
        report_.guessed.push_back(fmt::format(
            "the forward pass takes no time: the first gradient was ready {:.3f} ms before the step before it ended",
            static_cast<double>(before - at) * 1e-6));
    }
    g.ops.push_back(std::move(forward));
    double reducing_ms = 0;
    for (const Gradient& gradient : gradients) {
      const OpId id(g.ops.size());
      graph::Op op;
      op.name = fmt::format("backward of {}", gradient.tensor->name);
      op.phase = Phase::Backward;
      op.time = Duration::ns(between(at, gradient.ready_ns));
      op.inputs.emplace_back(g.ops.size() - 1);
      at = gradient.ready_ns;
      graph::Parameter p;
      p.name = gradient.tensor->name;
      p.bytes = Bytes(gradient.bytes);
      p.gradient = id;
      g.ops.front().reads.emplace_back(g.parameters.size());
      g.parameters.push_back(std::move(p));
      g.ops.push_back(std::move(op));
      const Reduction& r = gradient.tensor->reductions[step];
      reducing_ms += static_cast<double>(r.end_ns - r.begin_ns) * 1e-6;
    }
    report_.dropped.push_back(
        fmt::format("{:.3f} ms of all-reduces, summed over the tensors: the network gives it", reducing_ms));
    report_.guessed.emplace_back(
        "the forward pass lasts from the end of the last all-reduce of the step before to the "
        "first gradient: update and input are in it");
    if (unmarked_ > 0)
      report_.guessed.push_back(
          fmt::format("{} gradients have no mark of rank 0: ready when the first rank was", unmarked_));
  }

  std::int64_t between(std::int64_t from, std::int64_t to) const {
    const std::int64_t length = std::max<std::int64_t>(0, to - from);
    if (length > kLongestNs) refuse_file(path_, "an hour or more lies between two gradients", "is the file damaged?");
    return length;
  }

  void describe_ranks() {
    std::map<std::int64_t, std::pair<double, std::size_t>> late;  // by rank: sum in ms, number
    for (const Tensor* t : tensors_)
      for (const Reduction& r : t->reductions) {
        if (r.ready_ns.size() < 2) continue;
        std::int64_t first = r.ready_ns.begin()->second;
        for (const auto& [rank, at] : r.ready_ns) first = std::min(first, at);
        for (const auto& [rank, at] : r.ready_ns) {
          late[rank].first += static_cast<double>(at - first) * 1e-6;
          ++late[rank].second;
        }
      }
    if (late.empty()) return;
    const auto mean = [](const auto& entry) { return entry.second.first / static_cast<double>(entry.second.second); };
    const auto worst =
        std::max_element(late.begin(), late.end(), [&](const auto& a, const auto& b) { return mean(a) < mean(b); });
    report_.read.push_back(
        fmt::format("readiness of {} ranks; the latest is rank {}, {:.3f} ms after the first on the "
                    "mean",
                    late.size(), worst->first, mean(*worst)));
  }

  const Reader& in_;
  const std::string& path_;
  ImportReport& report_;
  std::vector<const Tensor*> tensors_;
  std::size_t steps_ = 0;
  std::size_t unmarked_ = 0;
};

}  // namespace

bool is_horovod(std::string_view text) {
  const std::string_view head = text.substr(0, kHead);
  const std::size_t start = head.find_first_not_of(" \t\r\n");
  const auto has = [&](std::string_view part) { return head.find(part) != std::string_view::npos; };
  return start != std::string_view::npos && head[start] == '[' && has("\"process_name\"") &&
         (has("\"NEGOTIATE_") || has("\"ALLREDUCE\""));
}

ImportResult import_horovod(const std::string& text, const std::string& path, const ImportOptions& options) {
  ImportResult result;
  Reader reader;
  result.report.repaired = json::read_repaired(
      text, path, [&](const json::Value& root) { reader.read(root); }, [&] { reader = {}; });
  const graph::Graph& g = result.graph;
  Builder(reader, path, result.report).build(result.graph);
  finish_graph(result, path, options, {"horovod", "Horovod timeline", "timeline"});
  Bytes bytes;
  for (const graph::Parameter& p : g.parameters) bytes = bytes + p.bytes;
  result.report.read.push_back(
      fmt::format("{} events; {} gradients of {} bytes", reader.events, g.parameters.size(), bytes.count()));
  return result;
}

}  // namespace stretto::io
