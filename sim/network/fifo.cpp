// SPDX-License-Identifier: Apache-2.0
#include "sim/network/fifo.hpp"

#include <algorithm>

namespace stretto::network {

namespace {
template <class T>
std::uint32_t take(std::vector<T>& items, std::vector<std::uint32_t>& free, const T& value) {
  if (free.empty()) {
    items.push_back(value);
    return static_cast<std::uint32_t>(items.size() - 1);
  }
  const std::uint32_t i = free.back();
  free.pop_back();
  items[i] = value;
  return i;
}
}  // namespace

FifoNetwork::FifoNetwork(const Wires& wires, Bytes chunk) : wires_(&wires), chunk_size_(chunk) { reset(); }

void FifoNetwork::reset() {
  events_.clear();
  link_free_.assign(wires_->links.size(), Time());
  cap_free_.assign(wires_->routes.size(), Time());
  carried_.assign(wires_->links.size(), 0);
  factor_.assign(wires_->links.size(), 1.0);
  messages_.clear();
  free_messages_.clear();
  chunks_.clear();
  free_chunks_.clear();
}

// The chunk queues at its hop; the event is the end of its service there.
void FifoNetwork::enter(Time now, std::uint32_t index) {
  const Chunk& chunk = chunks_[index];
  const std::uint32_t r = messages_[chunk.message].route;
  const Route& route = wires_->routes[r];
  Time end = now;
  if (chunk.hop < 0) {
    cap_free_[r] = std::max(now, cap_free_[r]) + transfer_duration(Bytes(chunk.bytes), route.cap);
    end = cap_free_[r];
  } else if (static_cast<std::uint32_t>(chunk.hop) < route.count) {
    const std::uint32_t l = wires_->path(RouteId(r))[static_cast<std::size_t>(chunk.hop)].index();
    const Bandwidth capacity = wires_->links[l].capacity;
    link_free_[l] = std::max(now, link_free_[l]) +
                    transfer_duration(Bytes(chunk.bytes), factor_[l] == 1 ? capacity : capacity.scaled(factor_[l]));
    end = link_free_[l];
  }
  events_.push(end, engine::Phase::Finish, 0, index);
}

void FifoNetwork::start(Time now, RouteId route, Bytes bytes, std::uint32_t token) {
  const std::int64_t size = chunk_size_.count() == 0 ? std::max<std::int64_t>(bytes.count(), 1) : chunk_size_.count();
  const std::int64_t chunks = std::max<std::int64_t>(1, (bytes.count() + size - 1) / size);
  const std::uint32_t message = take(messages_, free_messages_, {route.index(), token, chunks, bytes.count()});
  const std::int32_t hop = wires_->routes[route.index()].cap.is_unlimited() ? 0 : -1;
  for (std::int64_t k = 0; k < chunks; ++k) {
    const std::int64_t part = std::min(size, bytes.count() - k * size);
    enter(now, take(chunks_, free_chunks_, {message, hop, part}));
  }
}

void FifoNetwork::finish(Time now, std::vector<std::uint32_t>& tokens) {
  while (events_.next() <= now) {
    const std::uint32_t index = events_.pop().target;
    Chunk& chunk = chunks_[index];
    Message& message = messages_[chunk.message];
    const auto path = wires_->path(RouteId(message.route));
    if (chunk.hop >= 0 && static_cast<std::size_t>(chunk.hop) < path.size())
      carried_[path[static_cast<std::size_t>(chunk.hop)].index()] += chunk.bytes;
    ++chunk.hop;
    if (chunk.hop > 0 && static_cast<std::size_t>(chunk.hop) >= path.size()) {
      free_chunks_.push_back(index);
      if (--message.chunks_left == 0) {
        tokens.push_back(message.token);
        free_messages_.push_back(chunk.message);
      }
    } else {
      enter(now, index);
    }
  }
}

}  // namespace stretto::network
