// SPDX-License-Identifier: Apache-2.0
// The rows of the section `workload`.
#include <fmt/format.h>

#include <utility>

#include "experiment/spec/rows.hpp"

namespace stretto::experiment {

namespace {

using config::Node;
using config::Reader;

// One slot of the workload is a name, the other a file; which one was given is checked between fields.
void read_model(Reader& reader, const Node& node, const std::string& key, Spec& s) {
  if (auto name = reader.read_text(node, key)) s.workload.model = std::move(*name);
  s.workload.place = node.place;
}

void read_file(Reader& reader, const Node& node, const std::string& key, Spec& s) {
  if (const auto path = reader.read_text(node, key)) s.workload.file = node.place.resolve(*path);
  s.workload.place = node.place;
}

void read_batch(Reader& reader, const Node& node, const std::string& key, Spec& s) {
  s.workload.batch_per_worker = reader.read_integer(node, key, 1, 1'000'000'000);
  s.workload.batch_place = node.place;
}

void read_transfer_ratio(Reader& reader, const Node& node, const std::string& key, Spec& s) {
  const auto ratio = reader.read_fraction(node, key);
  if (!ratio) return;
  if (*ratio > 0 && *ratio <= 1)
    s.workload.transfers.ratio = ratio;
  else
    reader.error(node.place, key, config::describe(node) + " is out of range", "valid: more than 0, at most 1");
}

template <std::vector<PatternSpec> WorkloadSpec::*kList>
void read_patterns(Reader& reader, const Node& node, const std::string& key, Spec& s) {
  if (!node.is_sequence())
    return reader.error(node.place, key, "expected a list of names, found " + config::describe(node),
                        "for example [conv1/*, conv2/*]");
  for (std::size_t i = 0; i < node.items.size(); ++i)
    if (auto pattern = reader.read_text(node.items[i], fmt::format("{}[{}]", key, i)))
      (s.workload.*kList).push_back({std::move(*pattern), node.items[i].place});
}

template <std::vector<PatternSpec> WorkloadSpec::*kList>
std::string write_patterns(const Spec& s) {
  std::string out;
  for (const PatternSpec& p : s.workload.*kList) out += (out.empty() ? "" : ", ") + config::quote_if_needed(p.pattern);
  return out.empty() ? "" : "[" + out + "]";
}

void read_sparse(Reader& reader, const Node& node, const std::string& key, Spec& s) {
  read_list(reader, node, key, "for example [{parameter: embedding*, share: 2 %}]",
            [&](const Node& item, const std::string& at) {
              SparseSpec sparse;
              sparse.place = item.place;
              read_item(reader, item, at, {"parameter", "share"}, [&](const config::Entry& e, const auto& path) {
                if (e.key == "parameter") {
                  sparse.pattern = reader.read_text(e.value, path).value_or("");
                  sparse.place = e.value.place;
                } else if (const auto share = reader.read_fraction(e.value, path)) {
                  if (*share > 0 && *share <= 1)
                    sparse.share = *share;
                  else
                    reader.error(e.value.place, path, config::describe(e.value) + " is out of range",
                                 "valid: more than 0, at most 1");
                }
              });
              if (item.is_map())
                for (const char* name : {"parameter", "share"})
                  if (!item.find(name)) reader.error(item.place, at, fmt::format("'{}' is missing", name));
              s.workload.sparse.push_back(std::move(sparse));
            });
}

std::string write_sparse(const Spec& s) {
  std::string out;
  for (const SparseSpec& sparse : s.workload.sparse)
    out += fmt::format("{}{{parameter: {}, share: {}}}", out.empty() ? "" : ", ",
                       config::quote_if_needed(sparse.pattern), config::format_number(sparse.share));
  return out.empty() ? "" : "[" + out + "]";
}

}  // namespace

void add_workload_fields(Rows& rows) {
  rows.push_back(
      custom("workload.model", "text", "a shipped workload", "",
             "shipped workload, by name; this, workload.file or workload.generate", read_model,
             [](const Spec& s) { return s.workload.model.empty() ? "" : config::quote_if_needed(s.workload.model); }));
  rows.push_back(custom("workload.file", "path", "", "", "workload file, relative to the file that says it", read_file,
                        [](const Spec& s) {
                          const bool given = s.workload.model.empty() && s.workload.generate.generator.empty();
                          return given ? config::quote_if_needed(s.workload.file) : "";
                        }));
  add_generate_fields(rows);
  rows.push_back(custom(
      "workload.batch_per_worker", "integer", "1 to 1000000000", "",
      "samples per worker and step; other than that of the profile it scales the times of the ops", read_batch,
      [](const Spec& s) { return s.workload.batch_per_worker ? std::to_string(*s.workload.batch_per_worker) : ""; }));
  rows.push_back(config::number<Spec>(
      "workload.batch_fixed_share", true, {0, 1, false, "0 to 1"}, "0",
      "share of each op's time that does not grow with the batch",
      [](auto& s) -> auto& { return s.workload.batch_fixed_share; }));
  rows.push_back(config::choice<Spec>(
      "workload.mode", {"training", "inference"}, "training", "whole training steps, or pulls and forward pass only",
      [](auto& s) -> auto& { return s.workload.mode; }));
  rows.push_back(config::choice<Spec>(
      "workload.transfers.precision", {"fp32", "fp16", "int8"}, "fp32",
      "what variables and gradients are sent as: 1, 1/2 or 1/4 of their bytes",
      [](auto& s) -> auto& { return s.workload.transfers.precision; }));
  rows.back().write = [write = rows.back().write](const Spec& s) { return s.workload.transfers.ratio ? "" : write(s); };
  rows.push_back(custom("workload.transfers.ratio", "fraction", "more than 0, at most 1", "",
                        "in place of a precision: bytes sent over bytes of the variable", read_transfer_ratio,
                        [](const Spec& s) {
                          const auto& ratio = s.workload.transfers.ratio;
                          return ratio ? config::format_number(*ratio) : "";
                        }));
  rows.push_back(config::per_byte<Spec>(
      "workload.transfers.encode", "0 ns/B", "service time at the sender, per byte of the variable",
      [](auto& s) -> auto& { return s.workload.transfers.encode_ps; }));
  rows.push_back(config::per_byte<Spec>(
      "workload.transfers.decode", "0 ns/B", "service time at the receiver, per byte of the variable",
      [](auto& s) -> auto& { return s.workload.transfers.decode_ps; }));
  rows.push_back(config::duration<Spec>(
      "workload.input_pipeline", "0 us", "time to prepare one batch, beside the step before",
      [](auto& s) -> auto& { return s.workload.input_pipeline; }));
  rows.push_back(custom("workload.leave_out", "list", "patterns with * and ?", "",
                        "ops that are not run; whoever waits for one waits for all that it waits for",
                        read_patterns<&WorkloadSpec::leave_out>, write_patterns<&WorkloadSpec::leave_out>));
  rows.push_back(custom("workload.freeze", "list", "patterns with * and ?", "",
                        "variables that are not trained: pulled, but neither computed gradients for nor pushed",
                        read_patterns<&WorkloadSpec::freeze>, write_patterns<&WorkloadSpec::freeze>));
  rows.push_back(custom("workload.sparse", "list", "{parameter, share}", "",
                        "variables of which a step pulls and pushes only a share, such as the rows of embeddings",
                        read_sparse, write_sparse));
}

}  // namespace stretto::experiment
