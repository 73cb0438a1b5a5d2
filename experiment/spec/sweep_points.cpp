// SPDX-License-Identifier: Apache-2.0
#include "experiment/spec/sweep_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "experiment/spec/input_files.hpp"

namespace stretto::experiment {

namespace {

using config::Node;
using config::Reader;

constexpr std::size_t kTried = 100;  // points of which one must be good

const Node* mapping_at(Reader& reader, const Node& root, const std::string& path, const char* example) {
  const Node* node = config::find_path(root, path);
  if (node == nullptr || node->is_null()) return nullptr;
  if (node->is_map()) return node;
  reader.error(node->place, path, "expected a mapping, found " + config::describe(*node), example);
  return nullptr;
}

void check_range_keys(Reader& reader, const Node& node, const std::string& key, const std::vector<std::string>& names) {
  for (const config::Entry& e : node.entries)
    if (std::find(names.begin(), names.end(), e.key) == names.end())
      reader.error(e.place, key + "." + e.key, "unknown key", name_hint(e.key, names));
}

config::Override scalar_override(const std::string& path, std::string text, const config::Place& place,
                                 const config::Place& value_place) {
  config::Override o{path, {}, place};
  o.value.kind = config::Kind::Scalar;
  o.value.text = std::move(text);
  o.value.place = value_place;
  return o;
}

void add_inputs(const Spec& spec, std::set<std::string>& inputs) {
  for (std::string& file : input_files(spec)) inputs.insert(std::move(file));
}

}  // namespace

Node without_axes(Node root) {
  for (config::Entry& entry : root.entries)
    if (entry.key == "vary" || entry.key == "sweep")
      for (config::Entry& axis : entry.value.entries) {
        axis.value = Node();
        axis.value.place = axis.place;
      }
  return root;
}

std::vector<std::string> SweepPoints::paths() const {
  std::vector<std::string> paths;
  for (const LocatedAxis& axis : axes_) paths.insert(paths.end(), axis.paths.begin(), axis.paths.end());
  for (const SampledField& field : fields_) paths.push_back(field.path);
  return paths;
}

bool SweepPoints::is_constrained(const std::string& path) const {
  return std::any_of(constraints_.begin(), constraints_.end(), [&](const Constraint& c) {
    return config::path_holds(path, c.left) || config::path_holds(path, c.right) || config::path_holds(c.left, path) ||
           config::path_holds(c.right, path);
  });
}

std::vector<config::Override> SweepPoints::overrides(std::size_t i) const {
  std::vector<config::Override> all;
  std::vector<std::size_t> at(axes_.size());
  std::size_t grid = i / samples_;
  for (std::size_t a = axes_.size(); a-- > 0;) {
    at[a] = grid % axes_[a].overrides.size();
    grid /= axes_[a].overrides.size();
  }
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    const std::vector<config::Override>& set = axes_[a].overrides[at[a]];
    all.insert(all.end(), set.begin(), set.end());
  }
  for (const SampledField& field : fields_) {
    const double u = field.sampler.at(i % samples_);
    if (field.range) {
      all.push_back(scalar_override(field.path, sample_value(*field.range, u), field.place, field.value_place));
    } else {
      const auto n = static_cast<double>(field.overrides.size());
      all.push_back(field.overrides[std::min(static_cast<std::size_t>(u * n), field.overrides.size() - 1)]);
    }
  }
  return all;
}

std::vector<std::string> SweepPoints::values(std::size_t i) const {
  std::vector<std::string> texts;
  for (const config::Override& o : overrides(i)) texts.push_back(config::to_flow(o.value));
  return texts;
}

std::optional<Point> SweepPoints::point(std::size_t i) {
  std::vector<config::Override> all = overrides(i);
  Point point;
  for (const config::Override& o : all) point.vary.emplace_back(o.path, config::to_flow(o.value));
  all.insert(all.end(), stronger_.begin(), stronger_.end());
  const Node tree = loader_.resolve(root_, all);
  for (const Constraint& c : constraints_)
    if (!holds(c, tree)) return std::nullopt;
  Reader reader;
  point.spec = read_spec(reader, tree, options_);
  if (!reader.diagnostics().empty()) {
    sort_findings(reader.diagnostics());
    throw UserError(std::move(reader.diagnostics()));
  }
  return point;
}

