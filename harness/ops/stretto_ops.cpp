// SPDX-License-Identifier: Apache-2.0
// TensorFlow ops of the emulated workloads. Built against the installed wheel by harness/setup.
//
//   StrettoCompute  occupies an exclusive stream of this process for a given time. A stream is one thread that serves
//                   its ops in the order in which they became ready; no thread of TensorFlow's pools waits.
//   StrettoStamp    passes its input on and notes when. Runs inline in the thread that delivered the input, so that it
//                   does not queue behind other ops.
//   StrettoBarrier  ends when `parties` instances with one name have started in this process.
//   StrettoDrain    takes all notes of this process: rows of [tag, start, end], nanoseconds of CLOCK_MONOTONIC, which
//                   all processes of a machine share.
//
// An op on a stream starts when the op before has ended. An op that becomes ready within kCatchUp after that end starts
// at the intended end of the op before: what the executor needs to start the next op, and late wake-ups, do not add up
// over a chain of ops. Ops of zero length end at once, in their turn.
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tensorflow/core/framework/common_shape_fns.h>
#include <tensorflow/core/framework/op.h>
#include <tensorflow/core/framework/op_kernel.h>
#include <tensorflow/core/framework/shape_inference.h>

#include "harness/ops/notes.hpp"

namespace stretto_tf {

using tensorflow::AsyncOpKernel;
using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;

constexpr std::int64_t kCatchUp = 150'000;

std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void sleep_until(std::int64_t deadline) {
  timespec time{};
  time.tv_sec = deadline / 1'000'000'000;
  time.tv_nsec = deadline % 1'000'000'000;
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR) {
  }
}

class Notes {
 public:
  void add(Note note) {
    const std::lock_guard lock(mutex_);
    notes_.push_back(note);
  }
  // The oldest.
  std::vector<Note> take(std::int64_t capacity = std::numeric_limits<std::int64_t>::max()) {
    const std::lock_guard lock(mutex_);
    const auto end = notes_.begin() + std::min<std::int64_t>(capacity, static_cast<std::int64_t>(notes_.size()));
    std::vector<Note> taken(notes_.begin(), end);
    notes_.erase(notes_.begin(), end);
    return taken;
  }

 private:
  std::mutex mutex_;
  std::vector<Note> notes_;
};

// The three tables live as long as the process: their threads and callers may outlive every kernel.
Notes& notes() {
  static Notes* const all = new Notes;
  return *all;
}

void add_note(Note note) { notes().add(note); }

class Stream {
 public:
  Stream() {
    std::thread([this] { serve(); }).detach();
  }

  void add(std::int64_t duration, std::int64_t tag, AsyncOpKernel::DoneCallback done) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back({duration, tag, now_ns(), std::move(done)});
    }
    ready_.notify_one();
  }

 private:
  struct Item {
    std::int64_t duration;
    std::int64_t tag;
    std::int64_t ready;
    AsyncOpKernel::DoneCallback done;
  };

  void serve() {
    prctl(PR_SET_TIMERSLACK, 1);
    std::int64_t intended_end = 0;
    std::int64_t end = 0;
    while (true) {
      std::unique_lock lock(mutex_);
      ready_.wait(lock, [this] { return !queue_.empty(); });
      const Item item = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      const std::int64_t start = item.ready <= end + kCatchUp ? intended_end : now_ns();
      intended_end = start + item.duration;
      sleep_until(intended_end);
      end = now_ns();
      notes().add({item.tag, start, end});
      item.done();
    }
  }

  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Item> queue_;
};

Stream& stream(int index) {
  static std::mutex* const mutex = new std::mutex;
  static auto* const streams = new std::map<int, std::unique_ptr<Stream>>;
  const std::lock_guard lock(*mutex);
  std::unique_ptr<Stream>& found = (*streams)[index];
  if (!found) found = std::make_unique<Stream>();
  return *found;
}

class Compute : public AsyncOpKernel {
 public:
  explicit Compute(OpKernelConstruction* context) : AsyncOpKernel(context) {
    int index = 0;
    OP_REQUIRES_OK(context, context->GetAttr("duration_ns", &duration_));
    OP_REQUIRES_OK(context, context->GetAttr("tag", &tag_));
    OP_REQUIRES_OK(context, context->GetAttr("stream", &index));
    OP_REQUIRES(context, duration_ >= 0, absl::InvalidArgumentError("duration_ns is negative"));
    stream_ = &stream(index);
  }
  void ComputeAsync(OpKernelContext*, DoneCallback done) override { stream_->add(duration_, tag_, std::move(done)); }

 private:
  std::int64_t duration_ = 0;
  std::int64_t tag_ = 0;
  Stream* stream_ = nullptr;
};

class Stamp : public OpKernel {
 public:
  explicit Stamp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("tag", &tag_));
  }
  void Compute(OpKernelContext* context) override {
    const std::int64_t now = now_ns();
    notes().add({tag_, now, now});
    context->set_output(0, context->input(0));
  }
  bool IsExpensive() override { return false; }

 private:
  std::int64_t tag_ = 0;
};

// Those who wait in one barrier. A cancelled step leaves it; the rest go on waiting until they are cancelled as well.
class Meeting {
 public:
  using Done = AsyncOpKernel::DoneCallback;

