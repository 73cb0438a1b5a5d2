// SPDX-License-Identifier: Apache-2.0
// Golden cases: tests/golden/config/CASE/input.yaml is loaded and what a user would see is compared with expected.txt:
// the rendered findings, or for input that must be accepted warnings and the effective configuration. Optional set.txt:
// one override per line. STRETTO_RECORD=1 writes expected.txt instead and then fails, so that recording never passes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "experiment/spec/spec.hpp"

namespace stretto::experiment {
namespace {

namespace fs = std::filesystem;

fs::path root() {
  const char* source = std::getenv("STRETTO_SOURCE");
  return fs::path(source ? source : ".") / "tests" / "golden" / "config";
}

std::vector<std::string> cases() {
  std::vector<std::string> names;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(root(), code))
    if (fs::exists(entry.path() / "input.yaml")) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string outcome() {
  std::vector<std::string> overrides;
  std::istringstream lines(read("set.txt"));
  for (std::string line; std::getline(lines, line);) overrides.push_back(line);
  try {
    const Experiment experiment = load_experiment("input.yaml", overrides, {.shipped = "../shipped"});
    return render(experiment.warnings) + "accepted\n" + effective_yaml(experiment);
  } catch (const UserError& e) {
    return render(e.diagnostics());
  }
}

class Golden : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    old_ = fs::current_path();
    fs::current_path(root() / GetParam());
  }
  void TearDown() override { fs::current_path(old_); }

 private:
  fs::path old_;
};

TEST_P(Golden, Matches) {
  const std::string actual = outcome();
  if (const char* record = std::getenv("STRETTO_RECORD"); record && std::string_view(record) == "1") {
    std::ofstream("expected.txt", std::ios::binary) << actual;
    FAIL() << "recorded, not checked";
  }
  ASSERT_TRUE(fs::exists("expected.txt")) << "record it with STRETTO_RECORD=1";
  EXPECT_EQ(actual, read("expected.txt"));
}

TEST(GoldenCases, AreFound) { EXPECT_GE(cases().size(), 60U); }

INSTANTIATE_TEST_SUITE_P(Config, Golden, testing::ValuesIn(cases()), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace stretto::experiment