// Reads the sections that make points.
class SweepReader {
 public:
  SweepReader(const std::string& path, const Options& options) {
    s_.options_ = options;
    raw_ = s_.loader_.read(path);
  }

  SweepPoints read(const std::vector<std::string>& texts) {
    std::vector<config::Override> sets;
    for (const std::string& text : texts) collect([&] { sets.push_back(config::parse_override(text)); });
    collect([&] {
      s_.root_ = s_.loader_.resolve(std::move(raw_), sets);
      if (const config::Entry* jobs = s_.root_.find("jobs"))
        reader_.error(jobs->place, "jobs", "only `stretto run` takes several jobs", "vary runs them at several points");
      s_.axes_ = read_axes(reader_, s_.root_, kMaxSweepPoints);
      read_ranges();
      read_sample();
      read_constraints();
      check_overlaps();
    });
    fail();
    overrule_all(sets);
    count();
    fail();
    s_.root_ = without_axes(std::move(s_.root_));
    find_first();
    describe();
    return std::move(s_);
  }

 private:
  template <class F>
  void collect(F&& act) {
    try {
      act();
    } catch (const UserError& e) {
      auto& all = reader_.diagnostics();
      all.insert(all.end(), e.diagnostics().begin(), e.diagnostics().end());
    }
  }

  void fail() {
    if (reader_.diagnostics().empty()) return;
    sort_findings(reader_.diagnostics());
    throw UserError(std::move(reader_.diagnostics()));
  }

  bool may_vary(const config::Entry& entry, const std::string& key) {
    const std::string head = entry.key.substr(0, entry.key.find_first_of(".["));
    if (head != "vary" && head != "sweep" && head != "stretto" && head != "name" && !entry.key.ends_with(".include"))
      return true;
    reader_.error(entry.place, key, "cannot be varied");
    return false;
  }

  void read_ranges() {
    const char* example = "for example {cluster.workers.nic: {from: 1 Gbit/s, to: 40 Gbit/s, points: 5, scale: log}}";
    const Node* ranges = mapping_at(reader_, s_.root_, "sweep.ranges", example);
    if (ranges == nullptr) return;
    for (const config::Entry& entry : ranges->entries) {
      const std::string key = "sweep.ranges." + entry.key;
      if (!may_vary(entry, key)) continue;
      if (!entry.value.is_map()) {
        reader_.error(entry.value.place, key, "expected a mapping, found " + config::describe(entry.value), example);
        continue;
      }
      check_range_keys(reader_, entry.value, key, {"from", "to", "points", "scale"});
      const auto range = read_range(reader_, entry.value, entry.key, key);
      const config::Entry* count = entry.value.find("points");
      if (count == nullptr) {
        reader_.error(entry.value.place, key, "'points' is missing", example);
        continue;
      }
      const auto n = reader_.read_integer(count->value, key + ".points", 2, kMaxSamples);
      if (!range || !n) continue;
      LocatedAxis axis;
      axis.axis.path = entry.key;
      axis.paths = {entry.key};
      axis.place = entry.place;
      for (std::int64_t k = 0; k < *n; ++k) {
        std::string text = grid_value(*range, static_cast<double>(k) / static_cast<double>(*n - 1));
        if (!axis.axis.values.empty() && axis.axis.values.back() == text) continue;
        axis.overrides.push_back({scalar_override(entry.key, text, entry.place, entry.value.place)});
        axis.axis.values.push_back(std::move(text));
      }
      s_.axes_.push_back(std::move(axis));
    }
  }

