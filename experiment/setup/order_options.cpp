// SPDX-License-Identifier: Apache-2.0
#include "experiment/setup/order_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace stretto::experiment {

namespace {

using config::FieldRecord;
using config::Node;
using config::Reader;
using plan::Discipline;
using policies::FileKind;
using policies::Policy;
using policies::Shared;

const std::vector<std::string> kDisciplines{"strict", "priority", "credit", "window", "chain_window", "credit_skip"};
constexpr Discipline kDisciplineOf[] = {Discipline::Strict, Discipline::Priority,    Discipline::Credit,
                                        Discipline::Window, Discipline::ChainWindow, Discipline::CreditSkip};
const std::vector<std::string> kDirections{"pull", "push", "both"};
constexpr std::int64_t kMaxWindow = 1'000'000;

// What was given, by the user or as a policy's default.
struct Given {
  std::optional<std::size_t> discipline;
  std::optional<std::int64_t> window;
  std::optional<Bytes> credit;
  std::optional<Bytes> partition;
  std::optional<std::size_t> direction;
};

struct Row {
  FieldRecord record;
  void (*read)(Reader& reader, const Node& node, const std::string& key, Given& given);
};

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows{
      {{"discipline", "one of strict, priority, credit, window, chain_window, credit_skip", "",
        "strict with a barrier, priority without", "how the order is enforced", ""},
       [](Reader& reader, const Node& node, const std::string& key, Given& given) {
         given.discipline = reader.read_choice(node, key, kDisciplines);
       }},
      {{"window", "integer", fmt::format("1 to {}", kMaxWindow), "",
        "a transfer waits until the one so many places before it on its server has arrived; implies window", ""},
       [](Reader& reader, const Node& node, const std::string& key, Given& given) {
         given.window = reader.read_integer(node, key, 1, kMaxWindow);
       }},
      {{"credit", "bytes", "1 B to 1 TiB", "", "bytes that may be under way per worker and direction; implies credit",
        ""},
       [](Reader& reader, const Node& node, const std::string& key, Given& given) {
         given.credit = reader.read_bytes(node, key);
         if (given.credit == Bytes()) reader.error(node.place, key, "nothing could ever be sent", "at least 1 B");
       }},
      {{"partition", "bytes", "0 to 1 TiB", "0 B", "largest slice of a variable, on its own server; 0 B: not cut", ""},
       [](Reader& reader, const Node& node, const std::string& key, Given& given) {
         given.partition = reader.read_bytes(node, key);
       }},
      {{"direction", "one of pull, push, both", "", "pull", "what is ranked", ""},
       [](Reader& reader, const Node& node, const std::string& key, Given& given) {
         given.direction = reader.read_choice(node, key, kDirections);
       }},
  };
  return kRows;
}

const Row* find_row(std::string_view name) {
  for (const Row& row : rows())
    if (row.record.path == name) return &row;
  return nullptr;
}

bool takes(const Policy& policy, std::string_view shared) {
  return policy.shared == Shared::All || (policy.shared == Shared::Partition && shared == "partition");
}

std::vector<std::string> option_names(const Policy& policy) {
  std::vector<std::string> names;
  for (const policies::PolicyOption& o : policy.options) names.emplace_back(o.name);
  for (const Row& row : rows())
    if (takes(policy, row.record.path)) names.push_back(row.record.path);
  return names;
}

// Reads the policies' own defaults; they are tested to be right.
Given defaults_of(const Policy& policy) {
  Reader reader;
  Given given;
  for (const auto& [name, text] : policy.defaults) {
    Node node;
    node.kind = config::Kind::Scalar;
    node.text = text;
    find_row(name)->read(reader, node, name, given);
  }
  STRETTO_ASSERT(reader.diagnostics().empty(), "defaults of policy {}: {}", policy.name, render(reader.diagnostics()));
  return given;
}

class Chooser {
 public:
  explicit Chooser(const PolicySpec& spec) : spec_(spec), key_("policies." + spec.name) {}

  PolicyChoice run() {
    choice_.policy = find();
    choice_.placement = choice_.policy->placement;
    for (const PolicyOption& option : spec_.options) read(option);
    if (choice_.policy->file != policies::FileKind::None && choice_.file.empty() && reader_.diagnostics().empty())
      reader_.error(spec_.place, key_, "needs a file", fmt::format("{{{}: PATH}}", spec_.name));
    if (reader_.diagnostics().empty()) settle();
    if (!reader_.diagnostics().empty()) throw UserError(std::move(reader_.diagnostics()));
    return std::move(choice_);
  }

 private:
  const Policy* find() {
    const std::vector<std::string> names = policies::policy_names();
    if (std::find(names.begin(), names.end(), spec_.name) == names.end())
      throw UserError({{Severity::Error, spec_.place.span(), "policies",
                        fmt::format("there is no policy '{}'", spec_.name), name_hint(spec_.name, names)}});
    return &policies::find_policy(spec_.name);
  }

