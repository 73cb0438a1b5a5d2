// SPDX-License-Identifier: Apache-2.0
// The rows of the section `cluster.workers.device`.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "experiment/spec/rows.hpp"
#include "models/device/roofline.hpp"

namespace stretto::experiment {

namespace {

using config::Node;
using config::Reader;

// How ops run: beside each other, in which order, and what comes between network and device.
void add_execution(Rows& rows) {
  const std::string device = "cluster.workers.device.";
  const auto shared = [](const Spec& s) {
    const DeviceSpec& d = s.cluster.workers.device;
    return d.intra_op > 1 || d.intra_op_share < 1;
  };
  const auto copies = [](const Spec& s) {
    const cluster::Device d = make_device(s.cluster.workers.device);
    return d.copies_in() || d.copies_out();
  };
  rows.push_back(config::integer<Spec>(
      device + "streams", 1, 1024, "1", "kernels that a gpu runs at a time, each at full speed",
      [](auto& s) -> auto& { return s.cluster.workers.device.streams; }));
  only(rows, [](const Spec& s) { return s.cluster.workers.device.streams > 1; });
  rows.push_back(config::integer<Spec>(
      device + "intra_op", 1, 1024, "1", "cores of a cpu that work on each op together, so that cores / intra_op run",
      [](auto& s) -> auto& { return s.cluster.workers.device.intra_op; }));
  only(rows, shared);
  rows.push_back(config::number<Spec>(
      device + "intra_op_share", true, {0, 1, false, "0 to 1"}, "1", "share of an op's time that these cores share",
      [](auto& s) -> auto& { return s.cluster.workers.device.intra_op_share; }));
  only(rows, shared);
  rows.push_back(config::choice<Spec>(
      device + "order", {"fifo", "priority", "random"}, "fifo",
      "which ready op starts first: the first that was ready, the one with the longest path behind it, any",
      [](auto& s) -> auto& { return s.cluster.workers.device.order; }));
  only(rows, [](const Spec& s) { return s.cluster.workers.device.order != cluster::OpOrder::Fifo; });
  rows.push_back(config::bandwidth<Spec>(
      device + "copy_in", "unlimited", "rate of a gpu's copies from its host, after each pull; one at a time",
      [](auto& s) -> auto& { return s.cluster.workers.device.copy_in; }));
  only(rows, copies);
  rows.push_back(config::bandwidth<Spec>(
      device + "copy_out", "unlimited", "rate of a gpu's copies to its host, before each push; one at a time",
      [](auto& s) -> auto& { return s.cluster.workers.device.copy_out; }));
  only(rows, copies);
  rows.push_back(config::duration<Spec>(
      device + "copy_launch", "0 us", "time that every copy costs beside its bytes",
      [](auto& s) -> auto& { return s.cluster.workers.device.copy_launch; }));
  only(rows, copies);
}

// The cost model of ops that have no profiled time (models/device/roofline.hpp).
void add_roofline(Rows& rows) {
  const std::string device = "cluster.workers.device.";
  const config::Range positive{0, 1e9, true, "more than 0, at most 1e9"};
  const config::Range share{0, 1, true, "more than 0, at most 1"};
  rows.push_back(config::number<Spec>(
      device + "peak_gflops", false, positive, "", "peak rate in 1e9 operations/s, for workloads without times",
      [](auto& s) -> auto& { return s.cluster.workers.device.peak_gflops; }));
  rows.back().read = [read = rows.back().read](Reader& reader, const Node& node, const std::string& key, Spec& s) {
    s.cluster.workers.device.roofline_place = node.place;
    read(reader, node, key, s);
  };
  rows.push_back(config::number<Spec>(
      device + "memory_gbytes", false, positive, "", "memory bandwidth in 1e9 bytes/s; goes with peak_gflops",
      [](auto& s) -> auto& { return s.cluster.workers.device.memory_gbytes; }));
  rows.push_back(config::number<Spec>(
      device + "flops_efficiency", true, share, "1", "share of the peak rate that kernels reach",
      [](auto& s) -> auto& { return s.cluster.workers.device.flops_efficiency; }));
  rows.push_back(config::number<Spec>(
      device + "memory_efficiency", true, share, "1", "share of the memory bandwidth that kernels reach",
      [](auto& s) -> auto& { return s.cluster.workers.device.memory_efficiency; }));
  rows.push_back(config::duration<Spec>(
      device + "launch", "0 us", "time that every op costs beside its work",
      [](auto& s) -> auto& { return s.cluster.workers.device.launch; }));
  for (const bool backward : {false, true})
    for (std::size_t c = 1; c < graph::kOpClassNames.size(); ++c) {
      const std::string name(graph::kOpClassNames[c]);
      const bool memory = device::is_of_memory(static_cast<graph::OpClass>(c));
      rows.push_back(config::number<Spec>(
          device + (backward ? "backward_efficiency." : "efficiency.") + name, true,
          {0, 4, true, "more than 0, at most 4"}, "",
          backward ? fmt::format("the same of backward ops; left out: that of efficiency.{}", name)
                   : fmt::format("{} in place of {} for ops of this class",
                                 memory ? "share of the memory bandwidth" : "share of the peak rate",
                                 memory ? "memory_efficiency" : "flops_efficiency"),
          [ c, backward ](auto& s) -> auto& {
            auto& d = s.cluster.workers.device;
            return backward ? d.backward_efficiency[c] : d.efficiency[c];
          }));
      only(rows, [c, backward](const Spec& s) {
        const DeviceSpec& d = s.cluster.workers.device;
        return (backward ? d.backward_efficiency[c] : d.efficiency[c]).has_value();
      });
    }
}

}  // namespace

void add_device_fields(Rows& rows) {
  rows.push_back(config::text<Spec>(
      "cluster.workers.device.name", "gpu", "name of the device, for the report; cpu for a cpu",
      [](auto& s) -> auto& { return s.cluster.workers.device.name; }));
  rows.push_back(config::choice<Spec>(
      "cluster.workers.device.kind", {"gpu", "cpu"}, "gpu", "a gpu runs one op at a time, a cpu one per core",
      [](auto& s) -> auto& { return s.cluster.workers.device.kind; }));
  rows.push_back(config::integer<Spec>(
      "cluster.workers.device.cores", 1, 1024, "1", "cores of a cpu",
      [](auto& s) -> auto& { return s.cluster.workers.device.cores; }));
  rows.back().write = [](const Spec& s) {
    const DeviceSpec& device = s.cluster.workers.device;
    return device.kind == DeviceKind::Cpu ? std::to_string(device.cores) : "";
  };
  rows.push_back(config::number<Spec>(
      "cluster.workers.device.speed", false, {0, kMaxRatio, true, "more than 0, at most 1e6"}, "1",
      "speed relative to the device that the workload was profiled on",
      [](auto& s) -> auto& { return s.cluster.workers.device.speed; }));
  add_execution(rows);
  add_roofline(rows);
}

void check_device(Reader& reader, const Node& root, const DeviceSpec& device) {
  const std::string at = "cluster.workers.device.";
  const auto refuse = [&](const char* name, const char* message, const char* hint) {
    if (config::find_path(root, at + name)) reader.error(place_of(root, at + name), at + name, message, hint);
  };
  if (device.kind == DeviceKind::Cpu) {
    refuse("streams", "a cpu has no streams", "say cores, or kind: gpu");
    for (const char* name : {"copy_in", "copy_out", "copy_launch"})
      refuse(name, "a cpu copies nothing to a device of its own", "leave it out, or say kind: gpu");
    if (device.intra_op > device.cores) refuse("intra_op", "is more than the cpu's cores", "valid: 1 to cores");
  } else {
    for (const char* name : {"intra_op", "intra_op_share"})
      if (device.intra_op > 1 || device.intra_op_share < 1)
        refuse(name, "says how ops share the cores of a cpu", "say kind: cpu, or leave it out");
  }
}

cluster::Device make_device(const DeviceSpec& d) {
  cluster::Device device;
  device.name = d.name;
  const std::uint32_t together = std::min(d.intra_op, d.cores);  // a group of workers may have fewer cores
  device.cores = d.kind == DeviceKind::Cpu ? d.cores / together : d.streams;
  device.speed = d.speed / (1 - d.intra_op_share + d.intra_op_share / together);
  device.order = d.order;
  device.copy_in = d.copy_in;
  device.copy_out = d.copy_out;
  device.copy_launch = d.copy_launch;
  return device;
}

}  // namespace stretto::experiment
