// SPDX-License-Identifier: Apache-2.0
// Experiment specification: defaults, effective configuration, vary, the cluster it gives, shipped files.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "experiment/spec/fields.hpp"
#include "experiment/spec/spec.hpp"
#include "sim/base/random.hpp"
#include "tests/support/paths.hpp"

namespace stretto::experiment {
namespace {

namespace fs = std::filesystem;

const Options& shipped() {
  static const Options kOptions{source_path("configs")};
  return kOptions;
}

const std::string kHead = "stretto: 1\nname: t\nworkload: {model: vgg_16}\n";

Experiment read(const std::string& text, const std::vector<std::string>& sets = {}) {
  return read_experiment(text, "t.yaml", sets, shipped());
}

Spec read_one(const std::string& text) { return read(text).points.at(0).spec; }

TEST(Spec, TableDefaultsAreTheStructsDefaults) {
  config::Reader reader;
  Spec from_table;
  from_table.policies.clear();
  int with_default = 0;
  for (const auto& field : spec_fields()) {
    if (field.record.fallback.empty()) continue;
    const config::Node value = config::parse_text(field.record.fallback, "default");
    field.read(reader, value, field.record.path, from_table);
    ++with_default;
  }
  EXPECT_EQ(render(reader.diagnostics()), "");
  EXPECT_TRUE(from_table == Spec());
  EXPECT_GT(with_default, 35);
}

TEST(Spec, EveryFieldIsDocumentedOnce) {
  std::set<std::string> paths;
  for (const config::FieldRecord& r : field_records()) {
    EXPECT_TRUE(paths.insert(r.path).second) << r.path;
    EXPECT_FALSE(r.type.empty()) << r.path;
    EXPECT_FALSE(r.help.empty()) << r.path;
  }
}

TEST(Spec, EveryFieldCanBeSetByItsPath) {
  for (const auto& field : spec_fields()) {
    const config::FieldRecord& r = field.record;
    if (r.fallback.empty() || r.path.ends_with(".cores")) continue;
    std::vector<std::string> sets = {r.path + "=" + r.fallback};
    // Both directions of a network card are given together.
    if (r.path.ends_with(".up")) sets.push_back(r.path.substr(0, r.path.size() - 2) + "down=unlimited");
    if (r.path.ends_with(".down")) sets.push_back(r.path.substr(0, r.path.size() - 4) + "up=unlimited");
    // Fields of one topology.
    std::vector<std::string> base;
    if (r.path.starts_with("cluster.network.fat_tree")) base = {"cluster.network.topology=fat_tree"};
    for (const char* of_racks : {"racks.", "hop_latency", "workers_at", "servers_at"})
      if (r.path.starts_with(std::string("cluster.network.") + of_racks)) base = {"cluster.network.topology=racks"};
    if (r.path.starts_with("all_reduce.")) base = {"training.exchange=all_reduce"};
    sets.insert(sets.end(), base.begin(), base.end());
    EXPECT_TRUE(read(kHead, sets).points.at(0).spec == read(kHead, base).points.at(0).spec) << r.path;
  }
}

TEST(Spec, ReadsValues) {
  const Spec s = read_one(kHead + R"(
cluster:
  workers: {count: 4, nic: {up: 1 Gbit/s, down: 10 Gbit/s}, send: {per_message: 44 us, per_byte: 0.66 ns/B}}
  servers: {nic: 800 MB/s, update_rate: 4 GB/s, placement: {by_name: {a: 0}}}
  network: {latency: 0.1 us, efficiency: 95 %}
policies: [{tic: {ties: random}}, fifo]
runs: {replications: 7}
)");
  EXPECT_EQ(s.workload.file, source_path("configs/workloads/vgg_16.workload.json"));
  EXPECT_EQ(s.cluster.workers.nic.up.bits_per_second(), 1'000'000'000);
  EXPECT_EQ(s.cluster.servers.nic.down.bits_per_second(), 6'400'000'000);
  EXPECT_EQ(s.cluster.servers.update_rate.bits_per_second(), 32'000'000'000);
  EXPECT_EQ(s.cluster.network.latency.ps(), 100'000);
  EXPECT_EQ(s.cluster.network.efficiency, 0.95);
  EXPECT_EQ(s.runs.min_replications, 7U);
  EXPECT_EQ(s.runs.max_replications, 7U);
  ASSERT_EQ(s.policies.size(), 2U);
  EXPECT_EQ(s.policies[0].name, "tic");
  EXPECT_EQ(s.policies[0].options.at(0).text, "random");
  EXPECT_EQ(s.policies[0].options.at(0).place.line, 9);
  EXPECT_EQ(s.cluster.servers.placement.by_name.at(0).parameter, "a");

  const cluster::Cluster c = make_cluster(s);
  ASSERT_EQ(c.workers.size(), 4U);
  ASSERT_EQ(c.servers.size(), 1U);
  EXPECT_EQ(c.workers[3].name, "worker 3");
  EXPECT_EQ(c.workers[3].send.of(Bytes(1000)).ps(), 44'000'000 + 660'000);
  EXPECT_EQ(c.workers[2].nic.up.bits_per_second(), 1'000'000'000);
  EXPECT_EQ(c.network.latency.ps(), 100'000);
}

TEST(Spec, VaryIsACartesianProductInTheOrderOfTheFile) {
  const Experiment e =
      read(kHead + "vary:\n  runs.seed: [1, 2]\n  cluster.workers.nic: [1 Gbit/s, {up: 2 Gbit/s, down: 3 Gbit/s}]\n");
  ASSERT_EQ(e.points.size(), 4U);
  ASSERT_EQ(e.axes.size(), 2U);
  const std::vector<std::pair<std::uint64_t, std::int64_t>> expected = {
      {1, 1'000'000'000}, {1, 3'000'000'000}, {2, 1'000'000'000}, {2, 3'000'000'000}};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(e.points[i].spec.runs.seed, expected[i].first);
    EXPECT_EQ(e.points[i].spec.cluster.workers.nic.down.bits_per_second(), expected[i].second);
  }
  EXPECT_EQ(e.points[1].vary, (std::vector<std::pair<std::string, std::string>>{
                                  {"runs.seed", "1"}, {"cluster.workers.nic", "{up: 2 Gbit/s, down: 3 Gbit/s}"}}));
}

TEST(Spec, AnOverrideIsStrongerThanVary) {
  const std::string text = kHead + "vary: {cluster.workers: [{count: 2}, {count: 3, threads: 5}], runs.seed: [1, 2]}\n";
  const Experiment e = read(text, {"runs.seed=7", "cluster.workers.threads=9"});
  ASSERT_EQ(e.axes.size(), 1U);
  ASSERT_EQ(e.points.size(), 2U);
  for (const Point& point : e.points) {
    EXPECT_EQ(point.spec.runs.seed, 7U);
    EXPECT_EQ(point.spec.cluster.workers.threads, 9U);
  }
  EXPECT_EQ(e.points[1].spec.cluster.workers.count, 3U);
  ASSERT_EQ(e.warnings.size(), 1U);
  EXPECT_EQ(e.warnings[0].severity, Severity::Warning);
  EXPECT_EQ(e.warnings[0].key, "vary.runs.seed");
  EXPECT_TRUE(read(text).warnings.empty());
}

TEST(Spec, FilesOfPoliciesStandBesideTheExperiment) {
  const std::string directory = testing::TempDir() + "policy_files";
  fs::create_directories(directory);
  {
    std::ofstream out(directory + "/e.yaml");
    out << kHead << "policies: [{schedule: a.json}]\nvary: {policies: [[{recorded: r.json}], [fifo]], "
        << "\"policies[0]\": [{order_file: {file: o.txt}}, tac]}\n";
  }
  const Experiment e = load_experiment(directory + "/e.yaml", {}, shipped());
  const Experiment again = read(effective_yaml(e));
  for (const Experiment* x : {&e, &again})
    EXPECT_EQ(x->points.at(0).spec.policies.at(0).options.at(0).text, directory + "/o.txt");
  EXPECT_EQ(again.axes, e.axes);
  EXPECT_NE(e.axes.at(0).values.at(0).find(directory + "/r.json"), std::string::npos);
  fs::remove_all(directory);
}

TEST(Spec, VaryMaySupplyWhatTheFileLacks) {
  const Experiment e = read("stretto: 1\nvary: {workload.model: [vgg_16, resnet_50]}\n");
  ASSERT_EQ(e.points.size(), 2U);
  EXPECT_EQ(e.points[1].spec.workload.model, "resnet_50");
}

TEST(Spec, VaryIsLimited) {
  std::string values = "1";
  for (int i = 2; i <= 100; ++i) values += ", " + std::to_string(i);
  const std::string axes = "vary: {cluster.workers.count: [" + values + "], cluster.servers.count: [" + values + "]";
  EXPECT_EQ(read(kHead + axes + "}\n").points.size(), kMaxPoints);
  EXPECT_THROW(read(kHead + axes + ", runs.seed: [1, 2]}\n"), UserError);
}

using Vary = std::vector<std::pair<std::string, std::string>>;

TEST(Spec, ScalingVariesWorkersAndKeepsTheBatchOrTheSamples) {
  const std::string sets = "vary: {scaling.strong: [1, 2, 8]}\ncluster: {workers: {count: 4}}\n";
  const Experiment strong = read(kHead + sets, {"workload.batch_per_worker=16"});
  ASSERT_EQ(strong.points.size(), 3U);
  EXPECT_EQ(strong.points[2].vary, (Vary{{"cluster.workers.count", "8"}, {"workload.batch_per_worker", "8"}}));
  for (const Point& p : strong.points) EXPECT_EQ(p.spec.cluster.workers.count * *p.spec.workload.batch_per_worker, 64);
  const Experiment again = read(effective_yaml(strong));
  ASSERT_EQ(again.points.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(again.points[i].spec == strong.points[i].spec);
  const Experiment weak = read(kHead + "vary: {scaling.weak: [1, 2], runs.seed: [1, 2]}\n");
  ASSERT_EQ(weak.points.size(), 4U);
  EXPECT_EQ(weak.points[2].vary, (Vary{{"cluster.workers.count", "2"}, {"runs.seed", "1"}}));
  EXPECT_EQ(weak.points[2].spec.workload.batch_per_worker, std::nullopt);
  for (const char* bad : {"scaling.strong: [1]", "scaling.week: [1]", "scaling.weak: [0]",
                          "scaling.weak: [1], cluster.workers.count: [2]", "cluster.workers: [{}], scaling.weak: [1]"})
    EXPECT_THROW(read(kHead + "vary: {" + bad + "}\n"), UserError) << bad;
  EXPECT_THROW(read(kHead + "vary: {scaling.strong: [3]}\n", {"workload.batch_per_worker=16"}), UserError);
  EXPECT_EQ(read(kHead + "vary: {scaling.weak: [1, 2]}\n", {"cluster.workers.count=3"}).points.size(), 1U);
}

TEST(Spec, ACoefficientThatReadsLikeAPercentageIsSaid) {
  EXPECT_EQ(read(kHead, {"noise.compute_cv=5"}).warnings.size(), 1U);
  EXPECT_TRUE(read(kHead, {"noise.compute_cv=500 %"}).warnings.empty());
  EXPECT_TRUE(read(kHead, {"noise.compute_cv=0.5"}).warnings.empty());
}

TEST(Spec, FindingsOfAllPointsAreSaidOnce) {
  try {
    read(kHead + "vary: {runs.seed: [1, x, y], cluster.workers.count: [1, 0]}\nruns: {warm_up: yes}\n");
    FAIL();
  } catch (const UserError& e) {
    ASSERT_EQ(e.diagnostics().size(), 4U) << render(e.diagnostics());
    EXPECT_TRUE(std::all_of(e.diagnostics().begin(), e.diagnostics().end(),
                            [](const Diagnostic& d) { return d.span.line >= 4; }));
  }
}

// Random text of an experiment out of fields with valid values.
std::vector<std::string> random_sets(RandomStream& random) {
  const auto pick = [&](const std::vector<std::string>& values) { return values[random.below(values.size())]; };
  const std::vector<std::pair<std::string, std::vector<std::string>>> fields = {
      {"name", {"plain", "\"a: b # c\"", "\"null\"", "\"\xC3\xA9 \\\"q\\\"\""}},
      {"workload.model", {"vgg_16", "resnet_50"}},
      {"workload.batch_per_worker", {"1", "128"}},
      {"workload.mode", {"training", "inference"}},
      {"workload.transfers", {"{precision: int8}", "{ratio: 0.1, encode: 1 ns/B}", "{decode: 0.3 ns/B}"}},
      {"workload.input_pipeline", {"12 ms"}},
      {"workload.freeze", {"[\"a: b\", \"*\"]", "[conv1/*]"}},
      {"workload.leave_out", {"[\"*/L2: Loss\"]", "[a, \"b?\"]"}},
      {"noise.compute_cv", {"2 %", "0.1"}},
      {"noise.distribution", {"gamma"}},
      {"noise.drawn_per", {"op", "step"}},
      {"noise.stragglers", {"{slowdown: 2.5, mean_on: 1 s, mean_off: 3 ms}", "{mean_on: 1 us, times: fixed}"}},
      {"noise.slow_workers", {"[{worker: 0, slowdown: 1.3, from: 1 ms}]", "[{worker: 0, slowdown: 0.5, until: 1 s}]"}},
      {"noise.late_starts",
       {"[{worker: 0, delay: 5 ms, probability: 10 %}]", "[{worker: 0, delay: 1 s, times: exponential}]"}},
      {"workload.sparse", {"[{parameter: \"emb: *\", share: 2 %}]"}},
      {"noise.nics", {"[{server: 0, factor: 0.5}, {worker: 0, at: 1 s, factor: 3}]"}},
      {"cluster.workers.count", {"1", "17", "4096"}},
      {"cluster.workers.device",
       {"{name: x, kind: cpu, cores: 7, speed: 0.1}", "{speed: 3.3333333333333335}", "{kind: cpu}",
        "{streams: 2, order: random, copy_in: 12 GB/s, copy_launch: 5 us}",
        "{kind: cpu, cores: 8, intra_op: 4, intra_op_share: 90 %, order: priority}",
        "{peak_gflops: 10, memory_gbytes: 3, efficiency: {conv_3x3: 2.1, pooling: 40 %}, backward_efficiency: {conv: "
        "0.3}}"}},
      {"cluster.workers.nic", {"10 Gbit/s", "unlimited", "{up: 1234567 bit/s, down: 1 TiB/s}"}},
      {"cluster.workers.threads", {"0", "3"}},
      {"cluster.workers.send", {"{per_message: 44.123456 us}", "{per_byte: 0.1 ns/B}"}},
      {"cluster.servers.count", {"2", "1024"}},
      {"cluster.servers.receive", {"{per_message: 1 ps, per_byte: 3.3333 ps/B}"}},
      {"cluster.servers.update_rate", {"3 GB/s", "1 GiB/s"}},
      {"cluster.servers.placement",
       {"greedy", "partitioned", "{partitioned: {size: 4 MiB}}", "{partitioned: {parts: 3}}",
        "{by_name: {\"a.b: c\": 0, d/e: 0}}", "hash", "p3", "byteps", "{hash: {size: 4 MB}}", "{p3: {size: 160 kB}}"}},
      {"cluster.network.latency", {"50 us", "1 ps", "1.5 ms"}},
      {"cluster.network.efficiency", {"95.6 %", "0.3333333333333333", "1e-3"}},
      {"cluster.network.streams", {"0", "4"}},
      {"cluster.network.rate_cap", {"800 MB/s"}},
      {"cluster.network.model", {"fifo"}},
      {"cluster.step_overhead", {"0.8 ms"}},
      {"training",
       {"{barrier: false, accumulation: 3}", "{synchronization: async, optimizer: adam}",
        "{synchronization: ssp, staleness: 0}", "{synchronization: ssp}", "{synchronization: local, local_steps: 1}",
        "{synchronization: local, local_steps: 7, barrier: false}", "{optimizer: momentum}"}},
      {"cluster.servers.aggregate_rate", {"3 GB/s"}},
      {"cluster.servers.per_host", {"2", "64"}},
      {"cluster.servers.cores", {"4"}},
      {"cluster.network.loopback", {"1 GB/s"}},
      {"cluster.workers.per_host", {"2", "8"}},
      {"cluster.workers.pcie", {"12 GB/s"}},
      {"cluster.workers.nvlink", {"150 GB/s", "{rate: unlimited, latency: 2 us}"}},
      {"policies",
       {"[tac]", "[{tic: {ties: random, \"x y\": \"\\n\"}}, fifo]", "[{a: }]",
        "[{schedule: \"a b.json\"}, {tac: {window: 2, credit: 4 MiB}}]"}},
      {"runs",
       {"{iterations: 7, warm_up: 6}", "{replications: 3, seed: 9}", "{replications: {max: 9, precision: 5 %}}"}},
      {"vary", {"{runs.seed: [1, 2], cluster.servers.placement: [greedy, {partitioned: {size: 1 MiB}}]}"}},
  };
  std::vector<std::string> sets;
  for (const auto& [path, values] : fields)
    if (random.below(2) == 0) sets.push_back(path + "=" + pick(values));
  // Inference knows none of the modes.
  if (std::find(sets.begin(), sets.end(), "workload.mode=inference") != sets.end())
    std::erase_if(sets, [](const std::string& s) { return s.starts_with("training="); });
  return sets;
}

TEST(Spec, EffectiveConfigurationGivesTheSameSpec) {
  RandomStream random(5, "effective round trip");
  std::size_t points = 0;
  for (int i = 0; i < 300; ++i) {
    const std::vector<std::string> sets = random_sets(random);
    const Experiment first = read(kHead, sets);
    const std::string text = effective_yaml(first);
    const Experiment again = read(text);
    ASSERT_EQ(again.axes, first.axes) << text;
    ASSERT_EQ(again.points.size(), first.points.size());
    points += first.points.size();
    for (std::size_t p = 0; p < first.points.size(); ++p) {
      ASSERT_TRUE(again.points[p].spec == first.points[p].spec) << text << effective_yaml(first.points[p].spec);
      ASSERT_EQ(again.points[p].vary, first.points[p].vary);
      ASSERT_TRUE(read_one(effective_yaml(first.points[p].spec)) == first.points[p].spec);
    }
    ASSERT_EQ(effective_yaml(again), text);
  }
  EXPECT_GT(points, 300U);
}

TEST(Spec, GeneratedWorkloadsAreWrittenWithTheirDefaults) {
  const std::string head = "stretto: 1\nname: t\n";
  for (const std::string workload :
       {"{generate: {transformer: {}}}", "{generate: {transformer: {architecture: gpt, heads: 2, hidden: 128}}}",
        "{generate: {recommender: {rows: [3, 5], bottom_mlp: 64}}, mode: inference}",
        "{generate: {recommender: {interaction: concat}}, batch_per_worker: 3}"}) {
    const Spec spec = read_one(head + "workload: " + workload + "\n");
    const std::string text = effective_yaml(spec);
    EXPECT_TRUE(read_one(text) == spec) << text;
    EXPECT_EQ(effective_yaml(read_one(text)), text);
    EXPECT_EQ(spec.workload.file, "");
  }
  const std::string text = effective_yaml(read_one(head + "workload: {generate: {transformer: {}}}\n"));
  EXPECT_NE(text.find("  generate:\n    transformer:\n      architecture: bert\n      layers: 24\n"),
            std::string::npos);
  EXPECT_EQ(text.find("file:"), std::string::npos);
  EXPECT_EQ(text.find("recommender"), std::string::npos);
  // Beside jobs, one of which is another model of the same generator.
  const Experiment jobs =
      read(head +
           "workload: {generate: {transformer: {layers: 2}}}\njobs: [{name: a}, {name: b, workload: "
           "{generate: {transformer: {layers: 4}}}}]\n");
  const Spec& whole = jobs.points.at(0).spec;
  EXPECT_TRUE(read_one(effective_yaml(whole)) == whole) << effective_yaml(whole);
  ASSERT_EQ(whole.jobs.size(), 2U);
  EXPECT_EQ(whole.jobs[0].workload.generate.values.at("layers"), std::vector<std::int64_t>{2});
  EXPECT_EQ(whole.jobs[1].workload.generate.values.at("layers"), std::vector<std::int64_t>{4});
}

TEST(Spec, ColocatedIsAllNoneOrACount) {
  const auto colocated = [](const std::string& value) {
    const Experiment e =
        read(kHead, {"cluster.servers.count=3", "cluster.workers.count=3", "cluster.servers.colocated=" + value});
    EXPECT_TRUE(read_one(effective_yaml(e)) == e.points.at(0).spec) << value;
    return make_cluster(e.points.at(0).spec).servers;
  };
  for (const auto& [value, on_workers] : {std::pair("true", 3U), {"false", 0U}, {"0", 0U}, {"2", 2U}, {"3", 3U}}) {
    const auto servers = colocated(value);
    ASSERT_EQ(servers.size(), 3U);
    for (std::uint32_t s = 0; s < 3; ++s) {
      EXPECT_EQ(servers[s].on_worker.has_value(), s < on_workers) << value;
      EXPECT_EQ(servers[s].on_worker.value_or(s), s) << value;
    }
  }
}

TEST(Spec, AWorkloadFileIsFoundFromWhereTheExperimentStands) {
  const Experiment e = load_experiment(source_path("tests/golden/config/shipped/with_file.yaml"), {}, shipped());
  const std::string& file = e.points.at(0).spec.workload.file;
  EXPECT_TRUE(fs::exists(file)) << file;
  EXPECT_EQ(read_one(effective_yaml(e)).workload.file, file);
  EXPECT_EQ(e.files.size(), 1U);
}

std::vector<fs::path> files_in(const std::string& directory) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(source_path(directory))) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string findings(const std::function<void()>& act) {
  try {
    act();
  } catch (const UserError& e) {
    return render(e.diagnostics());
  }
  return "";
}

TEST(Shipped, EveryExperimentLoads) {
  const auto files = files_in("configs/experiments");
  EXPECT_GE(files.size(), 4U);
  for (const fs::path& file : files)
    EXPECT_EQ(findings([&] { load_experiment(file.string(), {}, shipped()); }), "") << file;
}

TEST(Shipped, EveryClusterAndDeviceLoads) {
  EXPECT_GE(files_in("configs/clusters").size(), 3U);
  EXPECT_GE(files_in("configs/devices").size(), 3U);
  for (const fs::path& file : files_in("configs/clusters"))
    EXPECT_EQ(findings([&] { read(kHead, {"cluster.include=" + fs::absolute(file).string()}); }), "") << file;
  for (const fs::path& file : files_in("configs/devices"))
    EXPECT_EQ(findings([&] { read(kHead, {"cluster.workers.device.include=" + fs::absolute(file).string()}); }), "")
        << file;
}

TEST(Shipped, TheIdealClusterCostsNothing) {
  const Experiment e =
      read(kHead, {"cluster.include=" + fs::absolute(source_path("configs/clusters/ideal.yaml")).string()});
  EXPECT_TRUE(e.points.at(0).spec.cluster == ClusterSpec());
}

}  // namespace
}  // namespace stretto::experiment
