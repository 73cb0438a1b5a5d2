// SPDX-License-Identifier: Apache-2.0
#include "io/import/import.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/file/file.hpp"
#include "io/file/source.hpp"
#include "io/import/astra_sim.hpp"
#include "io/import/chakra.hpp"
#include "io/import/chrome_events.hpp"
#include "io/import/common.hpp"
#include "io/import/horovod.hpp"
#include "io/import/kineto.hpp"
#include "io/import/pipedream.hpp"
#include "io/import/pytorch_et.hpp"
#include "io/import/straggler_trace.hpp"
#include "io/import/tensorboard.hpp"
#include "io/import/tensorflow.hpp"
#include "io/import/tensorflow_timeline.hpp"
#include "io/import/workload.hpp"
#include "models/graph/check.hpp"

namespace stretto::io {

namespace {

const Importer& choose(const std::string& text, const std::string& path, const ImportOptions& options) {
  const std::vector<Importer>& all = importers();
  std::vector<std::string> names;
  std::string known = "known formats:";
  for (const Importer& i : all) {
    names.emplace_back(i.name);
    known += fmt::format("{} {} ({})", names.size() == 1 ? "" : ",", i.name, i.help);
  }
  if (!options.format.empty()) {
    const auto it = std::find(names.begin(), names.end(), options.format);
    if (it != names.end()) return all[static_cast<std::size_t>(it - names.begin())];
    const std::string nearest = nearest_name(options.format, names);
    throw UserError(fmt::format("there is no format \"{}\"", options.format),
                    nearest.empty() ? known : fmt::format("did you mean \"{}\"?", nearest));
  }
  for (const Importer& i : all)
    if (i.detect(text)) return i;
  refuse_file(path, text.empty() ? "the file is empty" : "the content is of no known format", known);
}

void check_batch(const ImportOptions& options) {
  if (options.batch && (*options.batch < 1 || *options.batch > graph::kMaxBatch))
    throw UserError(fmt::format("batch is {}, must be from 1 to {}", *options.batch, graph::kMaxBatch));
}

// Files beside the one that is imported, for formats that read them.
void check_companions(const Importer& importer, const std::string& path, const ImportOptions& options) {
  if (!options.rank_paths.empty() && !importer.ranks)
    refuse_file(
        path,
        fmt::format("further ranks (--rank) are for Kineto and Chakra traces, this is of format {}", importer.name),
        "import each file by itself");
  if (importer.name == "tensorflow-timeline" || importer.name == "tensorflow") return;
  if (!options.graph_path.empty())
    refuse_file(path,
                fmt::format("a GraphDef (--graph) is for traces of TensorFlow, this is of format {}", importer.name),
                "leave it out");
  if (!options.variables_path.empty())
    refuse_file(path,
                fmt::format("a table of variables (--variables) is for timelines of TensorFlow, this is of format {}",
                            importer.name),
                "leave it out");
}

// With what the importer's row says.
ImportResult said_by(const Importer& importer, ImportResult result) {
  result.format = std::string(importer.name);
  result.all_reduce = importer.all_reduce;
  return result;
}

// The importer of a regular file that is read piece by piece; null: another, or the file has to be read to tell.
const Importer* piecewise(const std::string& path, const ImportOptions& options) {
  constexpr std::size_t kHead = std::size_t{1} << 18;
  if (!file::is_regular(path)) return nullptr;
  std::string head(kHead, '\0');
  try {
    file::Limits limits;
    limits.max_bytes = kLargestChromeFile;
    file::Source source(path, limits);
    head.resize(source.read(head.data(), head.size()));
  } catch (const UserError&) {
    return nullptr;  // reading it as a whole says what is wrong
  }
  for (const Importer& i : importers()) {
    if (!options.format.empty() ? i.name != options.format : !i.detect(head)) continue;
    return i.import_file != nullptr ? &i : nullptr;
  }
  return nullptr;
}

}  // namespace

const std::vector<Importer>& importers() {
  static const std::vector<Importer> table = {
      {"workload", "JSON with \"format\": \"stretto-workload\"", is_workload, import_workload},
      {"pipedream", "graph.txt of the PipeDream profiler", is_pipedream, import_pipedream},
      {"stragglers", "trace of StragglerAnalysis, for `stretto stragglers`", is_straggler_trace,
       import_straggler_trace},
      {.name = "horovod",
       .help = "Horovod timeline",
       .detect = is_horovod,
       .import = import_horovod,
       .all_reduce = true},
      {.name = "astra-sim",
       .help = "text workload of ASTRA-sim 1 or SimAI",
       .detect = is_astra_sim,
       .import = import_astra_sim,
       .all_reduce = true},
      {.name = "chakra",
       .help = "Chakra execution trace, .et or JSON, of one rank or, with --rank, several",
       .detect = is_chakra,
       .import = import_chakra,
       .all_reduce = true,
       .ranks = true},
      {.name = "kineto",
       .help = "trace of the PyTorch profiler (Kineto), of one rank or, with --rank, several",
       .detect = is_kineto,
       .import = import_kineto,
       .import_file = import_kineto_file,
       .all_reduce = true,
       .ranks = true},
      {"tensorflow-timeline", "Chrome trace of a TensorFlow step, with --graph or --variables", is_tensorflow_timeline,
       import_tensorflow_timeline},
      {.name = "pytorch-et",
       .help = "execution trace of PyTorch: operations and bytes, no times",
       .detect = is_pytorch_et,
       .import = import_pytorch_et,
       .all_reduce = true},
      {"tensorboard", "the GraphDef in an event file of TensorBoard", is_tensorboard, import_tensorboard},
      {"tensorflow", "GraphDef, or RunMetadata with its GraphDef, binary or text", is_tensorflow, import_tensorflow},
  };
  return table;
}

ImportResult import_text(const std::string& text, const std::string& path, const ImportOptions& options) {
  check_batch(options);
  const Importer& importer = choose(text, path, options);
  check_companions(importer, path, options);
  return said_by(importer, importer.import(text, path, options));
}

ImportResult import_any(const std::string& path, const ImportOptions& options) {
  if (const Importer* const importer = piecewise(path, options)) {
    check_batch(options);
    check_companions(*importer, path, options);
    return said_by(*importer, importer->import_file(path, options));
  }
  return import_text(file::read(path), path, options);
}

}  // namespace stretto::io
