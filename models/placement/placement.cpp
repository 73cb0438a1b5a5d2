// SPDX-License-Identifier: Apache-2.0
#include "models/placement/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <queue>

#include "sim/base/assert.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::placement {

namespace {

using graph::Graph;
using graph::Parameter;
using graph::ParameterId;

constexpr std::int64_t kElement = 4;  // bytes of a float32
__extension__ using Wide = __int128;

constexpr std::int64_t kMaxTransfers = 20'000'000;  // of one layout; a typing error, not a plan

// Builds a layout parameter by parameter, in creation order.
class Builder {
 public:
  explicit Builder(std::uint32_t servers) {
    layout_.servers = servers;
    layout_.first.push_back(0);
  }
  void slice(Bytes bytes, std::uint32_t server) {
    layout_.transfers.push_back({parameter(), slices_++, bytes, server});
  }
  void end_parameter() {
    layout_.first.push_back(static_cast<std::uint32_t>(layout_.transfers.size()));
    slices_ = 0;
  }
  plan::Layout take() { return std::move(layout_); }

 private:
  ParameterId parameter() const { return ParameterId(layout_.first.size() - 1); }
  plan::Layout layout_;
  std::uint32_t slices_ = 0;
};

plan::Layout round_robin(const Graph& graph, const Hosts& hosts, const Options&) {
  const std::uint32_t servers = hosts.servers;
  Builder builder(servers);
  for (std::size_t i = 0; i < graph.parameters.size(); ++i) {
    builder.slice(graph.parameters[i].bytes, static_cast<std::uint32_t>(i % servers));
    builder.end_parameter();
  }
  return builder.take();
}

plan::Layout greedy(const Graph& graph, const Hosts& hosts, const Options&) {
  const std::uint32_t servers = hosts.servers;
  using Load = std::pair<Bytes, std::uint32_t>;
  std::priority_queue<Load, std::vector<Load>, std::greater<>> least;
  for (std::uint32_t s = 0; s < servers; ++s) least.emplace(Bytes(0), s);
  Builder builder(servers);
  for (const Parameter& parameter : graph.parameters) {
    const auto [load, server] = least.top();
    least.pop();
    least.emplace(load + parameter.bytes, server);
    builder.slice(parameter.bytes, server);
    builder.end_parameter();
  }
  return builder.take();
}

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// How one variable is cut: `parts` slices of `unit`-byte elements.
struct Cut {
  std::int64_t unit = 1;
  std::int64_t elements = 0;
  std::int64_t parts = 1;
};

Cut cut_of(Bytes bytes, std::uint32_t servers, const Options& options) {
  Cut cut;
  const bool whole_elements = bytes.count() % kElement == 0 && (!options.slice || options.slice->count() >= kElement);
  cut.unit = whole_elements ? kElement : 1;
  cut.elements = bytes.count() / cut.unit;
  cut.parts = options.slice ? divide_up(cut.elements, options.slice->count() / cut.unit)
                            : std::min<std::int64_t>(cut.elements, options.parts.value_or(servers));
  return cut;
}

plan::Layout partitioned(const Graph& graph, const Hosts& hosts, const Options& options) {
  const std::uint32_t servers = hosts.servers;
  if (options.parts && options.slice) throw UserError("partitioned takes either parts or slice, not both");
  if (options.parts && *options.parts == 0) throw UserError("parts is 0", "at least 1");
  if (options.slice && options.slice->count() < 1)
    throw UserError(fmt::format("slice is {} bytes", options.slice->count()), "at least 1 B");
  std::int64_t transfers = 0;
  for (const Parameter& parameter : graph.parameters) {
    transfers += cut_of(parameter.bytes, servers, options).parts;
    if (transfers > kMaxTransfers)
      throw UserError(fmt::format("the partition makes more than {} slices", kMaxTransfers), "use larger slices");
  }
  Builder builder(servers);
  std::uint32_t next = 0;
  for (const Parameter& parameter : graph.parameters) {
    const Cut cut = cut_of(parameter.bytes, servers, options);
    for (std::int64_t i = 0; i < cut.parts; ++i) {
      const auto elements = cut.elements / cut.parts + (i < cut.elements % cut.parts ? 1 : 0);
      builder.slice(Bytes(elements * cut.unit), next);
      next = (next + 1) % servers;
    }
    builder.end_parameter();
  }
  return builder.take();
}

plan::Layout by_name(const Graph& graph, const Hosts& hosts, const Options& options) {
  const std::uint32_t servers = hosts.servers;
  std::vector<Diagnostic> wrong;
  const auto report = [&](std::string message, std::string hint = "") {
    wrong.push_back({Severity::Error, {}, "", std::move(message), std::move(hint)});
  };
  std::vector<std::string> names;
  std::map<std::string_view, std::size_t> index;
  for (const Parameter& parameter : graph.parameters) {
    index.emplace(parameter.name, names.size());
    names.push_back(parameter.name);
  }
  std::vector<std::uint32_t> server(names.size(), servers);
  for (const auto& [name, where] : options.servers) {
    const auto found = index.find(name);
    if (found == index.end()) {
      const auto nearest = nearest_name(name, names);
      report("by_name places '" + name + "', but the workload has no such variable",
             nearest.empty() ? "" : "did you mean '" + nearest + "'?");
    } else if (where >= servers) {
      report(fmt::format("by_name places '{}' on server {}", name, where), fmt::format("0 to {}", servers - 1));
    } else if (server[found->second] != servers) {
      report(fmt::format("by_name places '{}' twice", name), "name each variable once");
    } else {
      server[found->second] = where;
    }
  }
  if (wrong.empty())
    for (std::size_t i = 0; i < names.size(); ++i)
      if (server[i] == servers) report(fmt::format("by_name does not place '{}'", names[i]), "name each variable once");
  if (!wrong.empty()) throw UserError(std::move(wrong));
  Builder builder(servers);
  for (std::size_t i = 0; i < names.size(); ++i) {
    builder.slice(graph.parameters[i].bytes, server[i]);
    builder.end_parameter();
  }
  return builder.take();
}

// Calls `slice`(number, bytes) for each slice of at most `most` bytes; the last one has the rest.
template <class F>
void cut(Bytes bytes, Bytes most, F&& slice) {
  std::uint32_t number = 0;
  for (std::int64_t left = bytes.count(); left > 0; left -= most.count())
    slice(number++, Bytes(std::min(left, most.count())));
}

void check_slices(const Graph& graph, std::optional<Bytes> most) {
  if (!most) return;
  if (most->count() < 1) throw UserError(fmt::format("slice is {} bytes", most->count()), "at least 1 B");
  std::int64_t transfers = 0;
  for (const Parameter& parameter : graph.parameters) {
    transfers += divide_up(parameter.bytes.count(), most->count());
    if (transfers > kMaxTransfers)
      throw UserError(fmt::format("the partition makes more than {} slices", kMaxTransfers), "use larger slices");
  }
}

std::uint64_t djb2(std::uint64_t key) {
  std::uint64_t hash = 5381;
  for (const char c : std::to_string(key)) hash = 33 * hash + static_cast<unsigned char>(c);
  return hash;
}

plan::Layout by_hash(const Graph& graph, const Hosts& hosts, const Options& options) {
  check_slices(graph, options.slice);
  Builder builder(hosts.servers);
  for (std::uint64_t v = 0; v < graph.parameters.size(); ++v) {
    const Bytes bytes = graph.parameters[v].bytes;
    cut(bytes, options.slice.value_or(bytes), [&](std::uint32_t i, Bytes part) {
      builder.slice(part, static_cast<std::uint32_t>(djb2((v << 16) + i) % hosts.servers));
    });
    builder.end_parameter();
  }
  return builder.take();
}

plan::Layout p3(const Graph& graph, const Hosts& hosts, const Options& options) {
  const Bytes most = options.slice.value_or(Bytes(200'000));
  check_slices(graph, most);
  Builder builder(hosts.servers);
  for (std::uint64_t v = 0; v < graph.parameters.size(); ++v) {
    const Bytes bytes = graph.parameters[v].bytes;
    if (bytes > most)
      cut(bytes, most, [&](std::uint32_t i, Bytes part) { builder.slice(part, i % hosts.servers); });
    else
      builder.slice(bytes, static_cast<std::uint32_t>(9973 * v % hosts.servers));
    builder.end_parameter();
  }
  return builder.take();
}

plan::Layout byteps(const Graph& graph, const Hosts& hosts, const Options& options) {
  const std::uint32_t n = hosts.workers;
  const std::uint32_t k = hosts.servers - std::min(hosts.on_workers, hosts.servers);
  if (hosts.on_workers != n || hosts.shared)
    throw UserError(
        fmt::format("byteps needs a server on the host of each of the {} workers, and one on each further host", n),
        fmt::format("cluster.servers: {{count: {}, colocated: {}}}, or more servers than that; per_host: 1", n, n));
  if (k > n)
    throw UserError(
        fmt::format("byteps splits over at most as many hosts of servers alone as workers: {} and {}", k, n),
        fmt::format("cluster.servers.count: at most {}", 2 * n));
  const Bytes most = options.slice.value_or(Bytes(4'096'000));
  check_slices(graph, most);
  // Shares as whole numbers.
  const std::int64_t on_worker = n == k ? 0 : n - k;
  const std::int64_t alone = n == k ? 1 : 2 * (std::int64_t{n} - 1);
  std::vector<std::int64_t> load(hosts.servers, 0);
  const auto share = [&](std::uint32_t s) { return s < n ? on_worker : alone; };
  Builder builder(hosts.servers);
  for (const Parameter& parameter : graph.parameters) {
    cut(parameter.bytes, most, [&](std::uint32_t, Bytes part) {
      std::uint32_t best = hosts.servers;
      const auto after = [&](std::uint32_t s) { return static_cast<Wide>(load[s] + part.count()); };
      for (std::uint32_t s = 0; s < hosts.servers; ++s)
        if (share(s) > 0 && (best == hosts.servers || after(s) * share(best) < after(best) * share(s))) best = s;
      load[best] += part.count();
      builder.slice(part, best);
    });
    builder.end_parameter();
  }
  return builder.take();
}

constexpr std::array<Placement, 7> kPlacements{{
    {"round_robin", "variables in creation order to servers in turn (TensorFlow's default)", "", round_robin},
    {"greedy", "variables in creation order to the server with the fewest bytes", "", greedy},
    {"partitioned", "variables cut in equal slices, dealt over the servers", "parts size", partitioned},
    {"by_name", "each variable on the server that a list names", "servers", by_name},
    {"hash", "variables, or slices of them, by the djb2 hash of their key (BytePS's default)", "size", by_hash},
    {"p3", "large variables in slices to servers in turn, others whole by 9973 x number (P3)", "size", p3},
    {"byteps", "slices by BytePS's best split over workers' hosts and hosts of servers alone", "size", byteps},
}};

bool takes(const Placement& placement, std::string_view option) {
  return (' ' + std::string(placement.options) + ' ').find(' ' + std::string(option) + ' ') != std::string::npos;
}

void refuse_foreign(const Placement& placement, const Options& options) {
  std::vector<Diagnostic> wrong;
  const auto refuse = [&](bool given, std::string_view option) {
    if (given && !takes(placement, option))
      wrong.push_back(
          {Severity::Error,
           {},
           "",
           fmt::format("placement {} takes no option {}", placement.name, option),
           placement.options.empty() ? "it takes no options" : fmt::format("it takes: {}", placement.options)});
  };
  refuse(options.parts.has_value(), "parts");
  refuse(options.slice.has_value(), "size");
  refuse(!options.servers.empty(), "servers");
  if (!wrong.empty()) throw UserError(std::move(wrong));
}

}  // namespace

std::span<const Placement> placements() { return kPlacements; }

std::vector<std::string> placement_names() {
  std::vector<std::string> names;
  for (const Placement& placement : kPlacements) names.emplace_back(placement.name);
  return names;
}

const Placement& find_placement(std::string_view name) {
  for (const Placement& placement : kPlacements)
    if (placement.name == name) return placement;
  throw UserError("there is no placement '" + std::string(name) + "'", name_hint(name, placement_names()));
}

plan::Layout place(std::string_view name, const Graph& graph, const Hosts& hosts, const Options& options) {
  const Placement& placement = find_placement(name);
  if (hosts.servers == 0) throw UserError("there are no servers to place variables on", "at least 1");
  refuse_foreign(placement, options);
  return placement.place(graph, hosts, options);
}

plan::Layout place(std::string_view name, const Graph& graph, std::uint32_t servers, const Options& options) {
  return place(name, graph, Hosts{servers, 1, 0, false}, options);
}

BestSplit best_split(std::uint32_t n, std::uint32_t k) {
  STRETTO_ASSERT(n >= 1 && k <= n, "split over {} and {} hosts", n, k);
  const double machines = n;
  const double d = machines * machines + machines * k - 2.0 * k;
  if (n == k) return {0, 1 / machines, 1};
  return {(machines - k) / d, 2 * (machines - 1) / d, 2 * machines * (machines - 1) / d};
}

}  // namespace stretto::placement
