// SPDX-License-Identifier: Apache-2.0
// Paths of files in a specification's text, which is carried away from the file that it stands in.
#include <string>
#include <utility>

#include "experiment/spec/rows.hpp"

namespace stretto::experiment {

using config::Node;

namespace {

void resolve(Node& value) {
  if (value.is_scalar()) value.text = value.place.resolve(value.text);
}

void resolve_file(Node& mapping) {
  if (config::Entry* file = mapping.find("file")) resolve(file->value);
}

// {name: PATH} or {name: {file: PATH}}.
void resolve_policy(Node& policy) {
  for (config::Entry& entry : policy.entries) {
    resolve(entry.value);
    resolve_file(entry.value);
  }
}

}  // namespace

Node without_directory(const std::string& path, Node value) {
  if (path == "jobs")
    for (Node& item : value.items) item = job_without_directory(std::move(item));
  if (path.starts_with("jobs[")) {
    const std::size_t dot = path.find('.');
    if (dot == std::string::npos) return job_without_directory(std::move(value));
    return without_directory(path.substr(dot + 1), std::move(value));
  }
  if (path == "policy") resolve_policy(value);
  if (path.starts_with("policy.") && (path.find('.', 7) == std::string::npos || path.ends_with(".file"))) {
    resolve(value);
    resolve_file(value);
  }
  if (path == "workload.file" || path == "noise.factors") resolve(value);
  if (path == "noise")
    if (config::Entry* factors = value.find("factors")) resolve(factors->value);
  if (path == "workload") resolve_file(value);
  if (path == "policies")
    for (Node& policy : value.items) resolve_policy(policy);
  if (!path.starts_with("policies[")) return value;
  const std::size_t end = path.find(']');
  if (end + 1 == path.size()) {
    resolve_policy(value);
  } else if (path.find('.', end + 2) == std::string::npos) {
    resolve(value);
    resolve_file(value);
  } else if (path.ends_with(".file")) {
    resolve(value);
  }
  return value;
}

Node job_without_directory(Node item) {
  for (config::Entry& e : item.entries) e.value = without_directory(e.key, std::move(e.value));
  return item;
}

}  // namespace stretto::experiment
