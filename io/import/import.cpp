// SPDX-License-Identifier: Apache-2.0
#include "io/import/import.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/file/file.hpp"
#include "io/import/chakra.hpp"
#include "io/import/kineto.hpp"
#include "io/import/pipedream.hpp"
#include "io/import/straggler_trace.hpp"
#include "io/import/tensorflow.hpp"
#include "io/import/unsupported.hpp"
#include "io/import/workload.hpp"

namespace stretto::io {

namespace {

[[noreturn]] void fail(const std::string& path, std::string message, std::string hint) {
  Diagnostic d;
  d.span.file = path;
  d.message = std::move(message);
  d.hint = std::move(hint);
  throw UserError({d});
}

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
  fail(path, text.empty() ? "the file is empty" : "the content is of no known format", known);
}

}  // namespace

const std::vector<Importer>& importers() {
  static const std::vector<Importer> table = {
      {"workload", "JSON with \"format\": \"stretto-workload\"", is_workload, import_workload},
      {"pipedream", "graph.txt of the PipeDream profiler", is_pipedream, import_pipedream},
      {"stragglers", "trace of StragglerAnalysis, for `stretto stragglers`", is_straggler_trace,
       import_straggler_trace},
      {"chakra", "Chakra execution trace of one rank, .et or JSON", is_chakra, import_chakra},
      {"kineto", "trace of the PyTorch profiler (Kineto), one rank", is_kineto, import_kineto},
      {"tensorflow-timeline", "refused: a timeline has no bytes", is_tensorflow_timeline, refuse_tensorflow_timeline},
      {"pytorch-et", "refused: an execution trace of PyTorch has no times", is_pytorch_execution_trace,
       refuse_pytorch_execution_trace},
      {"tensorboard", "refused: an event file is a log", is_tensorboard, refuse_tensorboard},
      {"tensorflow", "GraphDef, or RunMetadata with its GraphDef, binary or text", is_tensorflow, import_tensorflow},
  };
  return table;
}

ImportResult import_text(const std::string& text, const std::string& path, const ImportOptions& options) {
  if (options.batch && *options.batch < 1)
    throw UserError(fmt::format("batch is {}, must be at least 1", *options.batch));
  const Importer& importer = choose(text, path, options);
  ImportResult result = importer.import(text, path, options);
  result.format = std::string(importer.name);
  return result;
}

ImportResult import_any(const std::string& path, const ImportOptions& options) {
  return import_text(file::read(path), path, options);
}

}  // namespace stretto::io
