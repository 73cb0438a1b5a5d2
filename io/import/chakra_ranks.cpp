// SPDX-License-Identifier: Apache-2.0
#include "io/import/chakra_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/file/file.hpp"
#include "io/import/common.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::io {

namespace {

constexpr const char* kHint = "the files must be of the same steps of one job, each of one rank";

std::vector<std::size_t> collectives_of(const ChakraTrace& trace) {
  std::vector<std::size_t> list;
  for (std::size_t i = 0; i < trace.nodes.size(); ++i)
    if (is_exchange(trace.nodes[i])) list.push_back(i);
  return list;
}

double computing_ms(const ChakraTrace& trace) {
  double sum = 0;
  for (const ChakraNode& n : trace.nodes)
    if (is_computation(n)) sum += static_cast<double>(n.duration_us) * 1e-3;
  return sum;
}

std::string described(const ChakraNode& n) {
  if (!n.collective) return "without kind";
  return n.bytes ? fmt::format("{} of {} bytes", name_of(*n.collective), *n.bytes)
                 : std::string(name_of(*n.collective));
}

bool agree(const ChakraNode& a, const ChakraNode& b) {
  return a.collective == b.collective && (a.collective != ChakraCollective::AllReduce || a.bytes == b.bytes);
}

// Of `trace` and another rank; what differs, or "".
std::string match(ChakraTrace& trace, const ChakraTrace& other) {
  const std::vector<std::size_t> mine = collectives_of(trace);
  const std::vector<std::size_t> theirs = collectives_of(other);
  for (std::size_t k = 0; k < std::min(mine.size(), theirs.size()); ++k)
    if (!agree(trace.nodes[mine[k]], other.nodes[theirs[k]]))
      return fmt::format("collective {} is {}, there {}", k, described(other.nodes[theirs[k]]),
                         described(trace.nodes[mine[k]]));
  if (mine.size() != theirs.size())
    return fmt::format("{}, there {}", plural(theirs.size(), "collective"), mine.size());
  for (std::size_t k = 0; k < mine.size(); ++k) {
    ChakraNode& n = trace.nodes[mine[k]];
    n.transfer_us = std::min(n.transfer_us.value_or(n.duration_us), other.nodes[theirs[k]].duration_us);
  }
  return "";
}

}  // namespace

void match_chakra_ranks(ChakraTrace& trace, const std::string& path, const ImportOptions& options,
                        ImportReport& report) {
  if (options.rank_paths.empty()) return;
  check_rank_paths(path, options.rank_paths);
  const double own_ms = computing_ms(trace);
  report.read.push_back(fmt::format("{} ranks; {} computes {:.3f} ms", options.rank_paths.size() + 1,
                                    escape_control(leaf_of(path)), own_ms));
  for (const std::string& other_path : options.rank_paths) {
    const std::string text = file::read(other_path);
    if (!is_chakra(text)) refuse_file(other_path, "this is no Chakra execution trace", kHint);
    const ChakraTrace other = read_chakra(text, other_path);
    const std::string difference = match(trace, other);
    if (!difference.empty())
      refuse_file(other_path,
                  fmt::format("its collectives do not match those of {}: {}", escape_control(path), difference), kHint);
    report.read.push_back(fmt::format("{}: {} matched; computes {:.3f} ms ({:+.1f} %)",
                                      escape_control(leaf_of(other_path)),
                                      plural(collectives_of(other).size(), "collective"), computing_ms(other),
                                      own_ms > 0 ? (computing_ms(other) / own_ms - 1) * 100 : 0.0));
  }
}

}  // namespace stretto::io
