// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <limits>
#include <string>

#include "experiment/run/manifest.hpp"
#include "io/file/file.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::experiment {
namespace {

Manifest sample() {
  Manifest m;
  m.version = "0.1.0";
  m.commit = "abc-dirty";
  m.command = {"stretto", "run", "a \"b\".yaml", "--set", "x=\n"};
  m.seed = std::numeric_limits<std::uint64_t>::max();
  m.configuration = "stretto: 1\nname: \"a\"\n";
  m.inputs = {{"a.yaml", "00"}, {"b.json", "11"}};
  m.result_sha256 = "22";
  return m;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Manifest, RoundTrip) {
  const std::string text = write_manifest(sample());
  EXPECT_EQ(parse_manifest(text, "m.json"), sample());
  EXPECT_EQ(write_manifest(parse_manifest(text, "m.json")), text);
}

TEST(Manifest, RefusesOthers) {
  const std::string text = write_manifest(sample());
  EXPECT_THROW(parse_manifest("", "m.json"), UserError);
  EXPECT_THROW(parse_manifest("{}", "m.json"), UserError);
  EXPECT_THROW(parse_manifest(replaced(text, "stretto-manifest", "stretto-result"), "m.json"), UserError);
  EXPECT_THROW(parse_manifest(replaced(text, "\"version\": 1", "\"version\": 2"), "m.json"), UserError);
  EXPECT_THROW(parse_manifest(replaced(text, "\"seed\"", "\"sead\""), "m.json"), UserError);
  for (const char* seed : {"18446744073709551616", "-1", "1.5", "1e3", "\"1\""})
    EXPECT_THROW(parse_manifest(replaced(text, "18446744073709551615", seed), "m.json"), UserError) << seed;
}

TEST(Manifest, NoticesChangedInputs) {
  const std::string path = testing::TempDir() + "stretto_manifest_test";
  file::write_atomic(path, "abc");
  Manifest m;
  m.inputs = hash_inputs({path, path});
  ASSERT_EQ(m.inputs.size(), 1u);
  EXPECT_EQ(m.inputs[0].sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_TRUE(changed_inputs(m).empty());
  file::write_atomic(path, "abd");
  EXPECT_EQ(changed_inputs(m).size(), 1u);
  std::filesystem::remove(path);
  EXPECT_EQ(changed_inputs(m).size(), 1u);
  EXPECT_THROW(hash_inputs({path}), UserError);
}

}  // namespace
}  // namespace stretto::experiment
