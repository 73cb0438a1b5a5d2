// SPDX-License-Identifier: Apache-2.0
#include "report/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/words.hpp"
#include "report/table.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::report {

namespace {

using analysis::PolicyResult;

// Pixels.
constexpr double kRow = 20;
constexpr double kHead = 44;  // above the rows of a point: its title, and those of the panels
constexpr double kFoot = 30;  // below them: the axes
constexpr double kPanel = 250;
constexpr double kApart = 44;
constexpr double kLetter = 6.4;
constexpr std::size_t kMostLetters = 34;

constexpr const char* kBlue = "#0072b2";
constexpr const char* kGreen = "#00775a";
constexpr const char* kOrange = "#c44a00";
constexpr const char* kGrey = "#5a6672";

// From values to pixels of a panel.
struct Axis {
  double left = 0;
  double low = 0;
  double high = 1;
  double operator()(double value) const { return left + (value - low) / (high - low) * kPanel; }
};

double round_step(double span, int count) {
  const double raw = span / count;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double m : {1, 2, 5})
    if (m * power >= raw * 0.999) return m * power;
  return 10 * power;
}

std::string shortened(const std::string& name) {
  std::string text = escape_control(name);
  if (display_width(text) <= kMostLetters) return text;
  std::size_t end = 0;
  for (std::size_t letters = 0; letters + 3 < kMostLetters; ++letters) do
      ++end;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U);
  return text.substr(0, end) + "...";
}

