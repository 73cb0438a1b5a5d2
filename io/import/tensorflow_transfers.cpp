// SPDX-License-Identifier: Apache-2.0
#include "io/import/tensorflow_transfers.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "io/import/common.hpp"

namespace stretto::io {

namespace {

enum class Kind { Pull, Gradient, ToWorker, ToServer };

// One output of a node that goes to another task.
struct Crossing {
  Kind kind = Kind::Pull;
  std::uint32_t node = 0;
  std::int32_t slot = 0;
  std::int32_t variable = -1;
  std::optional<std::int64_t> bytes;  // as the graph says
};

struct Count {
  std::size_t crossings = 0;
  std::size_t recorded = 0;
  std::int64_t bytes = 0;  // recorded; by the graph without a trace
};

class Transfers {
 public:
  Transfers(const TfTransferCheck& check, ImportReport& report) : in_(check), report_(report) {}

  void run() {
    collect();
    if (in_.trace != nullptr) match();
    write();
  }

 private:
  const TfNode& node(std::uint32_t i) const { return in_.graph.nodes[i]; }

  void collect() {
    std::map<std::pair<std::uint32_t, std::int32_t>, std::int32_t> gradients;
    for (std::size_t v = 0; v < in_.variables.list.size(); ++v)
      if (const auto& g = in_.variables.list[v].gradient)
        gradients.emplace(std::pair(g->node, g->slot), static_cast<std::int32_t>(v));
    std::set<std::tuple<std::uint32_t, std::int32_t, std::int64_t>> seen;  // node, slot, server
    std::map<std::int32_t, std::set<std::uint32_t>> reads;                 // nodes by variable
    for (std::uint32_t i = 0; i < in_.graph.nodes.size(); ++i) {
      if (!in_.in_step[i]) continue;
      const bool to_server = node(i).device.is_server();
      for (const TfInput& input : node(i).inputs) {
        const bool from_server = node(input.node).device.is_server();
        if (input.control) {
          signals_ += from_server != to_server ? 1U : 0U;
          continue;
        }
        if (from_server == to_server) {
          between_servers_ += from_server && !node(input.node).device.same_task(node(i).device) ? 1U : 0U;
          continue;
        }
        const std::int64_t task = to_server ? node(i).device.task : node(input.node).device.task;
        if (!seen.emplace(input.node, input.slot, task).second) continue;
        Crossing c;
        c.node = input.node;
        c.slot = input.slot;
        c.kind = to_server ? Kind::ToServer : Kind::ToWorker;
        if (!to_server && in_.variables.value_of[input.node] >= 0) {
          c.kind = Kind::Pull;
          c.variable = in_.variables.value_of[input.node];
          reads[c.variable].insert(input.node);
        } else if (const auto g = gradients.find({input.node, input.slot}); to_server && g != gradients.end()) {
          c.kind = Kind::Gradient;
          c.variable = g->second;
        }
        if (c.variable >= 0)
          c.bytes = in_.variables.list[static_cast<std::size_t>(c.variable)].bytes;
        else if (const auto& shapes = node(c.node).output_shapes; static_cast<std::size_t>(c.slot) < shapes.size())
          if (const auto n = element_count(shapes[static_cast<std::size_t>(c.slot)]);
              n && type_bytes(node(c.node).type) > 0)
            c.bytes = *n * type_bytes(node(c.node).type);
        crossings_.push_back(c);
      }
    }
    for (const auto& [variable, nodes] : reads) read_more_ += nodes.size() > 1 ? 1U : 0U;
  }