  // False, and `done` is dropped, if `cancel` came first.
  bool arrive(std::int64_t id, int parties, Done done) {
    std::map<std::int64_t, Done> leaving;
    {
      const std::lock_guard lock(mutex_);
      if (cancelled_.erase(id) > 0) return false;
      waiting_.emplace(id, std::move(done));
      if (static_cast<int>(waiting_.size()) < parties) return true;
      leaving.swap(waiting_);
    }
    for (auto& [unused, leave] : leaving) leave();
    return true;
  }
  // The callback of one that still waits, else nothing.
  Done cancel(std::int64_t id) {
    const std::lock_guard lock(mutex_);
    const auto found = waiting_.find(id);
    if (found == waiting_.end()) {
      cancelled_.insert(id);
      return nullptr;
    }
    Done done = std::move(found->second);
    waiting_.erase(found);
    return done;
  }

 private:
  std::mutex mutex_;
  std::map<std::int64_t, Done> waiting_;
  std::set<std::int64_t> cancelled_;
};

Meeting& meeting(const std::string& name) {
  static std::mutex* const mutex = new std::mutex;
  static auto* const meetings = new std::map<std::string, std::unique_ptr<Meeting>>;
  const std::lock_guard lock(*mutex);
  std::unique_ptr<Meeting>& found = (*meetings)[name];
  if (!found) found = std::make_unique<Meeting>();
  return *found;
}

class Barrier : public AsyncOpKernel {
 public:
  explicit Barrier(OpKernelConstruction* context) : AsyncOpKernel(context) {
    std::string name;
    OP_REQUIRES_OK(context, context->GetAttr("meeting", &name));
    OP_REQUIRES_OK(context, context->GetAttr("parties", &parties_));
    OP_REQUIRES(context, parties_ >= 1, absl::InvalidArgumentError("parties is less than 1"));
    meeting_ = &meeting(name);
  }
  void ComputeAsync(OpKernelContext* context, DoneCallback done) override {
    tensorflow::CancellationManager* const cancellation = context->cancellation_manager();
    const auto token = cancellation->get_cancellation_token();
    const std::int64_t id = next_id();
    Meeting* const meeting = meeting_;
    const bool registered = cancellation->RegisterCallback(token, [meeting, id, context] {
      const DoneCallback leave = meeting->cancel(id);
      if (!leave) return;
      context->SetStatus(absl::CancelledError("the step was cancelled while it waited in a barrier"));
      leave();
    });
    const DoneCallback leave = [cancellation, token, done] {
      cancellation->TryDeregisterCallback(token);
      done();
    };
    if (!registered || !meeting->arrive(id, parties_, leave)) {
      context->SetStatus(absl::CancelledError("the step was cancelled before its barrier"));
      done();
    }
  }

 private:
  static std::int64_t next_id() {
    static std::atomic<std::int64_t> last{0};
    return ++last;
  }
  int parties_ = 1;
  Meeting* meeting_ = nullptr;
};

class Drain : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    const std::vector<Note> taken = notes().take();
    Tensor* output = nullptr;
    OP_REQUIRES_OK(context,
                   context->allocate_output(0, TensorShape({static_cast<std::int64_t>(taken.size()), 3}), &output));
    auto rows = output->matrix<std::int64_t>();
    for (std::size_t i = 0; i < taken.size(); ++i) {
      const auto row = static_cast<Eigen::Index>(i);
      rows(row, 0) = taken[i].tag;
      rows(row, 1) = taken[i].start;
      rows(row, 2) = taken[i].end;
    }
  }
};

// For a process that cannot run StrettoDrain: moves up to `capacity` of the notes, the oldest first, to `rows` (three
// values each) and returns how many.
extern "C" std::int64_t stretto_take_notes(std::int64_t* rows, std::int64_t capacity) {
  const std::vector<Note> taken = notes().take(capacity);
  for (const Note& note : taken) {
    *rows++ = note.tag;
    *rows++ = note.start;
    *rows++ = note.end;
  }
  return static_cast<std::int64_t>(taken.size());
}

REGISTER_OP("StrettoCompute")
    .Attr("duration_ns: int")
    .Attr("tag: int")
    .Attr("stream: int = 0")
    .SetIsStateful()
    .SetShapeFn([](tensorflow::shape_inference::InferenceContext*) { return absl::OkStatus(); });
REGISTER_OP("StrettoStamp")
    .Input("value: T")
    .Output("same: T")
    .Attr("T: type")
    .Attr("tag: int")
    .SetIsStateful()
    .SetShapeFn(tensorflow::shape_inference::UnchangedShape);
REGISTER_OP("StrettoBarrier")
    .Attr("meeting: string")
    .Attr("parties: int")
    .SetIsStateful()
    .SetShapeFn([](tensorflow::shape_inference::InferenceContext*) { return absl::OkStatus(); });
REGISTER_OP("StrettoDrain")
    .Output("notes: int64")
    .SetIsStateful()
    .SetShapeFn([](tensorflow::shape_inference::InferenceContext* context) {
      context->set_output(0, context->Matrix(context->UnknownDim(), 3));
      return absl::OkStatus();
    });

REGISTER_KERNEL_BUILDER(Name("StrettoCompute").Device(tensorflow::DEVICE_CPU), Compute);
REGISTER_KERNEL_BUILDER(Name("StrettoStamp").Device(tensorflow::DEVICE_CPU), Stamp);
REGISTER_KERNEL_BUILDER(Name("StrettoBarrier").Device(tensorflow::DEVICE_CPU), Barrier);
REGISTER_KERNEL_BUILDER(Name("StrettoDrain").Device(tensorflow::DEVICE_CPU), Drain);

}  // namespace stretto_tf
