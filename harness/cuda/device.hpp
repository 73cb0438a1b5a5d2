// SPDX-License-Identifier: Apache-2.0
// From timed operations of a GPU to a device file of stretto's roofline. Plain C++: nothing here needs CUDA.
//
//   peak        the best rate of a matrix product
//   bandwidth   the best rate of an elementwise kernel, bytes read and written
//   launch      of a kernel that does nothing, back to back
//   copies      time = launch + bytes / rate, each way, by least squares of relative errors
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace stretto_cuda {

struct Sample {
  double work = 0;  // operations, or bytes
  double seconds = 0;
};

struct Line {
  double start = 0;  // s, >= 0
  double slope = 0;  // s per byte, > 0 if the samples tell
};

// Minimises sum ((start + slope x - y) / y)^2 over start >= 0.
inline Line fit_line(const std::vector<Sample>& samples) {
  double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0;
  for (const Sample& s : samples) {
    if (!(s.seconds > 0)) continue;
    const double weight = 1 / (s.seconds * s.seconds);
    w += weight;
    wx += weight * s.work;
    wxx += weight * s.work * s.work;
    wy += weight * s.seconds;
    wxy += weight * s.work * s.seconds;
  }
  const double d = w * wxx - wx * wx;
  Line line;
  if (d > 0) {
    line.slope = (w * wxy - wx * wy) / d;
    line.start = (wy - line.slope * wx) / w;
  }
  if (line.start < 0 || d <= 0) {
    line.start = 0;
    line.slope = wxx > 0 ? wxy / wxx : 0;
  }
  return line;
}

inline double best_rate(const std::vector<Sample>& samples) {
  double best = 0;
  for (const Sample& s : samples)
    if (s.seconds > 0) best = std::max(best, s.work / s.seconds);
  return best;
}

struct Probe {
  std::string name;    // of the GPU
  std::string source;  // driver and versions
  std::vector<Sample> products;
  std::vector<Sample> elementwise;
  std::vector<Sample> to_device;
  std::vector<Sample> from_device;
  double launch_s = 0;
};

// Letters and digits; anything else is '_'.
inline std::string plain_name(std::string name) {
  for (char& c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))) c = '_';
  return name.empty() ? "gpu" : name;
}

inline std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

inline void add_samples(std::string& out, const char* what, const char* unit, const std::vector<Sample>& samples) {
  out.append("# ").append(what).append(":");
  for (const Sample& s : samples)
    out.append(" ")
        .append(number(s.work))
        .append(" ")
        .append(unit)
        .append(" ")
        .append(number(s.seconds * 1e6))
        .append(" us;");
  out.append("\n");
}

// A text value of a name may hold anything; in a comment only line ends matter.
inline std::string comment(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return text;
}

inline std::string device_yaml(const Probe& p) {
  std::string out =
      "# " + comment(p.name) + ", timed with CUDA events by harness/cuda/probe. " + comment(p.source) + "\n";
  add_samples(out, "matrix products (fp32)", "flop", p.products);
  add_samples(out, "elementwise", "B", p.elementwise);
  add_samples(out, "host to device", "B", p.to_device);
  add_samples(out, "device to host", "B", p.from_device);
  const Line in = fit_line(p.to_device), back = fit_line(p.from_device);
  const auto field = [&](const char* key, const std::string& value, const char* unit) {
    out.append(key).append(": ").append(value).append(unit).append("\n");
  };
  field("stretto", "1", "");
  field("name", plain_name(p.name), "");
  field("kind", "gpu", "");
  field("peak_gflops", number(best_rate(p.products) / 1e9), "");
  field("memory_gbytes", number(best_rate(p.elementwise) / 1e9), "");
  field("launch", number(p.launch_s * 1e6), " us");
  if (in.slope > 0) field("copy_in", number(8e-9 / in.slope), " Gbit/s");
  if (back.slope > 0) field("copy_out", number(8e-9 / back.slope), " Gbit/s");
  field("copy_launch", number((in.start + back.start) / 2 * 1e6), " us");
  return out;
}

}  // namespace stretto_cuda
