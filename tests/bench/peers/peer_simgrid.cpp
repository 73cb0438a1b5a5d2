// SPDX-License-Identifier: Apache-2.0
// The cases of peer_stretto.cpp in SimGrid (S4U; 3.32 of Debian, or 4.x), with the same usage and output.
//
// Ideal fluid model: no protocol corrections, and network/optim:Full, since SimGrid's default mode gives links away
// twice when several flows start at one instant on a shared first link. Activities form a graph that SimGrid releases
// itself. A step's time is all from the engine's start to the end; a fat-tree's is the run alone.
#include <simgrid/s4u.hpp>

#include <simgrid/version.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/bench/peers/cost.hpp"
#include "tests/bench/peers/fat_tree.hpp"

namespace {

namespace sg = simgrid::s4u;

constexpr double kLatency = 50e-6;  // s per link
constexpr double kFlopPerS = 1e9;
constexpr std::uint32_t kTensors = 160;

#if SIMGRID_VERSION_MAJOR >= 4
sg::Host* add_host(sg::NetZone* zone, const std::string& name) { return zone->add_host(name, kFlopPerS); }
sg::Link* add_link(sg::NetZone* zone, const std::string& name, double rate, double latency) {
  return zone->add_link(name, rate)->set_latency(latency);
}
void add_route(sg::NetZone* zone, sg::Host* from, sg::Host* to, const std::vector<sg::LinkInRoute>& links) {
  zone->add_route(from, to, links, false);
}
void begin(sg::Activity& activity) { activity.start(); }
#else
sg::Host* add_host(sg::NetZone* zone, const std::string& name) { return zone->create_host(name, kFlopPerS)->seal(); }
sg::Link* add_link(sg::NetZone* zone, const std::string& name, double rate, double latency) {
  return zone->create_link(name, rate)->set_latency(latency)->seal();
}
void add_route(sg::NetZone* zone, sg::Host* from, sg::Host* to, const std::vector<sg::LinkInRoute>& links) {
  zone->add_route(from != nullptr ? from->get_netpoint() : nullptr, to != nullptr ? to->get_netpoint() : nullptr,
                  nullptr, nullptr, links, false);
}
void begin(sg::Activity& activity) { activity.vetoable_start(); }
#endif

sg::NetZone* add_zone([[maybe_unused]] sg::Engine& engine, bool star) {
#if SIMGRID_VERSION_MAJOR >= 4
  return star ? engine.get_netzone_root()->add_netzone_star("net") : engine.get_netzone_root()->add_netzone_full("net");
#else
  return star ? sg::create_star_zone("net") : sg::create_full_zone("net");
#endif
}

std::string numbered(std::string name, std::uint32_t number) { return name.append(std::to_string(number)); }

sg::Host* add_star_host(sg::NetZone* zone, const std::string& name, double rate) {
  sg::Host* host = add_host(zone, name);
  add_route(zone, host, nullptr, {sg::LinkInRoute(add_link(zone, name + "_up", rate, kLatency))});
  add_route(zone, nullptr, host, {sg::LinkInRoute(add_link(zone, name + "_down", rate, kLatency))});
  return host;
}

sg::CommPtr flow(sg::Host* from, sg::Host* to, std::uint64_t bytes) {
  return sg::Comm::sendto_init(from, to)->set_payload_size(bytes);
}

// The graph is kept until the end: SimGrid 3.32 touches an activity after its successors have let go of it.
int step(sg::Engine& engine, std::uint32_t workers, std::uint32_t servers, const std::string& variant,
         const peers::Cost& cost) {
  const bool jitter = variant != "symmetric";
  const double nic = variant == "balanced" ? 0.25 : 1.0;
  sg::NetZone* zone = add_zone(engine, true);
  std::vector<sg::Host*> worker, server;
  for (std::uint32_t w = 0; w < workers; ++w)
    worker.push_back(add_star_host(zone, numbered("w", w), nic * peers::kBytesPerSecond));
  for (std::uint32_t s = 0; s < servers; ++s)
    server.push_back(add_star_host(zone, numbered("s", s), peers::kBytesPerSecond));
  zone->seal();
  std::vector<sg::ActivityPtr> all;
  all.reserve(std::size_t{kTensors} * (4 * workers + 1));
  const auto op = [&](sg::Host* host, double seconds) {
    return sg::Exec::init()->set_flops_amount(seconds * kFlopPerS)->set_host(host);
  };
  std::vector<sg::ExecPtr> update;
  for (std::uint32_t i = 0; i < kTensors; ++i) update.push_back(op(server[i % servers], 0.0));
  for (std::uint32_t w = 0; w < workers; ++w) {
    const double slow = jitter ? 1 + (w * 37 % 101) / 1000.0 : 1.0;
    const auto size = [](std::uint32_t i) { return 4 * (1000 + std::uint64_t{i} * 7919 % 997 * 1000); };
    const auto forward_s = [&](std::uint32_t i) { return (1 + i % 7) * 1e-4 * slow; };
    sg::ExecPtr chain;
    for (std::uint32_t i = 0; i < kTensors; ++i) {
      const sg::CommPtr pull = flow(server[i % servers], worker[w], size(i));
      const sg::ExecPtr forward = op(worker[w], forward_s(i));
      pull->add_successor(forward);
      if (chain) chain->add_successor(forward);
      chain = forward;
      all.push_back(pull);
      all.push_back(forward);
    }
    for (std::uint32_t i = kTensors; i-- > 0;) {
      const sg::ExecPtr backward = op(worker[w], 2 * forward_s(i));
      const sg::CommPtr push = flow(worker[w], server[i % servers], size(i));
      chain->add_successor(backward);
      backward->add_successor(push);
      push->add_successor(update[i]);
      chain = backward;
      all.push_back(backward);
      all.push_back(push);
    }
  }
  for (const sg::ExecPtr& u : update) all.push_back(u);
  for (const sg::ActivityPtr& a : all) begin(*a);
  engine.run();
  cost.print(sg::Engine::get_clock(), all.size());
  return 0;
}

int fat_tree(sg::Engine& engine, std::uint32_t live, std::uint32_t per_slot, const char* file) {
  const peers::FatTree tree;
  sg::NetZone* zone = add_zone(engine, false);
  std::vector<sg::Host*> host;
  std::vector<sg::Link*> link;
  for (std::uint32_t h = 0; h < tree.hosts(); ++h) host.push_back(add_host(zone, numbered("h", h)));
  for (std::uint32_t l = 0; l < tree.links(); ++l)
    link.push_back(add_link(zone, numbered("l", l), peers::kBytesPerSecond, 0));
  for (std::uint32_t from = 0; from < tree.hosts(); ++from)
    for (std::uint32_t to = 0; to < tree.hosts(); ++to) {
      if (from == to) continue;
      std::vector<sg::LinkInRoute> path;
      for (const std::uint32_t l : tree.route(from, to)) path.emplace_back(link[l]);
      add_route(zone, host[from], host[to], path);
    }
  zone->seal();
  std::vector<sg::CommPtr> all;
  for (std::uint32_t slot = 0; slot < live; ++slot)
    for (std::uint32_t n = 0; n < per_slot; ++n) {
      const peers::Flow f = tree.flow(slot, n);
      all.push_back(flow(host[f.from], host[f.to], f.bytes));
      if (n > 0) all[all.size() - 2]->add_successor(all.back());
    }
  for (const sg::CommPtr& a : all) begin(*a);
  const peers::Cost cost;
  engine.run();
  cost.print(sg::Engine::get_clock(), all.size());
  std::FILE* out = std::fopen(file, "w");
  if (out == nullptr) return 1;
  for (const sg::CommPtr& a : all) std::fprintf(out, "%.12f\n", a->get_finish_time());
  return std::fclose(out) == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const peers::Cost cost;
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto number = [&](std::size_t i) {
    return static_cast<std::uint32_t>(std::strtoul(words[i].c_str(), nullptr, 10));
  };
  if (words.size() == 1 && words[0] == "version") {
    std::printf("%d.%d\n", SIMGRID_VERSION_MAJOR, SIMGRID_VERSION_MINOR);
    return 0;
  }
  if (words.size() != 4 || (words[0] != "step" && words[0] != "fat-tree")) {
    std::fputs("usage: peer_simgrid version | step W S VARIANT | fat-tree LIVE FLOWS_PER_SLOT ENDS\n", stderr);
    return 2;
  }
  std::string name = argv[0], quiet = "--log=root.thres:error";
  char* arguments[] = {name.data(), quiet.data(), nullptr};
  int count = 2;
  sg::Engine engine(&count, arguments);
  for (const char* option :
       {"network/model:CM02", "network/TCP-gamma:1e30", "network/crosstraffic:0", "network/latency-factor:1",
        "network/bandwidth-factor:1", "network/weight-S:0", "network/optim:Full"})
    sg::Engine::set_config(option);
  if (words[0] == "step") return step(engine, number(1), number(2), words[3], cost);
  return fat_tree(engine, number(1), number(2), words[3].c_str());
}
