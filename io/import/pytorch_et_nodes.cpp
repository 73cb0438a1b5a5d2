// SPDX-License-Identifier: Apache-2.0
#include "io/import/pytorch_et_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "io/import/common.hpp"
#include "io/json/reader.hpp"

namespace stretto::io {

namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 50;  // and bytes of a collective
constexpr std::size_t kMostTensors = 4'096;                    // of one node
constexpr std::string_view kComms = "record_param_comms";

constexpr std::array<std::pair<std::string_view, std::int64_t>, 14> kWidths = {{{"float", 4},
                                                                                {"c10::Half", 2},
                                                                                {"c10::BFloat16", 2},
                                                                                {"double", 8},
                                                                                {"int", 4},
                                                                                {"long", 8},
                                                                                {"long int", 8},
                                                                                {"short", 2},
                                                                                {"signed char", 1},
                                                                                {"unsigned char", 1},
                                                                                {"bool", 1},
                                                                                {"c10::complex<float>", 8},
                                                                                {"c10::Float8_e4m3fn", 1},
                                                                                {"c10::Float8_e5m2", 1}}};

// The first "Tensor(float)" of a type, also inside "GenericList[Tensor(float),Tensor(float)]".
std::int64_t width_of(std::string_view type) {
  const std::size_t begin = type.find("Tensor(");
  if (begin == std::string_view::npos) return 0;
  type = type.substr(begin + 7);
  type = type.substr(0, type.find(')'));
  const auto* const it = std::find_if(kWidths.begin(), kWidths.end(), [&](const auto& w) { return w.first == type; });
  return it == kWidths.end() ? 0 : it->second;
}

// Inputs or outputs as they stand: shapes of each (several for a list), types.
struct Values {
  std::vector<std::vector<std::vector<std::int64_t>>> shapes;
  std::vector<std::string> types;
  std::string first_word;  // of the values, a text that names a collective
  double tensor_bytes = 0;
  std::size_t unsized = 0;  // tensors among the values whose elements or bytes are no numbers of 0 or more
};

// A shape is a list of numbers; lists of lists hold several.
// NOLINTNEXTLINE(misc-no-recursion): the reader limits nesting
void read_shapes(const json::Value& v, std::vector<std::vector<std::int64_t>>& out) {
  if (v.kind() != json::Kind::Array) {
    v.error("a shape is a list of whole numbers");
    return;
  }
  std::vector<std::int64_t> shape;
  double elements = 1;
  bool nested = false;
  v.elements([&](const json::Value& e) {
    if (e.kind() == json::Kind::Array) {
      nested = true;
      read_shapes(e, out);
    } else if (const auto n = e.integer(0, kMostElements)) {
      shape.push_back(*n);
      elements *= static_cast<double>(*n);
    }
  });
  if (nested) {
    if (!shape.empty()) v.error("a list of shapes holds numbers too");
    return;
  }
  if (elements > static_cast<double>(kMostElements))
    v.error(fmt::format("a tensor of {:.4g} elements, at most {} are read", elements, kMostElements));
  if (out.size() >= kMostTensors) v.fatal(fmt::format("a node has more than {} tensors", kMostTensors));
  out.push_back(std::move(shape));
}

// Bytes of tensors among values: [id, storage, offset, elements, bytes of an element, device].
// NOLINTNEXTLINE(misc-no-recursion): the reader limits nesting
void read_values(const json::Value& v, Values& out, bool outermost) {
  if (v.kind() != json::Kind::Array) return;
  std::vector<double> numbers;
  bool text_last = false;
  v.elements([&](const json::Value& e) {
    text_last = false;
    if (e.kind() == json::Kind::Array) {
      read_values(e, out, false);
    } else if (e.kind() == json::Kind::Number) {
      numbers.push_back(e.number().value_or(0));
    } else if (e.kind() == json::Kind::String) {
      const std::string text = e.string().value_or("");
      text_last = true;
      if (outermost && !text.empty() && out.first_word.empty()) out.first_word = text;
    }
  });
  if (outermost || !text_last || numbers.empty()) return;
  if (numbers.size() != 5 || numbers[3] < 0 || numbers[4] < 0)
    ++out.unsized;
  else
    out.tensor_bytes += numbers[3] * numbers[4];
}

class Reader {
 public:
  std::vector<EtNode> nodes;
  bool found = false;

