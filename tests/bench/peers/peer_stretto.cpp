// SPDX-License-Identifier: Apache-2.0
// One case in stretto, for compare.py: prints what it gave and what it cost as one line of JSON.
//
// usage: peer_stretto step W S symmetric|jitter|balanced      the step of tests/support/ps_step.hpp, 160 tensors
//        peer_stretto fat-tree LIVE FLOWS_PER_SLOT ENDS       the closed loop of fat_tree.hpp; ends (s) go to a file
// Time: of a step, all from the description to the end; of the fat-tree, the loop alone.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "sim/network/fluid.hpp"
#include "sim/program/simulation.hpp"
#include "tests/bench/peers/cost.hpp"
#include "tests/bench/peers/fat_tree.hpp"
#include "tests/support/ps_step.hpp"

namespace {

using namespace stretto;

int step(std::uint32_t workers, std::uint32_t servers, const std::string& variant) {
  const peers::Cost cost;
  testing::PsStep step;
  step.workers = workers;
  step.servers = servers;
  step.jitter = variant != "symmetric";
  step.worker_nic = variant == "balanced" ? 0.25 : 1.0;
  const program::StepProgram program = step.compile();
  const program::OrderTable order;
  program::Simulation simulation(program, order, 1);
  if (simulation.run() != program::Status::Reached) return 1;
  cost.print(simulation.now().seconds(), program.size());
  return 0;
}

int fat_tree(std::uint32_t live, std::uint32_t per_slot, const char* file) {
  const peers::FatTree tree;
  network::Wires wires;
  for (std::uint32_t l = 0; l < tree.links(); ++l)
    wires.add_link("link", Bandwidth::bytes_per_second(static_cast<std::int64_t>(peers::kBytesPerSecond)));
  for (std::uint32_t from = 0; from < tree.hosts(); ++from)
    for (std::uint32_t to = 0; to < tree.hosts(); ++to) {
      std::vector<network::LinkId> path;
      if (from != to)
        for (const std::uint32_t l : tree.route(from, to)) path.emplace_back(l);
      wires.add_route(path);
    }
  network::FluidNetwork net(wires);
  std::vector<Time> ends(std::size_t{live} * per_slot);
  const peers::Cost cost;
  std::vector<std::uint32_t> sent(live, 0);
  Time now;
  const auto send = [&](std::uint32_t slot) {
    if (sent[slot] == per_slot) return;
    const peers::Flow f = tree.flow(slot, sent[slot]++);
    net.start(now, network::RouteId(std::size_t{f.from} * tree.hosts() + f.to),
              Bytes(static_cast<std::int64_t>(f.bytes)), slot);
  };
  for (std::uint32_t slot = 0; slot < live; ++slot) send(slot);
  std::vector<std::uint32_t> ended;
  for (net.solve(now); net.next() != Time::never(); net.solve(now)) {
    now = net.next();
    ended.clear();
    net.finish(now, ended);
    for (const std::uint32_t slot : ended) {
      ends[std::size_t{slot} * per_slot + sent[slot] - 1] = now;
      send(slot);
    }
  }
  cost.print(now.seconds(), ends.size());
  std::FILE* out = std::fopen(file, "w");
  if (out == nullptr) return 1;
  for (const Time t : ends) fmt::print(out, "{:.12f}\n", t.seconds());
  return std::fclose(out) == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto number = [&](std::size_t i) {
    return static_cast<std::uint32_t>(std::strtoul(words[i].c_str(), nullptr, 10));
  };
  if (words.size() == 4 && words[0] == "step") return step(number(1), number(2), words[3]);
  if (words.size() == 4 && words[0] == "fat-tree") return fat_tree(number(1), number(2), words[3].c_str());
  std::fputs("usage: peer_stretto step W S symmetric|jitter|balanced | fat-tree LIVE FLOWS_PER_SLOT ENDS\n", stderr);
  return 2;
}
