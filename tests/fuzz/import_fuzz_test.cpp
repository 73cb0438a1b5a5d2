// SPDX-License-Identifier: Apache-2.0
// Damaged input of every kind: an importer returns a graph or throws UserError, nothing else, and soon. Seeded;
// quick by default, long with STRETTO_SOAK=1.
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "analysis/trace_path.hpp"
#include "io/file/file.hpp"
#include "io/import/import.hpp"
#include "io/import/kineto_calls.hpp"
#include "io/import/kineto_events.hpp"
#include "io/import/workload.hpp"
#include "io/json/reader.hpp"
#include "sim/base/diagnostic.hpp"
#include "sim/base/random.hpp"
#include "tests/support/damage.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/trials.hpp"

namespace stretto::io {
namespace {

const std::vector<std::string>& seeds() {
  static const std::vector<std::string> texts = {file::read(source_path("tests/fixtures/toy_chain.workload.json")),
                                                 file::read(source_path("tests/fixtures/toy.graph.txt"))};
  return texts;
}

// Imports by detection and by each named format. Anything but success and UserError fails the test. A graph that comes
// out must survive being written and read again.
void import_all_ways(const std::string& text, std::uint64_t& accepted) {
  std::vector<std::string> formats = {""};
  for (const Importer& importer : importers()) formats.emplace_back(importer.name);
  for (const std::string& format : formats) {
    ImportOptions options;
    options.format = format;
    try {
      const ImportResult result = import_text(text, "fuzz", options);
      ++accepted;
      const std::string written = write_workload(result.graph);
      ASSERT_EQ(write_workload(parse_workload(written, "again")), written) << text;
    } catch (const UserError& e) {
      ASSERT_FALSE(e.diagnostics().empty());
      ASSERT_FALSE(render(e.diagnostics()).empty());
    } catch (const std::exception& e) {
      FAIL() << e.what() << "\nfor format \"" << format << "\" and text\n" << text;
    }
  }
}

TEST(FuzzImport, CutAtEveryByte) {
  std::uint64_t accepted = 0;
  for (const std::string& seed : seeds())
    for (std::size_t n = 0; n <= seed.size(); ++n)
      ASSERT_NO_FATAL_FAILURE(import_all_ways(seed.substr(0, n), accepted));
  EXPECT_GT(accepted, 0U);
}

// What a random edit puts in: structure of both formats, extreme numbers and broken UTF-8.
const std::vector<std::string>& tokens() {
  static const std::vector<std::string> list = {"{",
                                                "}",
                                                "[",
                                                "]",
                                                "\"",
                                                ",",
                                                ":",
                                                "\\",
                                                "\\u0000",
                                                "\\ud800",
                                                "null",
                                                "true",
                                                "-1",
                                                "0",
                                                "1e999",
                                                "1e-999",
                                                "9223372036854775807",
                                                "9223372036854775808",
                                                "99999999999999999999999999",
                                                "0.5",
                                                "nan",
                                                "\n",
                                                "\t",
                                                "\r",
                                                " ",
                                                std::string(1, '\0'),
                                                "\xff",
                                                "\xed\xa0\x80",
                                                "\xEF\xBB\xBF",
                                                " -- ",
                                                "node1",
                                                "node2",
                                                "node99999999999999999999",
                                                "=",
                                                ";",
                                                ", ",
                                                "a/backward",
                                                "\"a\"",
                                                "\"forward\"",
                                                "\"ops\"",
                                                "stage_id=",
                                                "Input",
                                                "LSTM"};
  return list;
}

TEST(FuzzImport, RandomDamage) {
  RandomStream random(11, "fuzz import");
  std::uint64_t accepted = 0;
  const std::uint64_t n = test::trials(20'000);
  for (std::uint64_t i = 0; i < n; ++i)
    ASSERT_NO_FATAL_FAILURE(import_all_ways(damage(seeds()[i % seeds().size()], tokens(), random), accepted))
        << "trial " << i;
  EXPECT_GT(accepted, n / 100);  // the damage is not so great that nothing is ever read
}

void walk(const json::Value& value) {
  switch (value.kind()) {
    case json::Kind::Object:
      value.members([](std::string_view, const json::Value& v) { walk(v); });
      break;
    case json::Kind::Array:
      value.elements(walk);
      break;
    case json::Kind::String:
      value.string();
      break;
    case json::Kind::Number:
      value.number_text();
      break;
    case json::Kind::Bool:
      value.boolean();
      break;
    case json::Kind::Null:
      break;
  }
}

TEST(FuzzJson, AnyMixtureOfTokensIsReadOrRefused) {
  RandomStream random(12, "fuzz json");
  const std::vector<std::string> pieces = {"{", "}",      "[",    "]",    "\"a\"", "\"", ",", ",",  ":",    ":",
                                           "1", "-1.5e3", "true", "null", "nul",   "\\", " ", "\n", "\xff", "x"};
  std::uint64_t accepted = 0;
  for (std::uint64_t i = test::trials(60'000); i > 0; --i) {
    std::string text = random.below(2) == 0 ? "{" : "[";
    for (std::uint64_t k = random.below(9); k > 0; --k) text += pieces[random.below(pieces.size())];
    text += text[0] == '{' ? "}" : "]";
    try {
      json::Document(text, "fuzz").read(random.below(2) == 0 ? walk : [](const json::Value&) {});
      ++accepted;
    } catch (const UserError&) {
    } catch (const std::exception& e) {
      FAIL() << e.what() << " for " << text;
    }
  }
  EXPECT_GT(accepted, 0U);
}

TEST(FuzzGzip, RandomDamage) {
  const std::string& text = seeds()[0];
  std::string packed(compressBound(text.size()) + 64, '\0');
  z_stream z{};
  ASSERT_EQ(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string input = text;
  z.next_in = reinterpret_cast<Bytef*>(input.data());
  z.avail_in = static_cast<uInt>(input.size());
  z.next_out = reinterpret_cast<Bytef*>(packed.data());
  z.avail_out = static_cast<uInt>(packed.size());
  ASSERT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  packed.resize(z.total_out);
  deflateEnd(&z);
  ASSERT_EQ(file::unpack(packed, "f"), text);
  RandomStream random(13, "fuzz gzip");
  std::uint64_t refused = 0;
  for (std::uint64_t i = test::trials(5'000); i > 0; --i) {
    std::string bytes = packed;
    for (std::uint64_t k = 1 + random.below(3); k > 0; --k)
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    try {
      file::unpack(bytes, "f");
    } catch (const UserError&) {
      ++refused;
    } catch (const std::exception& e) {
      FAIL() << e.what();
    }
  }
  EXPECT_GT(refused, 0U);
}

// What belongs to a trace: the GraphDef beside it, or a table of variables.
ImportOptions options_beside(const std::string& file, const std::string& table) {
  namespace fs = std::filesystem;
  ImportOptions options;
  for (const auto& [name, graph] :
       {std::pair("run_meta.pb", "graph.pbtxt"), std::pair("timeline.json", "graph.tfevents")})
    if (fs::path(file).filename() == name) options.graph_path = (fs::path(file).parent_path() / graph).string();
  if (file.find("tf-mnist") != std::string::npos) options.variables_path = table;
  return options;
}

// Real traces, cut at 20 places and with 200 bytes changed: read or refused, nothing else.
TEST(FuzzImport, CorruptedRealTraces) {
  std::vector<std::string> files;
  for (const char* folder : {"traces", "kineto_hta", "stragglers"}) {
    if (!std::filesystem::exists(data_path(folder))) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(data_path(folder)))
      if (entry.is_regular_file() && entry.path().extension() != ".txt") files.push_back(entry.path().string());
  }
  if (files.empty()) GTEST_SKIP() << "no traces under STRETTO_DATA";
  std::sort(files.begin(), files.end());
  RandomStream random(14, "fuzz real traces");
  const std::string table = ::testing::TempDir() + "/fuzz.variables.txt";
  std::ofstream(table) << "layer_1/fully_connected/weights 4\nlayer_1/fully_connected/biases 4\n"
                          "layer_2/fully_connected/weights 4\nlayer_2/fully_connected/biases 4\n"
                          "layer_3/fully_connected/weights 4\nlayer_3/fully_connected/biases 4\n";
  const std::string piecewise = ::testing::TempDir() + "/fuzz.trace.json";
  constexpr std::size_t kSmall = std::size_t{2} << 20;
  const auto attempt = [](const std::string& file, const auto& read) {
    try {
      read();
    } catch (const UserError& e) {
      ASSERT_FALSE(e.diagnostics().empty());
    } catch (const std::exception& e) {
      FAIL() << file << ": " << e.what();
    }
  };
  const auto survives = [&](const std::string& text, const std::string& file) {
    attempt(file, [&] { import_text(text, "fuzz", options_beside(file, table)); });
    if (!is_kineto(text) || text.size() > kSmall) return;
    std::ofstream(piecewise, std::ios::binary) << text;  // also piece by piece, and as calls and works
    attempt(file, [&] {
      ImportReport report;
      analysis::trace_path(read_kineto_calls_file(piecewise, report));
    });
  };
  for (const std::string& file : files) {
    const std::string text = file::read(file);
    for (int i = 0; i < 20; ++i) ASSERT_NO_FATAL_FAILURE(survives(text.substr(0, random.below(text.size())), file));
    for (std::uint64_t copy = test::trials(2); copy > 0; --copy) {
      std::string damaged = text;
      for (int i = 0; i < 200; ++i) damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
      ASSERT_NO_FATAL_FAILURE(survives(damaged, file));
    }
  }
}

TEST(FuzzImport, LargeHostileFilesEndSoon) {
  const auto refused = [](const std::string& text, const std::string& part) {
    try {
      import_text(
          text, "fuzz",
          {.format = text.starts_with("node") ? "pipedream" : "workload", .name = {}, .source = {}, .batch = {}});
    } catch (const UserError& e) {
      return render(e.diagnostics()).find(part) != std::string::npos;
    }
    return false;
  };
  EXPECT_TRUE(refused(std::string(5'000'000, '['), "nested deeper"));
  EXPECT_TRUE(refused("{\"" + std::string(5'000'000, 'k') + "\": 1}", "unknown key"));
  EXPECT_TRUE(refused("{\"ops\": [" + std::string(5'000'000, ' '), "never closed"));
  // Layers without edges: every backward op would wait for every forward op.
  std::string layers;
  for (int i = 0; i < 20'000; ++i)
    layers += "node" + std::to_string(i) +
              " -- A -- forward_compute_time=1, backward_compute_time=1, activation_size=1, parameter_size=1\n";
  EXPECT_TRUE(refused(layers, "20000 layers feed no other"));
  std::string names =
      "{\"format\": \"stretto-workload\", \"version\": 1, \"name\": \"n\", \"batch\": 1, \"parameters\": [], \"ops\": "
      "[";
  for (int i = 0; i < 20'000; ++i)
    names += std::string(i == 0 ? "" : ", ") + "{\"name\": \"" + std::to_string(i) +
             "\", \"phase\": \"forward\", \"time_ps\": 1, \"inputs\": [\"x\"]}";
  EXPECT_TRUE(refused(names + "]}", "the rest is not shown"));
}

}  // namespace
}  // namespace stretto::io
