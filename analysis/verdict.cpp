// SPDX-License-Identifier: Apache-2.0
#include "analysis/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/words.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::analysis {

namespace {

constexpr double kFull = 0.9;         // a resource used this much has nothing left to give
constexpr double kNoticeable = 0.01;  // gains below this are not worth an action
constexpr double kAtBound = 0.0005;   // a gap that prints as 0.0 %
constexpr double kHeavy = 1.1;        // a server with this multiple of the mean load is called the heaviest
constexpr std::size_t kChangesListed = 4;
constexpr double kStraggle = 0.1;  // waiting for the last worker is worth a sentence from here on
constexpr double kDrift = 0.05;    // trend of a run that has not settled

constexpr std::array kKinds{ResourceKind::Device,        ResourceKind::WorkerNicUp,   ResourceKind::WorkerNicDown,
                            ResourceKind::ServerNicUp,   ResourceKind::ServerNicDown, ResourceKind::ServerThreads,
                            ResourceKind::WorkerThreads, ResourceKind::CopyEngine,    ResourceKind::Fabric,
                            ResourceKind::Inside};

bool is_server(ResourceKind kind) {
  return kind == ResourceKind::ServerNicUp || kind == ResourceKind::ServerNicDown ||
         kind == ResourceKind::ServerThreads;
}

const char* plural(ResourceKind kind) {
  switch (kind) {
    case ResourceKind::Device:
      return "devices are busy";
    case ResourceKind::WorkerNicUp:
      return "worker NICs (up) are full";
    case ResourceKind::WorkerNicDown:
      return "worker NICs (down) are full";
    case ResourceKind::ServerNicUp:
      return "server NICs (up) are full";
    case ResourceKind::ServerNicDown:
      return "server NICs (down) are full";
    case ResourceKind::ServerThreads:
      return "servers' threads are busy";
    case ResourceKind::WorkerThreads:
      return "workers' threads are busy";
    case ResourceKind::CopyEngine:
      return "copy engines are busy";
    case ResourceKind::Fabric:
      return "links between switches are full";
    case ResourceKind::Inside:
      return "links inside hosts are full";
  }
  return "resources are full";
}

// Without decimals, but nothing below 100 % is rounded up to it.
std::string whole_percent(double fraction) {
  return fraction >= 0.995 && fraction < 1 ? percent(std::min(fraction, 0.999))
                                           : fmt::format("{:.0f} %", fraction * 100);
}

std::vector<const ResourceUse*> of_kind(const PolicyResult& result, ResourceKind kind) {
  std::vector<const ResourceUse*> found;
  for (const ResourceUse& r : result.resources)
    if (r.kind == kind) found.push_back(&r);
  return found;
}

// Both directions of one host's NIC, or of a link between switches. The i-th resource of an up kind and the i-th of its
// down kind belong to one host.
struct NicUse {
  const ResourceUse* up = nullptr;
  const ResourceUse* down = nullptr;
  double both() const { return up->utilisation + down->utilisation; }
};

NicUse busiest_nic(const PolicyResult& result) {
  NicUse best;
  for (const auto& [up_kind, down_kind] : {std::pair{ResourceKind::ServerNicUp, ResourceKind::ServerNicDown},
                                           std::pair{ResourceKind::WorkerNicUp, ResourceKind::WorkerNicDown}}) {
    const auto ups = of_kind(result, up_kind);
    const auto downs = of_kind(result, down_kind);
    for (std::size_t i = 0; i < std::min(ups.size(), downs.size()); ++i) {
      const NicUse nic{ups[i], downs[i]};
      if (best.up == nullptr || nic.both() > best.both()) best = nic;
    }
  }
  const auto fabric = of_kind(result, ResourceKind::Fabric);
  for (const ResourceUse* there : fabric) {
    const auto back =
        std::find_if(fabric.begin(), fabric.end(), [&](const auto* r) { return r->name == there->opposite; });
    if (back == fabric.end()) continue;
    const NicUse link{there, *back};
    if (best.up == nullptr || link.both() > best.both()) best = link;
  }
  return best;
}

// What the messages of one direction mostly wait for. The wire's own share is no wait: it is the transfer itself.
std::string largest_wait(const Waits& waits, const char* direction) {
  const std::array<std::pair<double, const char*>, 6> stages{{
      {waits.wire_own, "moving their own bytes"},
      {waits.wire_shared, "sharing their route with other transfers"},
      {waits.turn, "waiting for their turn under the order"},
      {waits.sender_not_ready, "waiting for the sender to have the tensor"},
      {waits.service, "in service at the two ends (cost per message)"},
      {waits.wire_queue, "waiting for a slot of their connection"},
  }};
  double sum = 0;
  for (const auto& [seconds, words] : stages) sum += seconds;
  if (sum <= 0) return "";
  const auto& [seconds, words] =
      *std::max_element(stages.begin(), stages.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return fmt::format(" {} spend {} of their time {}.", direction, whole_percent(seconds / sum), words);
}

std::string server_sentence(const PolicyResult& result) {
  if (result.servers.empty()) return "";
  const auto heaviest = std::max_element(result.servers.begin(), result.servers.end(),
                                         [](const ServerLoad& a, const ServerLoad& b) { return a.bytes < b.bytes; });
  double total = 0;
  for (const ServerLoad& s : result.servers) total += static_cast<double>(s.bytes);
  const auto bytes = static_cast<double>(heaviest->bytes);
  const auto largest = static_cast<double>(heaviest->largest_bytes);
  const std::string parameter = fmt::format("{} ({})", escape_control(heaviest->largest), bytes_text(largest));
  if (result.servers.size() == 1)
    return fmt::format(" {} holds all {}; its largest parameter is {}.", escape_control(heaviest->name),
                       bytes_text(total), parameter);
  if (bytes < kHeavy * total / static_cast<double>(result.servers.size()))
    return fmt::format(" The {} servers hold about the same, {} at most.", result.servers.size(), bytes_text(bytes));
  const bool one_cause = 2 * largest >= bytes;
  return fmt::format(" {} is the heaviest, {} of {} ({}), {} {}.", escape_control(heaviest->name), bytes_text(bytes),
                     bytes_text(total), whole_percent(bytes / total),
                     one_cause ? "because it holds" : "its largest parameter is", parameter);
}

std::string worker_sentence(const PolicyResult& result) {
  double total = 0;
  for (const ServerLoad& s : result.servers) total += static_cast<double>(s.bytes);
  return total > 0 ? fmt::format(" Every worker must move all {}, wherever they live.", bytes_text(total)) : "";
}

std::string cause_sentence(const PolicyResult& result, ResourceKind kind) {
  if (is_server(kind)) return server_sentence(result);
  if (kind == ResourceKind::WorkerNicUp || kind == ResourceKind::WorkerNicDown) return worker_sentence(result);
  return "";
}

const ResourceUse* busiest_of(const std::vector<const ResourceUse*>& group) {
  const auto most = std::max_element(group.begin(), group.end(),
                                     [](const auto* a, const auto* b) { return a->utilisation < b->utilisation; });
  return most == group.end() ? nullptr : *most;
}

// Other kinds of resources that are full too: then no single one is the cause.
std::string also_full(const PolicyResult& result, ResourceKind named) {
  std::vector<std::string> others;
  for (const ResourceKind kind : kKinds) {
    const ResourceUse* most = busiest_of(of_kind(result, kind));
    if (kind != named && most != nullptr && most->utilisation >= kFull)
      others.push_back(fmt::format("{} ({})", escape_control(most->name), whole_percent(most->utilisation)));
  }
  if (others.empty()) return "";
  std::string text = others.size() == 1 ? " So is " : " So are ";
  for (std::size_t i = 0; i < others.size(); ++i)
    text += (i == 0 ? "" : i + 1 == others.size() ? " and " : ", ") + others[i];
  return text + ".";
}

std::string full_sentence(const PolicyResult& result, const ResourceUse& busiest) {
  const auto group = of_kind(result, busiest.kind);
  double least = busiest.utilisation;
  for (const ResourceUse* r : group) least = std::min(least, r->utilisation);
  if (group.size() > 1 && least >= kFull) {
    const std::string low = whole_percent(least);
    const std::string high = whole_percent(busiest.utilisation);
    return fmt::format("All {} {} {} of the step.", group.size(), plural(busiest.kind),
                       low == high ? low : low + " to " + high);
  }
  const bool busy = busiest.kind == ResourceKind::Device || busiest.kind == ResourceKind::ServerThreads ||
                    busiest.kind == ResourceKind::WorkerThreads || busiest.kind == ResourceKind::CopyEngine;
  std::string text = fmt::format("{} {} {} of the step", escape_control(busiest.name), busy ? "is busy" : "is full",
                                 whole_percent(busiest.utilisation));
  if (group.size() > 1)
    text += fmt::format(" (the least used of the {} alike: {})", group.size(), whole_percent(least));
  return text + ".";
}

std::string make_up(const PolicyResult& result) {
  if (result.resources.empty()) return "";
  const ResourceUse& busiest =
      *std::max_element(result.resources.begin(), result.resources.end(),
                        [](const ResourceUse& a, const ResourceUse& b) { return a.utilisation < b.utilisation; });
  if (busiest.utilisation >= kFull)
    return full_sentence(result, busiest) + also_full(result, busiest.kind) + cause_sentence(result, busiest.kind);

  double compute = 0;
  for (const ResourceUse* r : of_kind(result, ResourceKind::Device)) compute = std::max(compute, r->utilisation);
  const NicUse nic = busiest_nic(result);
  if (!result.all_reduce && nic.up != nullptr && nic.both() >= kFull)
    return fmt::format(
               "The network is what the step waits for: pulls, then pushes: {} is used {} and {} {} of the step; the "
               "devices compute {}, partly meanwhile.",
               escape_control(nic.up->name), whole_percent(nic.up->utilisation), escape_control(nic.down->name),
               whole_percent(nic.down->utilisation), whole_percent(compute)) +
           cause_sentence(result, nic.up->kind);

  std::string text = fmt::format("Nothing is full: the devices compute {} of the step", whole_percent(compute));
  if (busiest.kind != ResourceKind::Device)
    text += fmt::format(", the busiest resource ({}) is used {}", escape_control(busiest.name),
                        whole_percent(busiest.utilisation));
  return text + "." + largest_wait(result.pull_waits, result.all_reduce ? "All-gathers" : "Pulls") +
         largest_wait(result.push_waits, result.all_reduce ? "Collectives of gradients" : "Pushes");
}

std::string change_text(const WhatIf& w) {
  return fmt::format("{}: {}", escape_control(w.change), signed_percent(w.gain));
}

// Changes of layout and order come first: they cost nothing.
std::string help_sentence(const PolicyResult& result) {
  if (result.what_if.empty()) return "";
  std::vector<const WhatIf*> changes;
  for (const WhatIf& w : result.what_if) changes.push_back(&w);
  std::stable_sort(changes.begin(), changes.end(), [](const auto* a, const auto* b) { return a->gain > b->gain; });
  if (changes.front()->gain < kNoticeable)
    return fmt::format(" None of the {} changes tried gains 1 % (most: {}).", changes.size(),
                       change_text(*changes.front()));
  std::string free;
  std::string others;
  std::size_t listed = 0;
  for (const WhatIf* w : changes) {
    if (w->gain < kNoticeable) break;
    if (w->kind == ChangeKind::Hardware || w->kind == ChangeKind::Mode) {
      if (listed++ < kChangesListed) others += (others.empty() ? "" : "; ") + change_text(*w);
    } else if (!free.empty()) {
      free += "; " + change_text(*w);
    } else {
      free = change_text(*w);
      if (const double bound = result.lower_bound_any_layout_s.value.value_or(0); bound > 0) {
        const double left = result.step_time.estimate.mean / (1 + w->gain) / bound - 1;
        free += fmt::format(
            " (at most {} is left after that for any layout and order on this "
            "hardware, in this training mode)",
            percent(std::max(0.0, left)));
      }
    }
  }
  const std::string text = free.empty() ? "" : " What helps without new hardware: " + free + ".";
  if (others.empty()) return text;
  return text + fmt::format(" What{} helps: {}.", text.empty() ? "" : " else", others);
}

std::string not_tried_sentence(const PolicyResult& result) {
  std::string text;
  for (const NotTried& n : result.not_tried)
    text += fmt::format("{}{} ({})", text.empty() ? " Not tried: " : "; ", escape_control(n.change),
                        escape_control(n.reason));
  return text.empty() ? text : text + ".";
}

std::string order_sentence(const PolicyResult& result, std::span<const PolicyResult> point) {
  const double time = result.step_time.estimate.mean;
  const PolicyResult* fastest = nullptr;
  for (const PolicyResult& other : point)
    if (!other.deadlock && other.step_time.estimate.mean > 0 &&
        (fastest == nullptr || other.step_time.estimate.mean < fastest->step_time.estimate.mean))
      fastest = &other;
  const double behind = fastest != nullptr ? time / fastest->step_time.estimate.mean - 1 : 0;
  const bool slower = fastest != nullptr && fastest->policy != result.policy && behind >= kNoticeable;

  std::string limit;
  if (result.gap.value) {
    const std::string bound = result.lower_bound_name.empty() ? "lower bound" : escape_control(result.lower_bound_name);
    if (*result.gap.value < kAtBound)
      return fmt::format(" Another order of this layout cannot help: the step is at the {}.", bound);
    if (*result.gap.value < kNoticeable)
      return fmt::format(" Another order of this layout cannot help: the step is within {} of the {}.",
                         percent(std::max(0.0, *result.gap.value)), bound);
    limit = fmt::format("no order of this layout can gain more than {} ({})", percent(*result.gap.value), bound);
  } else {
    limit = "what the best order would gain is not known";
    if (!result.gap.reason.empty()) limit += " (" + escape_control(result.gap.reason) + ")";
  }
  if (slower)
    return fmt::format(" Another policy helps: {} is {} faster; {}.", escape_control(fastest->policy), percent(behind),
                       limit);
  limit.front() = limit.front() == 'n' ? 'N' : 'W';
  return fmt::format(" {}.", limit);
}

std::string warnings(const PolicyResult& result) {
  std::string text;
  if (result.straggler_effect.value.value_or(0) >= kStraggle)
    text += fmt::format(" The first worker waits {} of the step for the last one.",
                        whole_percent(*result.straggler_effect.value));
  if (std::abs(result.step_time.trend) >= kDrift)
    text += fmt::format(" Steps drift: the last third takes {} against the first, so the mean is no steady state.",
                        signed_percent(result.step_time.trend));
  return text;
}

}  // namespace

std::string verdict(const PolicyResult& result, std::span<const PolicyResult> point) {
  if (result.deadlock) return "The step cannot finish (deadlock): " + escape_control(*result.deadlock);
  std::string text = make_up(result) + help_sentence(result) + not_tried_sentence(result) +
                     order_sentence(result, point) + warnings(result);
  if (!text.empty() && text.front() == ' ') text.erase(0, 1);
  return text;
}

}  // namespace stretto::analysis