  void read(const PolicyOption& option) {
    const Policy& policy = *choice_.policy;
    const std::string key = key_ + "." + option.key;
    const bool own = std::any_of(policy.options.begin(), policy.options.end(),
                                 [&](const policies::PolicyOption& o) { return o.name == option.key; });
    const Row* row = find_row(option.key);
    if (own && option.key == "file") {
      choice_.file = option.text;
      choice_.file_place = option.place;
    } else if (own) {
      read_own(option, key);
    } else if (row != nullptr && takes(policy, option.key)) {
      Node node;
      node.kind = config::Kind::Scalar;
      node.text = option.text;
      node.place = option.place;
      row->read(reader_, node, key, given_);
      places_[option.key] = option.place;
    } else if (row != nullptr) {
      reader_.error(option.key_place, key,
                    policy.shared != Shared::None   ? "this policy ranks nothing"
                    : policy.file != FileKind::None ? "the schedule says that itself"
                                                    : "this policy says that itself",
                    policy.shared == Shared::None ? "" : "it takes partition");
    } else {
      const std::vector<std::string> names = option_names(policy);
      reader_.error(option.key_place, key, fmt::format("policy {} has no option '{}'", policy.name, option.key),
                    name_hint(option.key, names));
    }
  }

  // A count or a duration in the form that policies take.
  std::optional<std::string> own_text(const PolicyOption& option, const std::string& key) {
    const auto& known = *std::find_if(choice_.policy->options.begin(), choice_.policy->options.end(),
                                      [&](const policies::PolicyOption& o) { return o.name == option.key; });
    if (known.kind == policies::OptionKind::Text) return option.text;
    Node node;
    node.kind = config::Kind::Scalar;
    node.text = option.text;
    node.place = option.place;
    if (known.kind == policies::OptionKind::Count) {
      const auto count = reader_.read_integer(node, key, known.low, known.high);
      return count ? std::optional(std::to_string(*count)) : std::nullopt;
    }
    const auto duration = reader_.read_duration(node, key);
    return duration ? std::optional(std::to_string(duration->ps())) : std::nullopt;
  }

  void read_own(const PolicyOption& option, const std::string& key) {
    const auto text = own_text(option, key);
    if (!text) return;
    try {
      policies::check_options(*choice_.policy, {{option.key, *text}});
      if (option.key == "placement" && *text == "experiment") choice_.placement = {};
      if (option.key != "placement") choice_.own[option.key] = *text;
    } catch (const UserError& error) {
      for (const Diagnostic& d : error.diagnostics()) reader_.error(option.place, key, d.message, d.hint);
    }
  }

  void settle() {
    const Given defaults = defaults_of(*choice_.policy);
    OrderOptions& order = choice_.order;
    order.partition = given_.partition.value_or(defaults.partition.value_or(Bytes()));
    order.direction = static_cast<Direction>(given_.direction.value_or(defaults.direction.value_or(0)));
    if (given_.discipline)
      order.discipline = kDisciplineOf[*given_.discipline];
    else if (given_.window)
      order.discipline = Discipline::Window;
    else if (given_.credit)
      order.discipline = defaults.discipline && plan::has_credit(kDisciplineOf[*defaults.discipline])
                             ? kDisciplineOf[*defaults.discipline]
                             : Discipline::Credit;
    else if (defaults.discipline)
      order.discipline = kDisciplineOf[*defaults.discipline];
    const bool windowed = order.discipline && plan::has_window(*order.discipline);
    const bool credited = order.discipline && plan::has_credit(*order.discipline);
    if (given_.window && !windowed)
      reader_.error(places_["window"], key_ + ".window", "does not go with this discipline",
                    "discipline: window or chain_window");
    if (given_.credit && !credited)
      reader_.error(places_["credit"], key_ + ".credit", "does not go with this discipline",
                    "discipline: credit or credit_skip");
    if (windowed) order.window = static_cast<std::uint32_t>(given_.window.value_or(defaults.window.value_or(0)));
    if (credited) order.credit = given_.credit.value_or(defaults.credit.value_or(Bytes()));
    if (windowed && order.window == 0)
      reader_.error(places_["discipline"], key_ + ".discipline", "needs a window", "for example window: 2");
    if (credited && order.credit == Bytes())
      reader_.error(places_["discipline"], key_ + ".discipline", "needs a credit", "for example credit: 16 MiB");
  }

  const PolicySpec& spec_;
  const std::string key_;
  Reader reader_;
  Given given_;
  std::map<std::string, config::Place> places_;
  PolicyChoice choice_;
};

}  // namespace

const std::vector<FieldRecord>& order_option_records() {
  static const std::vector<FieldRecord> kRecords = [] {
    std::vector<FieldRecord> records;
    for (const Row& row : rows()) records.push_back(row.record);
    return records;
  }();
  return kRecords;
}

PolicyChoice choose_policy(const PolicySpec& spec) { return Chooser(spec).run(); }

void apply(const OrderOptions& options, const Policy& policy, plan::Order& order) {
  if (policy.shared != Shared::All) return;
  plan::DirectionOrder ranked = std::move(order.pull);
  order.pull = {};
  if (options.discipline) {
    ranked.discipline = *options.discipline;
    ranked.window = options.window;
    ranked.credit = options.credit;
  }
  if (options.direction != Direction::Pull) {
    order.push = ranked;
    if (!options.discipline) order.push.discipline = Discipline::Priority;
  }
  if (options.direction == Direction::Push)
    order.pull.discipline = Discipline::Unordered;
  else
    order.pull = std::move(ranked);
}

}  // namespace stretto::experiment