  void read(const json::Value& root) {
    root.members([&](std::string_view key, const json::Value& v) {
      if (key != "nodes") return;
      found = true;
      v.elements([&](const json::Value& e) { read_node(e); });
    });
    if (!found) root.error("there are no nodes");
  }

 private:
  static std::int64_t id(const json::Value& v) { return v.integer(0).value_or(0); }

  static void shapes(const json::Value& v, Values& out) {
    v.elements([&](const json::Value& e) {
      if (out.shapes.size() >= kMostTensors) e.fatal(fmt::format("a node has more than {} tensors", kMostTensors));
      out.shapes.emplace_back();
      read_shapes(e, out.shapes.back());
    });
  }

  static void types(const json::Value& v, Values& out) {
    v.elements([&](const json::Value& e) { out.types.push_back(e.string().value_or("")); });
  }

  static void nested(const json::Value& v, Values& out) {
    if (v.kind() == json::Kind::Array) {
      read_values(v, out, true);
      return;
    }
    if (v.kind() != json::Kind::Object) return;
    v.members([&](std::string_view key, const json::Value& w) {
      if (key == "shapes") shapes(w, out);
      if (key == "types") types(w, out);
      if (key == "values") read_values(w, out, true);
    });
  }

  static std::vector<EtTensor> tensors(const Values& values) {
    std::vector<EtTensor> list;
    for (std::size_t i = 0; i < values.shapes.size(); ++i) {
      const std::string_view type = i < values.types.size() ? std::string_view(values.types[i]) : std::string_view();
      EtTensor t;
      t.is_tensor = type.find("Tensor(") != std::string_view::npos && type.find("nullptr") == std::string_view::npos;
      t.width = width_of(type);
      if (values.shapes[i].empty()) list.push_back(t);
      for (const auto& shape : values.shapes[i]) {
        t.shape = shape;
        list.push_back(t);
      }
    }
    return list;
  }

  void read_node(const json::Value& v) {
    EtNode node;
    Values in;
    Values out;
    if (v.kind() != json::Kind::Object) {
      v.error("a node is no object");
      return;
    }
    v.members([&](std::string_view key, const json::Value& w) {
      if (key == "id")
        node.id = id(w);
      else if (key == "parent" || key == "ctrl_deps")
        node.parent = id(w);
      else if (key == "name")
        node.name = w.string().value_or("");
      else if (key == "inputs")
        nested(w, in);
      else if (key == "outputs")
        nested(w, out);
      else if (key == "input_shapes")
        shapes(w, in);
      else if (key == "input_types")
        types(w, in);
      else if (key == "output_shapes")
        shapes(w, out);
      else if (key == "output_types")
        types(w, out);
    });
    for (const Values* const values : {&in, &out})
      if (values->shapes.size() != values->types.size())
        v.error(fmt::format("{} and {}", plural(values->shapes.size(), "shape"), plural(values->types.size(), "type")));
    node.inputs = tensors(in);
    node.outputs = tensors(out);
    if (node.name == kComms) {
      node.collective = in.first_word;
      if (in.unsized > 0)
        v.error(plural(in.unsized, "tensor") + " of a collective without a number of elements and bytes");
      else if (in.tensor_bytes > static_cast<double>(kMostElements))
        v.error(fmt::format("a collective of {:.4g} bytes, at most {} are read", in.tensor_bytes, kMostElements));
      else
        node.collective_bytes = static_cast<std::int64_t>(in.tensor_bytes);
    }
    nodes.push_back(std::move(node));
  }
};

}  // namespace

double EtTensor::elements() const {
  if (!is_tensor) return 0;
  double n = 1;
  for (const std::int64_t d : shape) n *= static_cast<double>(d);
  return n;
}

std::vector<EtNode> read_et_nodes(const std::string& text, const std::string& path) {
  Reader reader;
  json::Document document(text, path);
  document.read([&](const json::Value& root) { reader.read(root); });
  std::vector<EtNode>& nodes = reader.nodes;
  std::stable_sort(nodes.begin(), nodes.end(), [](const EtNode& a, const EtNode& b) { return a.id < b.id; });
  const auto twice =
      std::adjacent_find(nodes.begin(), nodes.end(), [](const EtNode& a, const EtNode& b) { return a.id == b.id; });
  if (twice != nodes.end()) refuse_file(path, fmt::format("two nodes have the id {}", twice->id));
  return std::move(nodes);
}

}  // namespace stretto::io
