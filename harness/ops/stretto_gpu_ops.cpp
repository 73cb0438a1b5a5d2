// SPDX-License-Identifier: Apache-2.0
// StrettoCompute on a GPU: a kernel occupies the op's CUDA stream for the given time. Linked into the op library where
// nvcc is at hand (harness/setup). A library with it loads without a GPU, and without one there is no device to place
// the op on.
//
// The note of an op says when its events had passed and how long the kernel took by them; the start is the difference.
// One thread per process waits for events, in the order of launch, so that no thread of TensorFlow's pools does.
#include <time.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include <tensorflow/core/framework/op_kernel.h>
#include <xla/stream_executor/stream.h>

#include "harness/ops/notes.hpp"
#include "harness/ops/spin.hpp"

namespace stretto_tf {

namespace {

using tensorflow::AsyncOpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;

class Waiter {
 public:
  Waiter() {
    std::thread([this] { serve(); }).detach();
  }

  void add(StrettoSpin spin, std::int64_t tag, OpKernelContext* context, AsyncOpKernel::DoneCallback done) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back({spin, tag, context, std::move(done)});
    }
    ready_.notify_one();
  }

 private:
  struct Item {
    StrettoSpin spin;
    std::int64_t tag;
    OpKernelContext* context;
    AsyncOpKernel::DoneCallback done;
  };

  void serve() {
    while (true) {
      std::unique_lock lock(mutex_);
      ready_.wait(lock, [this] { return !queue_.empty(); });
      const Item item = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      double ns = 0;
      if (const char* error = stretto_spin_end(item.spin, &ns)) item.context->SetStatus(absl::InternalError(error));
      const std::int64_t end = now_ns();
      add_note({item.tag, end - static_cast<std::int64_t>(ns), end});
      item.done();
    }
  }

  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Item> queue_;
};

Waiter& waiter() {
  static Waiter* const one = new Waiter;
  return *one;
}

class GpuCompute : public AsyncOpKernel {
 public:
  explicit GpuCompute(OpKernelConstruction* context) : AsyncOpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("duration_ns", &duration_));
    OP_REQUIRES_OK(context, context->GetAttr("tag", &tag_));
    OP_REQUIRES(context, duration_ >= 0, absl::InvalidArgumentError("duration_ns is negative"));
  }

  void ComputeAsync(OpKernelContext* context, DoneCallback done) override {
    auto* const device = context->op_device_context();
    OP_REQUIRES_ASYNC(context, device != nullptr && device->stream() != nullptr,
                      absl::InternalError("the op has no stream of a GPU"), done);
    StrettoSpin spin{};
    const char* const error = stretto_spin_begin(device->stream()->platform_specific_handle().stream, duration_, &spin);
    OP_REQUIRES_ASYNC(context, error == nullptr, absl::InternalError(error != nullptr ? error : ""), done);
    waiter().add(spin, tag_, context, std::move(done));
  }

 private:
  std::int64_t duration_ = 0;
  std::int64_t tag_ = 0;
};

REGISTER_KERNEL_BUILDER(Name("StrettoCompute").Device(tensorflow::DEVICE_GPU), GpuCompute);

}  // namespace

}  // namespace stretto_tf
