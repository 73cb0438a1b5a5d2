// SPDX-License-Identifier: Apache-2.0
#include "io/import/straggler_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "io/file/file.hpp"
#include "io/import/common.hpp"
#include "io/json/reader.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::io {

namespace {

using timeline::Op;
using timeline::OpKind;

enum Column : std::size_t { DpRank, Stage, Rank, Step, Kind, Start, Duration, Sequence, Chunk, GlobalChunk, kColumns };
constexpr std::array<std::string_view, kColumns> kNames = {"dp_rank",  "stage",    "rank",   "step", "optype",
                                                           "start_ts", "duration", "seq_id", "mc",   "gmc"};
constexpr std::array<std::string_view, 2> kKnownUnused = {"mb_id", "end_ts"};
constexpr double kMostSeconds = 1e12;
constexpr double kMostInteger = 1e9;
constexpr std::size_t kMaxErrors = 20;

std::optional<std::size_t> column_of(std::string_view name) {
  const auto* const it = std::find(kNames.begin(), kNames.end(), name);
  if (it == kNames.end()) return std::nullopt;
  return static_cast<std::size_t>(it - kNames.begin());
}

std::string column_names() {
  std::string all;
  for (const std::string_view name : kNames) all += fmt::format("{}{}", all.empty() ? "" : ", ", name);
  return all;
}

std::optional<OpKind> kind_of(std::string_view name) {
  for (std::size_t k = 0; k < timeline::kOpKinds; ++k)
    if (timeline::kOpKindNames[k] == name) return static_cast<OpKind>(k);
  return std::nullopt;
}

std::string kind_hint(std::string_view name) {
  return name_hint(name, {timeline::kOpKindNames.begin(), timeline::kOpKindNames.end()});
}

// Puts `value` into the field of `column`; what is wrong with it, or "".
std::string set(Op& op, std::size_t column, double value) {
  if (!std::isfinite(value)) return fmt::format("{} is not finite", kNames[column]);
  if (column == Start || column == Duration) {
    if (std::abs(value) > kMostSeconds) return fmt::format("{} is beyond {:g} s", kNames[column], kMostSeconds);
    (column == Start ? op.start_s : op.duration_s) = value;
    return "";
  }
  const bool optional = column == Chunk || column == GlobalChunk;
  const double least = optional ? -1 : 0;
  if (value != std::floor(value) || value < least || value > kMostInteger)
    return fmt::format("{} is {:g}, must be a whole number in [{:g}, {:g}]", kNames[column], value, least,
                       kMostInteger);
  const auto integer = static_cast<std::int32_t>(value);
  switch (column) {
    case DpRank:
      op.dp_rank = integer;
      break;
    case Stage:
      op.stage = integer;
      break;
    case Rank:
      op.rank = integer;
      break;
    case Step:
      op.step = integer;
      break;
    case Sequence:
      op.sequence = integer;
      break;
    case Chunk:
      op.chunk = integer;
      break;
    default:
      op.global_chunk = integer;
      break;
  }
  return "";
}

class CsvReader {
 public:
  CsvReader(const std::string& text, const std::string& path) : text_(text), path_(path) {}

  std::vector<Op> read(std::vector<std::string>& unused) {
    std::size_t at = text_.starts_with("\xef\xbb\xbf") ? 3 : 0;
    header(line_at(at), unused);
    std::vector<Op> ops;
    while (at < text_.size()) {
      const std::string_view line = line_at(at);
      if (!line.empty()) row(line, ops);
      if (errors_.size() >= kMaxErrors) break;
    }
    if (!errors_.empty()) throw UserError(std::move(errors_));
    return ops;
  }