  void read_sample() {
    const Node* sample = mapping_at(reader_, s_.root_, "sweep.sample", "keys: method, points, seed, fields");
    if (sample == nullptr) return;
    std::size_t method = 1;
    std::int64_t seed = 1;
    std::optional<std::int64_t> points;
    if (const config::Entry* e = sample->find("method"))
      if (const auto m = reader_.read_choice(e->value, "sweep.sample.method", {"random", "latin_hypercube"}))
        method = *m;
    if (const config::Entry* e = sample->find("seed"))
      if (const auto v =
              reader_.read_integer(e->value, "sweep.sample.seed", 0, std::numeric_limits<std::int64_t>::max()))
        seed = *v;
    const config::Entry* count = sample->find("points");
    if (count == nullptr)
      reader_.error(sample->place, "sweep.sample", "'points' is missing", "say how many samples to draw");
    else
      points = reader_.read_integer(count->value, "sweep.sample.points", 1, kMaxSamples);
    const char* example = "for example {cluster.workers.nic: {from: 1 Gbit/s, to: 40 Gbit/s, scale: log}}";
    const Node* fields = mapping_at(reader_, s_.root_, "sweep.sample.fields", example);
    if (fields == nullptr || fields->entries.empty())
      return reader_.error(sample->place, "sweep.sample", "'fields' is missing", example);
    if (!points) return;
    s_.samples_ = static_cast<std::size_t>(*points);
    sample_text_ =
        fmt::format("sample: {} points {} seed {}\n", method == 1 ? "latin_hypercube" : "random", *points, seed);
    for (const config::Entry& entry : fields->entries) {
      const std::string key = "sweep.sample.fields." + entry.key;
      if (!may_vary(entry, key)) continue;
      SweepPoints::SampledField field{
          entry.key,
          {},
          {},
          {},
          Sampler(static_cast<SampleMethod>(method), static_cast<std::uint64_t>(seed), entry.key, s_.samples_),
          entry.place,
          entry.value.place};
      if (entry.value.is_sequence() && !entry.value.items.empty()) {
        for (const Node& item : entry.value.items) {
          field.overrides.push_back({entry.key, item, entry.place});
          field.texts.push_back(config::to_flow(item));
        }
      } else if (entry.value.is_map()) {
        check_range_keys(reader_, entry.value, key, {"from", "to", "scale"});
        field.range = read_range(reader_, entry.value, entry.key, key);
        if (!field.range) continue;
      } else {
        reader_.error(entry.value.place, key,
                      "expected a range or a list of values, found " + config::describe(entry.value), example);
        continue;
      }
      s_.fields_.push_back(std::move(field));
    }
  }

  void read_constraints() {
    const Node* list = config::find_path(s_.root_, "sweep.constraints");
    if (list == nullptr || list->is_null()) return;
    if (!list->is_sequence())
      return reader_.error(list->place, "sweep.constraints", "expected a list, found " + config::describe(*list),
                           "for example [cluster.servers.count <= cluster.workers.count]");
    for (std::size_t i = 0; i < list->items.size(); ++i)
      if (auto c = read_constraint(reader_, list->items[i], fmt::format("sweep.constraints[{}]", i)))
        s_.constraints_.push_back(std::move(*c));
  }

  // What ranges and samples set must be apart from everything else (`vary` has its own rule).
  void check_overlaps() {
    std::vector<std::pair<std::string, config::Place>> seen;
    for (const LocatedAxis& a : s_.axes_) seen.emplace_back(a.axis.path, a.place);
    for (const auto& f : s_.fields_) seen.emplace_back(f.path, f.place);
    const Node* vary = config::find_path(s_.root_, "vary");
    const std::size_t plain = vary != nullptr ? vary->entries.size() : 0;
    for (std::size_t i = plain; i < seen.size(); ++i)
      for (std::size_t k = 0; k < i; ++k)
        if (config::path_holds(seen[i].first, seen[k].first) || config::path_holds(seen[k].first, seen[i].first))
          reader_.error(seen[i].second, "sweep",
                        fmt::format("'{}' and '{}' set the same", seen[k].first, seen[i].first),
                        "leave one of them out");
  }