class Figure {
 public:
  void point(const std::string& title, std::vector<const PolicyResult*> rows) {
    std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) {
      return std::pair(a->deadlock.has_value(), a->step_time.estimate.mean) <
             std::pair(b->deadlock.has_value(), b->step_time.estimate.mean);
    });
    for (const PolicyResult* r : rows)
      names_ = std::max(names_, 14 + kLetter * static_cast<double>(display_width(shortened(r->policy))));
    points_.push_back({title, std::move(rows)});
  }

  std::string finish(const std::string& name, const std::string& setup) {
    y_ = 50;
    for (const Point& p : points_) draw(p);
    const double width = names_ + 2 * kPanel + kApart + 60;
    const std::string head = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
        "{1:.0f}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#16202b\">\n",
        width, y_ + 4);
    const std::string title = fmt::format(
        "<title>Gains of {}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n", xml_text(name));
    std::string top =
        fmt::format("<text x=\"8\" y=\"20\" font-size=\"15\" font-weight=\"bold\">{}</text>\n", xml_text(name));
    top += fmt::format("<text x=\"8\" y=\"38\" fill=\"{}\">{}</text>\n", kGrey, xml_text(setup));
    return head + title + top + out_ + "</svg>\n";
  }

 private:
  struct Point {
    std::string title;
    std::vector<const PolicyResult*> rows;
  };

  void text(double x, double y, std::string_view anchor, std::string_view colour, const std::string& words) {
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" fill=\"{}\">{}</text>\n", x, y, anchor,
                        colour, xml_text(words));
  }

  void line(double x1, double y1, double x2, double y2, std::string_view colour, double thick) {
    out_ += fmt::format("<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"{}\" stroke-width=\"{}\"/>\n", x1, y1, x2,
                        y2, colour, thick);
  }

  template <class F>
  void grid(const Axis& axis, double top, double bottom, F words) {
    const double step = round_step(axis.high - axis.low, 4);
    for (double k = std::ceil(axis.low / step - 1e-9); k * step <= axis.high + step * 1e-9; ++k) {
      line(axis(k * step), top, axis(k * step), bottom, "#dde2e7", 1);
      text(axis(k * step), bottom + 16, "middle", kGrey, words(k * step));
    }
  }

  void draw(const Point& p) {
    const double top = y_ + kHead;
    const double bottom = top + kRow * static_cast<double>(p.rows.size());
    double slowest = 0;
    double low = 0;
    double high = 0.01;
    std::optional<double> limit;
    for (const PolicyResult* r : p.rows) {
      slowest = std::max(slowest, r->step_time.estimate.ci95_high);
      if (const auto& gain = r->gain_over_random.estimate) {
        low = std::min(low, gain->ci95_low);
        high = std::max(high, gain->ci95_high);
      }
    }
    const auto random = std::find_if(p.rows.begin(), p.rows.end(), [](const auto* r) { return r->policy == "random"; });
    if (random != p.rows.end() && !(*random)->deadlock)
      for (const PolicyResult* r : p.rows)
        if (r->lower_bound_s.value && *r->lower_bound_s.value > 0)
          limit = std::max(limit.value_or(-1), (*random)->step_time.estimate.mean / *r->lower_bound_s.value - 1);
    if (limit) high = std::max(high, *limit);
    const double pad = 0.05 * (high - low);
    const Axis time{names_, 0, slowest > 0 ? 1.03 * slowest : 1};
    const Axis gain{names_ + kPanel + kApart, low - pad, high + pad};
    if (!p.title.empty()) text(8, y_ + 18, "start", "#16202b", p.title);
    text(time.left, y_ + 36, "start", kGrey, "step time, \u25c7 lower bound");
    text(gain.left, y_ + 36, "start", kGrey, "gain over random, 95 % interval");
    if (limit) {
      out_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"#f0e6cd\"/>\n",
                          gain(*limit), top, gain(gain.high) - gain(*limit), bottom - top);
      text(gain(gain.high) + 4, top + 12, "start", "#6b4e00", "bound");
    }
    grid(time, top, bottom, [](double t) { return t == 0 ? std::string("0") : analysis::seconds_text(t); });
    grid(gain, top, bottom, [](double g) { return fmt::format("{:.3g} %", std::abs(g) < 1e-9 ? 0.0 : 100 * g); });
    line(gain(0), top, gain(0), bottom, kGrey, 1.2);
    for (std::size_t i = 0; i < p.rows.size(); ++i) row(*p.rows[i], top + kRow * static_cast<double>(i), time, gain);
    y_ = bottom + kFoot;
  }

  void row(const PolicyResult& r, double y, const Axis& time, const Axis& gain) {
    const double middle = y + kRow / 2;
    text(8, middle + 4, "start", "#16202b", shortened(r.policy));
    if (r.deadlock) {
      text(time.left + 4, middle + 4, "start", kOrange, "deadlock");
      return;
    }
    const analysis::Estimate& t = r.step_time.estimate;
    out_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"10\" fill=\"{}\"/>\n", time.left,
                        middle - 5, time(t.mean) - time.left, kBlue);
    if (t.ci95_high > t.ci95_low) line(time(t.ci95_low), middle, time(t.ci95_high), middle, "#16202b", 1.5);
    if (r.lower_bound_s.value) {
      const double b = time(*r.lower_bound_s.value);
      out_ += fmt::format("<path d=\"M{0:.1f} {1:.1f}l5 6l-5 6l-5 -6Z\" fill=\"#fff\" stroke=\"#16202b\"/>\n", b,
                          middle - 6);
    }
    const auto& g = r.gain_over_random.estimate;
    if (!g) {
      text(gain(0) + 6, middle + 4, "start", kGrey, "baseline");
      return;
    }
    const char* colour = g->mean < 0 ? kOrange : kGreen;
    if (g->ci95_high > g->ci95_low) {
      line(gain(g->ci95_low), middle, gain(g->ci95_high), middle, colour, 2);
      line(gain(g->ci95_low), middle - 4, gain(g->ci95_low), middle + 4, colour, 1.5);
      line(gain(g->ci95_high), middle - 4, gain(g->ci95_high), middle + 4, colour, 1.5);
    }
    out_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\"/>\n", gain(g->mean), middle, colour);
  }

  std::vector<Point> points_;
  double names_ = 60;
  double y_ = 0;
  std::string out_;
};

}  // namespace

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : escape_control(text)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string gains_svg(const analysis::RunResult& result) {
  Figure figure;
  for (std::size_t i = 0; i < result.results.size();) {
    const auto& vary = result.results[i].vary;
    std::string title;
    for (const auto& [path, value] : vary) title += fmt::format("{}{} = {}", title.empty() ? "" : ", ", path, value);
    std::vector<const PolicyResult*> rows;
    for (; i < result.results.size() && result.results[i].vary == vary; ++i) rows.push_back(&result.results[i]);
    figure.point(title, std::move(rows));
  }
  return figure.finish(result.name, result.setup);
}

}  // namespace stretto::report