 private:
  std::string_view line_at(std::size_t& at) {
    ++line_number_;
    const std::size_t end = std::min(text_.find('\n', at), text_.size());
    std::string_view line(text_.data() + at, end - at);
    at = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  // Calls f(index, cell) for each cell; how many there are.
  template <class F>
  static std::size_t cells(std::string_view line, F&& f) {
    std::size_t n = 0;
    while (true) {
      const std::size_t comma = line.find(',');
      f(n++, line.substr(0, comma));
      if (comma == std::string_view::npos) return n;
      line.remove_prefix(comma + 1);
    }
  }

  void error(std::string_view line, std::string_view cell, std::string message, std::string hint = "") {
    Diagnostic d;
    d.span = {path_, line_number_, static_cast<int>(std::min<std::size_t>(cell.data() - line.data(), 1 << 30)) + 1,
              static_cast<int>(std::clamp<std::size_t>(cell.size(), 1, 80)),
              line.size() <= 4096 ? std::string(line) : std::string()};
    d.message = std::move(message);
    d.hint = std::move(hint);
    errors_.push_back(std::move(d));
  }

  void header(std::string_view line, std::vector<std::string>& unused) {
    std::array<bool, kColumns> seen{};
    cells(line, [&](std::size_t, std::string_view cell) {
      const auto column = column_of(cell);
      columns_.push_back(column ? *column : kColumns);
      if (!column) {
        if (std::find(kKnownUnused.begin(), kKnownUnused.end(), cell) == kKnownUnused.end()) unused.emplace_back(cell);
      } else if (seen[*column]) {
        error(line, cell, fmt::format("column {} stands twice", cell));
      } else {
        seen[*column] = true;
      }
    });
    for (std::size_t c = 0; c < kColumns; ++c)
      if (!seen[c]) error(line, line, fmt::format("column {} is missing", kNames[c]), "needed: " + column_names());
    if (!errors_.empty()) throw UserError(std::move(errors_));
  }

  void row(std::string_view line, std::vector<Op>& ops) {
    Op op;
    const std::size_t before = errors_.size();
    const std::size_t n = cells(line, [&](std::size_t i, std::string_view cell) {
      if (i >= columns_.size() || columns_[i] == kColumns) return;
      const std::size_t column = columns_[i];
      if (column == Kind) {
        const auto kind = kind_of(cell);
        if (kind)
          op.kind = *kind;
        else
          error(line, cell, fmt::format("unknown optype '{}'", cell.substr(0, 80)), kind_hint(cell.substr(0, 80)));
        return;
      }
      if (cell.empty() && (column == Chunk || column == GlobalChunk)) return;
      double value = 0;
      const char* const end = cell.data() + cell.size();
      const auto [stop, code] = std::from_chars(cell.data(), end, value);
      const std::string wrong = code == std::errc() && stop == end && !cell.empty()
                                    ? set(op, column, value)
                                    : fmt::format("{} is no number", kNames[column]);
      if (!wrong.empty()) error(line, cell, wrong);
    });
    if (n != columns_.size())
      error(line, line, fmt::format("{} cells, the header has {}", n, columns_.size()), "is the file cut off?");
    if (errors_.size() == before) ops.push_back(op);
  }

  const std::string& text_;
  const std::string& path_;
  int line_number_ = 0;
  std::vector<std::size_t> columns_;  // per cell: its Column, kColumns if unused
  std::vector<Diagnostic> errors_;
};

void read_json_row(const json::Value& row, std::vector<Op>& ops, std::map<std::string, std::size_t>& unused) {
  Op op;
  std::array<bool, kColumns> seen{};
  const bool object = row.members([&](std::string_view key, const json::Value& value) {
    const auto column = column_of(key);
    if (!column) {
      if (std::find(kKnownUnused.begin(), kKnownUnused.end(), key) == kKnownUnused.end()) ++unused[std::string(key)];
      return;
    }
    if (seen[*column]) value.error(fmt::format("{} stands twice", key));
    seen[*column] = true;
    if (*column == Kind) {
      const auto name = value.string();
      if (!name) return;
      const auto kind = kind_of(*name);
      if (kind)
        op.kind = *kind;
      else
        value.error(fmt::format("unknown optype '{}'", name->substr(0, 80)), kind_hint(name->substr(0, 80)));
      return;
    }
    if ((*column == Chunk || *column == GlobalChunk) && value.kind() == json::Kind::Null) return;
    const auto number = value.number();
    if (!number) return;
    const std::string wrong = set(op, *column, *number);
    if (!wrong.empty()) value.error(wrong);
  });
  if (!object) return;
  for (std::size_t c = 0; c < kColumns; ++c)
    if (!seen[c]) row.error(fmt::format("{} is missing", kNames[c]), "needed: " + column_names());
  ops.push_back(op);
}

// Numbers of ranks and stages; refuses gaps, doubled ops and workers under several ranks.
void check(timeline::Timeline& job, const std::string& path) {
  if (job.ops.empty()) refuse_file(path, "the trace holds no op");
  const auto key = [](const Op& o) { return std::tie(o.step, o.dp_rank, o.stage, o.kind, o.sequence); };
  std::vector<Op>& ops = job.ops;
  std::sort(ops.begin(), ops.end(), [&](const Op& a, const Op& b) { return key(a) < key(b); });
  const auto twin =
      std::adjacent_find(ops.begin(), ops.end(), [&](const Op& a, const Op& b) { return key(a) == key(b); });
  if (twin != ops.end())
    refuse_file(path, fmt::format("{} number {} of step {}, dp_rank {}, stage {} stands twice",
                                  timeline::kOpKindNames[static_cast<std::size_t>(twin->kind)], twin->sequence,
                                  twin->step, twin->dp_rank, twin->stage));
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> ranks;
  std::int32_t dp_ranks = 0;
  std::int32_t stages = 0;
  for (const Op& o : ops) {
    const auto [it, added] = ranks.try_emplace({o.dp_rank, o.stage}, o.rank);
    if (it->second != o.rank)
      refuse_file(path, fmt::format("dp_rank {}, stage {} stands under ranks {} and {}", o.dp_rank, o.stage, it->second,
                                    o.rank));
    dp_ranks = std::max(dp_ranks, o.dp_rank + 1);
    stages = std::max(stages, o.stage + 1);
  }
  const std::int64_t expected = std::int64_t{dp_ranks} * stages;
  if (static_cast<std::int64_t>(ranks.size()) != expected)
    refuse_file(
        path,
        fmt::format("{} of {} workers ({} dp_ranks x {} stages) have ops", ranks.size(), expected, dp_ranks, stages),
        "the trace must hold every worker; dp_rank and stage count from 0");
  job.dp_ranks = dp_ranks;
  job.stages = stages;
}

// From the first character that is neither byte order mark nor white space.
std::string_view visible(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
}

}  // namespace

bool is_straggler_trace(std::string_view text) {
  const std::string_view start = visible(text);
  const bool rows = start.starts_with('[');
  const std::string_view head = start.substr(0, rows ? 1024 : start.find('\n'));
  const auto has = [&](std::string_view name) { return head.find(name) != std::string_view::npos; };
  return has("dp_rank") && has("optype") && has("start_ts") && has("duration");
}

StragglerTrace parse_straggler_trace(const std::string& text, const std::string& path) {
  StragglerTrace trace;
  std::vector<std::string> unused;
  if (!is_straggler_trace(text))
    refuse_file(path, text.empty() ? "the file is empty" : "this is no trace of StragglerAnalysis",
                "needed: CSV with a header or a JSON array of objects, with " + column_names());
  if (visible(text).starts_with('[')) {
    std::map<std::string, std::size_t> keys;
    json::Document document(text, path);
    document.read([&](const json::Value& root) {
      root.elements([&](const json::Value& row) { read_json_row(row, trace.timeline.ops, keys); });
    });
    for (const auto& [name, n] : keys) unused.push_back(name);
  } else {
    trace.timeline.ops = CsvReader(text, path).read(unused);
  }
  check(trace.timeline, path);
  const std::vector<Op>& ops = trace.timeline.ops;
  std::size_t steps = 0;
  for (std::size_t i = 0; i < ops.size(); ++i)
    if (i == 0 || ops[i].step != ops[i - 1].step) ++steps;
  trace.report.read.push_back(fmt::format("{} ops of {} steps, {} dp ranks x {} stages", ops.size(), steps,
                                          trace.timeline.dp_ranks, trace.timeline.stages));
  for (const std::string& name : unused) trace.report.dropped.push_back(fmt::format("column {}: not used", name));
  const auto negative = std::count_if(ops.begin(), ops.end(), [](const Op& o) { return o.duration_s < 0; });
  if (negative > 0)
    trace.report.guessed.push_back(fmt::format("{} ops have a negative duration, which is kept", negative));
  return trace;
}

StragglerTrace read_straggler_trace(const std::string& path) { return parse_straggler_trace(file::read(path), path); }

ImportResult import_straggler_trace(const std::string& text, const std::string& path, const ImportOptions&) {
  const StragglerTrace trace = parse_straggler_trace(text, path);
  refuse_file(path,
              fmt::format("a trace of StragglerAnalysis is no workload: it has no bytes and no parameters ({})",
                          trace.report.read.front()),
              fmt::format("`stretto stragglers {}` says what its stragglers cost", path));
}

}  // namespace stretto::io
