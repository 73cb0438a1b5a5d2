// SPDX-License-Identifier: Apache-2.0
#include "validation/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "io/export/chrome_trace.hpp"
#include "io/export/step_trace.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::validation {

namespace {

Time at_ms(double ms) { return Time() + Duration::seconds(std::max(0.0, ms) * 1e-3); }

double length(const std::vector<WorkerStep>& step) {
  double most = 0;
  for (const WorkerStep& w : step) most = std::max(most, w.step_ms);
  return most;
}

const std::vector<WorkerStep>& median_step(const Cell& cell) {
  std::vector<std::size_t> index(cell.steps.size());
  for (std::size_t i = 0; i < index.size(); ++i) index[i] = i;
  std::stable_sort(index.begin(), index.end(),
                   [&](std::size_t a, std::size_t b) { return length(cell.steps[a]) < length(cell.steps[b]); });
  return cell.steps[index[index.size() / 2]];
}

class Measured {
 public:
  Measured(const experiment::Setup& setup, const plan::Plan& plan) : setup_(setup), plan_(plan) {}

  std::vector<io::Span> spans(const std::vector<WorkerStep>& step) {
    double begin = step.front().start_ms;
    for (const WorkerStep& w : step) begin = std::min(begin, w.start_ms);
    for (std::size_t i = 0; i < step.size(); ++i) {
      const std::string process = fmt::format("measured: worker {}", i);
      const double offset = step[i].start_ms - begin;
      for (const OpTime& op : step[i].ops)
        spans_.push_back({process, "device", op.op, at_ms(offset + op.start_ms), at_ms(offset + op.end_ms), {}});
      transfers(process, "pulls from", offset, step[i].pulls);
      transfers(process, "pushes to", offset, step[i].pushes);
    }
    return std::move(spans_);
  }

 private:
  void transfers(const std::string& process, const char* track, double offset, const std::vector<Arrival>& arrivals) {
    std::map<std::uint32_t, double> last;
    for (const Arrival& arrival : arrivals) {
      if (arrival.transfer >= plan_.layout.transfers.size())
        throw UserError(fmt::format("the measurement has a transfer {}, of which there is none", arrival.transfer));
      const plan::Transfer& t = plan_.layout.transfers[arrival.transfer];
      const auto [before, first] = last.try_emplace(t.server, 0.0);
      spans_.push_back({process,
                        fmt::format("{} server {}", track, t.server),
                        setup_.graph->parameters[t.parameter.index()].name,
                        at_ms(offset + before->second),
                        at_ms(offset + std::max(arrival.ms, before->second)),
                        {{"bytes", std::to_string(t.bytes.count())}, {"slice", std::to_string(t.slice)}}});
      before->second = std::max(arrival.ms, before->second);
    }
  }

  const experiment::Setup& setup_;
  const plan::Plan& plan_;
  std::vector<io::Span> spans_;
};

}  // namespace

std::string write_timeline(const experiment::Setup& setup, const plan::Plan& plan,
                           const experiment::StepRecords& predicted, const Cell& measured) {
  std::vector<io::Span> spans =
      io::step_spans(*setup.graph, setup.cluster, plan.layout, predicted.compiled, predicted.records);
  for (io::Span& span : spans) span.process = "predicted: " + span.process;
  for (io::Span& span : Measured(setup, plan).spans(median_step(measured))) spans.push_back(std::move(span));
  return io::write_chrome_trace(spans);
}

}  // namespace stretto::validation
