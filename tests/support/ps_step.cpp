// SPDX-License-Identifier: Apache-2.0
#include "tests/support/ps_step.hpp"

#include <array>
#include <string>
#include <vector>

namespace stretto::testing {

using program::ActivityId;

program::StepProgram PsStep::compile() const {
  program::ProgramBuilder b;
  const std::size_t activities = static_cast<std::size_t>(tensors) * (4 * workers + 1) + 1;
  b.reserve(activities, static_cast<std::size_t>(tensors) * (6 * workers + 1));
  const Bandwidth rate = Bandwidth::bytes_per_second(1'250'000'000);
  std::vector<network::LinkId> worker_up, worker_down, server_up, server_down;
  std::vector<program::PoolId> gpu;
  for (std::uint32_t w = 0; w < workers; ++w) {
    worker_up.push_back(b.wires().add_link("worker up", rate.scaled(worker_nic)));
    worker_down.push_back(b.wires().add_link("worker down", rate.scaled(worker_nic)));
    gpu.push_back(b.add_pool({"gpu", 1, program::PoolRule::Fifo}));
  }
  for (std::uint32_t s = 0; s < servers; ++s) {
    server_up.push_back(b.wires().add_link("server up", rate));
    server_down.push_back(b.wires().add_link("server down", rate));
  }
  std::vector<program::ChannelId> pull, push;
  for (std::uint32_t w = 0; w < workers; ++w)
    for (std::uint32_t s = 0; s < servers; ++s) {
      channel::Channel c;
      c.latency = Duration::us(100);
      c.streams = 0;
      c.route = b.wires().add_route(std::array{server_up[s], worker_down[w]});
      pull.push_back(b.add_channel(c));
      c.route = b.wires().add_route(std::array{worker_up[w], server_down[s]});
      push.push_back(b.add_channel(c));
    }
  std::vector<ActivityId> update;
  for (std::uint32_t i = 0; i < tensors; ++i) update.push_back(b.add_join());
  for (std::uint32_t w = 0; w < workers; ++w) {
    const std::int64_t slow = 1000 + (jitter ? w * 37 % 101 : 0);
    ActivityId chain;
    for (std::uint32_t i = 0; i < tensors; ++i) {
      const Bytes bytes(4 * (1000 + (static_cast<std::int64_t>(i) * 7919 % 997) * 1000));
      const ActivityId arrive = b.add_message(pull[w * servers + i % servers], bytes);
      const ActivityId forward = b.add_compute(gpu[w], Duration::ns(100 * (1 + i % 7) * slow));
      b.add_edge(update[i], arrive, 1);
      b.add_edge(arrive, forward);
      if (chain.valid()) b.add_edge(chain, forward);
      chain = forward;
    }
    for (std::uint32_t i = tensors; i-- > 0;) {
      const Bytes bytes(4 * (1000 + (static_cast<std::int64_t>(i) * 7919 % 997) * 1000));
      const ActivityId backward = b.add_compute(gpu[w], Duration::ns(200 * (1 + i % 7) * slow));
      const ActivityId send = b.add_message(push[w * servers + i % servers], bytes);
      b.add_edge(chain, backward);
      b.add_edge(backward, send);
      b.add_edge(send, update[i]);
      chain = backward;
    }
  }
  for (const ActivityId u : update) b.add_marker(u);
  return b.finish();
}

}  // namespace stretto::testing
