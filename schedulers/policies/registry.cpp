// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "schedulers/policies/all_reduce.hpp"
#include "schedulers/policies/by_layer.hpp"
#include "schedulers/policies/critical_path.hpp"
#include "schedulers/policies/fifo.hpp"
#include "schedulers/policies/named.hpp"
#include "schedulers/policies/random.hpp"
#include "schedulers/policies/staggered.hpp"
#include "schedulers/policies/tac.hpp"
#include "schedulers/policies/tic.hpp"
#include "schedulers/policies/wfbp.hpp"
#include "sim/base/assert.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::policies {

namespace {

constexpr PolicyOption kFile{"file", "", "path, relative to the file that says it; {policy: PATH} is short for it"};

const std::vector<Policy>& table() {
  static const std::vector<Policy> kTable{
      {"random",
       "a fresh random order for every worker and step, as TensorFlow does",
       {},
       make_random,
       Shared::Partition},
      {"fixed_random", "one random order for all workers and steps", {}, make_fixed_random},
      {"fifo", "order of first use in the graph", {}, make_fifo},
      {"reverse", "fifo backwards, an easy bad case", {}, make_reverse},
      {"tic",
       "TicTac from the graph's structure alone",
       {{"ties", "name random", "what decides between equal priorities"}},
       make_tic},
      {"tac", "TicTac with op times and transfer times", {}, make_tac},
      {"layer_priority",
       "slices by the layer that uses them first, pulls and pushes, under a credit",
       {},
       make_fifo,
       Shared::All,
       {{"discipline", "credit"}, {"credit", "16 MiB"}, {"partition", "4 MiB"}, {"direction", "both"}}},
      {"p3",
       "P3: slices by layer, both ways, dealt over the servers; about one waits below the queue",
       {{"placement", "p3 experiment", "where the slices lie"}},
       make_by_layer,
       Shared::All,
       {{"discipline", "credit"}, {"credit", "400 kB"}, {"partition", "200 kB"}, {"direction", "both"}},
       FileKind::None,
       "p3",
       For::Servers},
      {"bytescheduler",
       "ByteScheduler: partitions by layer, both ways, under a credit; larger ones for all-reduce",
       {},
       make_fifo,
       Shared::All,
       {{"discipline", "credit"}, {"credit", "16 MB"}, {"partition", "4 MB"}, {"direction", "both"}},
       FileKind::None,
       {},
       For::Both,
       nullptr,
       {{"credit", "64 MB"}, {"partition", "32 MB"}}},
      {"byteps",
       "BytePS: partitions by layer, both ways; one larger than the credit left is skipped",
       {{"placement", "hash experiment", "where the partitions lie"}},
       make_by_layer,
       Shared::All,
       {{"discipline", "credit_skip"}, {"credit", "16384 kB"}, {"partition", "4096 kB"}, {"direction", "both"}},
       FileKind::None,
       "hash",
       For::Servers},
      {"wfbp",
       "Poseidon's wait-free backpropagation: what is ready goes, first come, first served, both ways",
       {},
       make_wfbp,
       Shared::Partition,
       {},
       FileKind::None,
       {},
       For::Both,
       fuse_nothing},
      {"critical_path", "the longest path of compute behind a transfer goes first", {}, make_critical_path},
      {"staggered",
       "fifo, and groups of workers start one after the other",
       {{"group", "", "workers that start together; default: those with the shortest step", OptionKind::Count, 1,
         1'000'000},
        {"offset", "", "from one group's start to the next; default: the time of a group's pulls",
         OptionKind::Duration}},
       make_staggered,
       Shared::All,
       {},
       FileKind::None,
       {},
       For::Servers},
      {"mg_wfbp",
       "all-reduce: gradients merged where waiting for the next costs less than another start",
       {},
       make_wfbp,
       Shared::None,
       {},
       FileKind::None,
       {},
       For::AllReduce,
       fuse_merged},
      {"dear",
       "all-reduce: reduce-scatter behind backward, all-gather before forward, first layers first",
       {},
       make_fifo,
       Shared::None,
       {},
       FileKind::None,
       {},
       For::AllReduce,
       fuse_split},
      {"order_file",
       "the order of a file: one line per parameter, name TAB priority",
       {kFile, {"missing", "free error", "what becomes of parameters that the file leaves out"}},
       make_order_file,
       Shared::All,
       {},
       FileKind::Order},
      {"recorded",
       "one of the recorded arrival orders of a file for every worker and step",
       {kFile},
       make_recorded,
       Shared::Partition,
       {},
       FileKind::Recorded},
      {"schedule",
       "the plan of a schedule file: placement, partition and order",
       {kFile},
       nullptr,
       Shared::None,
       {},
       FileKind::Schedule},
  };
  return kTable;
}

constexpr std::int64_t kMostOffset = 3'600'000'000'000'000;  // one hour, in ps

std::vector<std::string> split(std::string_view words) {
  std::vector<std::string> result;
  while (!words.empty()) {
    const auto end = std::min(words.find(' '), words.size());
    result.emplace_back(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return result;
}

}  // namespace

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::span<const Policy> policies() { return table(); }

std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const Policy& policy : table()) names.emplace_back(policy.name);
  return names;
}

const Policy& find_policy(std::string_view name) {
  for (const Policy& policy : table())
    if (policy.name == name) return policy;
  throw UserError(fmt::format("there is no policy '{}'", name), name_hint(name, policy_names()));
}

void check_options(const Policy& policy, const PolicyOptions& options) {
  std::vector<Diagnostic> wrong;
  const auto report = [&](std::string message, std::string hint) {
    wrong.push_back({Severity::Error, {}, "", std::move(message), std::move(hint)});
  };
  std::vector<std::string> names;
  for (const PolicyOption& option : policy.options) names.emplace_back(option.name);
  for (const auto& [name, value] : options) {
    const PolicyOption* known = nullptr;
    for (const PolicyOption& option : policy.options)
      if (option.name == name) known = &option;
    if (known == nullptr) {
      report(fmt::format("policy {} has no option '{}'", policy.name, name),
             names.empty() ? "it takes no options" : name_hint(name, names));
      continue;
    }
    if (known->kind != OptionKind::Text) {
      const auto number = number_of(value);
      const std::int64_t low = known->kind == OptionKind::Count ? known->low : 0;
      const std::int64_t high = known->kind == OptionKind::Count ? known->high : kMostOffset;
      if (!number || *number < low || *number > high)
        report(fmt::format("option {} of policy {} is '{}'", name, policy.name, value),
               fmt::format("valid: {} to {}{}", low, high, known->kind == OptionKind::Count ? "" : " ps"));
      continue;
    }
    const auto values = split(known->values);
    bool valid = values.empty();
    for (const std::string& v : values) valid = valid || v == value;
    if (!valid)
      report(fmt::format("option {} of policy {} is '{}'", name, policy.name, value), name_hint(value, values));
  }
  if (!wrong.empty()) throw UserError(std::move(wrong));
}

plan::Order make_order(std::string_view name, const PolicyInput& input, const PolicyOptions& options) {
  const Policy& policy = find_policy(name);
  check_options(policy, options);
  STRETTO_ASSERT(policy.make != nullptr, "policy {} makes no order", policy.name);
  return policy.make(input, options);
}

}  // namespace stretto::policies