  void overrule_all(const std::vector<config::Override>& sets) {
    s_.stronger_ = overrule(s_.axes_, sets, s_.warnings_);
    for (const config::Override& set : sets) {
      std::erase_if(s_.fields_, [&](const SweepPoints::SampledField& f) {
        if (!config::path_holds(set.path, f.path)) return false;
        s_.warnings_.push_back({Severity::Warning, f.place.span(), "sweep.sample.fields." + f.path,
                                fmt::format("is not sampled, since --set {} is stronger", set.path), ""});
        return true;
      });
      if (std::any_of(s_.fields_.begin(), s_.fields_.end(),
                      [&](const auto& f) { return config::path_holds(f.path, set.path); }))
        s_.stronger_.push_back(set);
    }
    if (s_.fields_.empty()) s_.samples_ = 1;
  }

  void count() {
    s_.size_ = s_.samples_;
    for (const LocatedAxis& axis : s_.axes_) {
      s_.size_ *= axis.overrides.size();
      if (s_.size_ > kMaxSweepPoints)
        return reader_.error(axis.place, axis.axis.path, fmt::format("more than {} points", kMaxSweepPoints),
                             "fewer values, ranges or samples");
    }
  }

  void find_first() {
    std::size_t bad = 0;
    std::optional<UserError> refused;
    for (std::size_t i = 0; i < s_.size_ && bad < kTried; ++i) {
      try {
        s_.first_ = s_.point(i);
        if (s_.first_) return;
      } catch (const UserError& e) {
        ++bad;
        if (!refused) refused = e;
      }
    }
    if (refused) throw UserError(*refused);
    throw UserError(fmt::format("the constraints leave none of {} points", s_.size_));
  }

  // Files of the points where all fields but one have their first value.
  void find_inputs() {
    std::set<std::string> inputs;
    add_inputs(s_.first_->spec, inputs);
    const auto look = [&](const config::Override& o) {
      collect([&] {
        std::vector<config::Override> all = s_.overrides(0);
        all.push_back(o);
        all.insert(all.end(), s_.stronger_.begin(), s_.stronger_.end());
        Reader quiet;
        add_inputs(read_spec(quiet, s_.loader_.resolve(s_.root_, all), s_.options_), inputs);
      });
    };
    for (const LocatedAxis& axis : s_.axes_)
      if (axis.axis.path.starts_with("workload") || axis.axis.path.starts_with("policies") ||
          axis.axis.path == "noise" || axis.axis.path == "noise.factors")
        for (const std::vector<config::Override>& set : axis.overrides)
          for (const config::Override& o : set) look(o);
    for (const auto& field : s_.fields_)
      for (const config::Override& o : field.overrides) look(o);
    reader_.diagnostics().clear();
    s_.inputs_.assign(inputs.begin(), inputs.end());
  }

  void describe() {
    find_inputs();
    std::string& out = s_.configuration_;
    out = effective_yaml(s_.first_->spec);
    for (const LocatedAxis& axis : s_.axes_) {
      out += "vary: " + axis.axis.path + ":";
      for (const std::string& value : axis.axis.values) out += " " + value + ",";
      out += "\n";
    }
    if (!s_.fields_.empty()) out += sample_text_;
    for (const auto& field : s_.fields_) {
      out += "sample: " + field.path + ":";
      if (field.range)
        out += fmt::format(" {} to {}{}", field.range->from, field.range->to, field.range->log ? " log" : "");
      for (const std::string& text : field.texts) out += " " + text + ",";
      out += "\n";
    }
    for (const Constraint& c : s_.constraints_) out += "constraint: " + c.text + "\n";
  }

  SweepPoints s_;
  Node raw_;
  Reader reader_;
  std::string sample_text_;
};

SweepPoints load_sweep(const std::string& path, const std::vector<std::string>& overrides, const Options& options) {
  return SweepReader(path, options).read(overrides);
}

}  // namespace stretto::experiment