  void match() {
    // By tensor and direction; the records of one node's outputs differ in size only.
    std::map<std::pair<std::string, bool>, std::multiset<std::int64_t>> records;
    for (const TfTransfer& t : in_.trace->transfers) {
      if (t.from.is_server() == t.to.is_server()) continue;
      const TfDevice& other = t.from.is_server() ? t.to : t.from;
      if (!in_.worker.job.empty() && !other.same_task(in_.worker)) continue;
      records[{t.tensor, t.to.is_server()}].insert(t.bytes.count());
    }
    for (const Crossing& c : crossings_) {
      const bool to_server = c.kind == Kind::Gradient || c.kind == Kind::ToServer;
      const auto it = records.find({node(c.node).name, to_server});
      Count& count = counts_[c.kind];
      ++count.crossings;
      if (it == records.end() || it->second.empty()) continue;
      auto record = c.bytes ? it->second.find(*c.bytes) : it->second.begin();
      if (record == it->second.end()) {
        record = it->second.begin();
        if (c.kind == Kind::Pull)
          refuse_file(
              in_.path,
              fmt::format("variable \"{}\" has {} bytes by the graph, but {} bytes were received",
                          node(in_.variables.list[static_cast<std::size_t>(c.variable)].node).name, *c.bytes, *record),
              "trace and graph must be of the same program");
        ++other_sizes_;
      }
      ++count.recorded;
      count.bytes += *record;
      it->second.erase(record);
    }
    for (const auto& [key, sizes] : records) strangers_ += sizes.size();
  }

  void write() {
    if (in_.trace == nullptr)
      for (const Crossing& c : crossings_) {
        Count& count = counts_[c.kind];
        ++count.crossings;
        count.bytes += c.bytes.value_or(0);
      }
    const auto text = [&](Kind kind, std::string_view what) {
      const Count& c = counts_[kind];
      if (in_.trace == nullptr) return fmt::format("{} {} with {} bytes", c.crossings, what, c.bytes);
      return fmt::format("{} {}, {} of them recorded with {} bytes", c.crossings, what, c.recorded, c.bytes);
    };
    report_.read.push_back(text(Kind::Pull, "pulls (worker receives a variable)"));
    report_.read.push_back(text(Kind::Gradient, "pushes (server receives a gradient)"));
    report_.read.push_back(stateful());
    std::size_t missing = 0;
    for (const auto& [kind, c] : counts_) missing += in_.trace != nullptr ? c.crossings - c.recorded : 0;
    if (missing > 0)
      report_.guessed.push_back(
          fmt::format("{} transfers have no record: {} pulls, {} pushes, {} others; sizes are from the graph", missing,
                      lacking(Kind::Pull), lacking(Kind::Gradient), lacking(Kind::ToWorker) + lacking(Kind::ToServer)));
    if (counts_[Kind::ToServer].crossings > 0)
      report_.dropped.push_back(text(Kind::ToServer, "other tensors to servers (statistics, rates, constants)"));
    if (counts_[Kind::ToWorker].crossings > 0)
      report_.dropped.push_back(text(Kind::ToWorker, "other tensors to the worker, computed on servers") +
                                "; their time is left out");
    note(signals_, "control edges between worker and servers, as transfers; the dependencies stay");
    note(between_servers_, "tensors from one server to another");
    note(strangers_, "received tensors that the graph does not explain");
    if (read_more_ > 0)
      report_.guessed.push_back(
          fmt::format("{} variables are read through more than one node; each counts as one pull", read_more_));
    if (other_sizes_ > 0)
      report_.guessed.push_back(
          fmt::format("{} tensors were received with other bytes than the graph says", other_sizes_));
  }

  std::size_t lacking(Kind kind) { return counts_[kind].crossings - counts_[kind].recorded; }

  void note(std::size_t n, std::string_view what) {
    if (n > 0) report_.dropped.push_back(fmt::format("{} {}", n, what));
  }

  // Pulled variables that no gradient updates.
  std::string stateful() const {
    std::set<std::int32_t> found;
    std::int64_t bytes = 0;
    for (const Crossing& c : crossings_)
      if (c.kind == Kind::Pull && !in_.variables.list[static_cast<std::size_t>(c.variable)].gradient)
        if (found.insert(c.variable).second) bytes += c.bytes.value_or(0);
    return fmt::format("{} pulled variables without a gradient (as moving averages) with {} bytes", found.size(),
                       bytes);
  }

  const TfTransferCheck& in_;
  ImportReport& report_;
  std::vector<Crossing> crossings_;
  std::map<Kind, Count> counts_;
  std::size_t signals_ = 0;
  std::size_t between_servers_ = 0;
  std::size_t strangers_ = 0;
  std::size_t read_more_ = 0;
  std::size_t other_sizes_ = 0;
};

}  // namespace

void describe_transfers(const TfTransferCheck& check, ImportReport& report) { Transfers(check, report).run(); }

}  // namespace stretto::io
