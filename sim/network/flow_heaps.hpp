// SPDX-License-Identifier: Apache-2.0
// Heaps of flows by their end, one per class of flows, whose nodes share one store.
//
// Skew heaps (Sleator and Tarjan, "Self-adjusting heaps", 1986): a heap is the number of its root, two heaps merge
// along their right spines, and every merged node swaps its children. The store holds as many nodes as flows were alive
// at once, however many classes there are; it grows by chunks, so that nothing moves. Flows leave by (threshold,
// token), a total order as tokens differ, so nothing depends on the shape of a heap. push and pop cost O(log flows)
// amortised.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace stretto::network {

struct Flow {
  double threshold = 0;  // class clock at which it ends
  std::uint32_t token = 0;
};

class FlowHeaps {
 public:
  static constexpr std::uint32_t kEmpty = 0xFFFFFFFFU;
  // Forgets all heaps; the memory stays.
  void clear() {
    for (auto& chunk : chunks_) chunk.clear();
    used_ = 0;
    free_ = kEmpty;
  }
  double threshold(std::uint32_t heap) const { return node(heap).threshold; }
  std::uint32_t token(std::uint32_t heap) const { return node(heap).token; }
  // The heap with one flow more.
  std::uint32_t push(std::uint32_t heap, Flow flow) {
    const std::uint32_t added = take();
    node(added) = {flow.threshold, flow.token, kEmpty, kEmpty};
    return heap == kEmpty ? added : merge(heap, added);
  }
  // The heap without its first flow.
  std::uint32_t pop(std::uint32_t heap) {
    Node& first = node(heap);
    const std::uint32_t rest = merge(first.left, first.right);
    first.left = free_;
    free_ = heap;
    return rest;
  }
  // Calls function(threshold) for each flow of the heap.
  template <class Function>
  void for_each(std::uint32_t heap, Function&& function) const {
    std::vector<std::uint32_t> todo{heap};
    while (!todo.empty()) {
      const std::uint32_t next = todo.back();
      todo.pop_back();
      if (next == kEmpty) continue;
      function(node(next).threshold);
      todo.push_back(node(next).left);
      todo.push_back(node(next).right);
    }
  }

 private:
  static constexpr std::uint32_t kChunkBits = 10;
  struct Node {
    double threshold;
    std::uint32_t token;
    std::uint32_t left;  // next free node, if free
    std::uint32_t right;
  };
  static bool before(const Node& a, const Node& b) {
    return a.threshold != b.threshold ? a.threshold < b.threshold : a.token < b.token;
  }
  const Node& node(std::uint32_t i) const { return chunks_[i >> kChunkBits][i & ((1U << kChunkBits) - 1)]; }
  Node& node(std::uint32_t i) { return chunks_[i >> kChunkBits][i & ((1U << kChunkBits) - 1)]; }

  std::uint32_t take() {
    if (free_ != kEmpty) {
      const std::uint32_t i = free_;
      free_ = node(i).left;
      return i;
    }
    const std::uint32_t chunk = used_ >> kChunkBits;
    if (chunk == chunks_.size()) chunks_.emplace_back();
    if (chunk > 0) chunks_[chunk].reserve(std::size_t{1} << kChunkBits);
    chunks_[chunk].emplace_back();
    return used_++;
  }

  std::uint32_t merge(std::uint32_t a, std::uint32_t b) {
    std::uint32_t root = kEmpty;
    std::uint32_t* link = &root;
    while (a != kEmpty && b != kEmpty) {
      if (before(node(b), node(a))) std::swap(a, b);
      *link = a;
      Node& first = node(a);
      a = std::exchange(first.right, first.left);
      link = &first.left;
    }
    *link = a != kEmpty ? a : b;
    return root;
  }

  std::vector<std::vector<Node>> chunks_;  // of 2^kChunkBits nodes, the last in use not full
  std::uint32_t used_ = 0;                 // nodes ever taken since clear()
  std::uint32_t free_ = kEmpty;            // first free node
};

}  // namespace stretto::network
