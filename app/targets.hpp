// SPDX-License-Identifier: Apache-2.0
// Files that a command is told to write, looked at before anything is computed.
#pragma once

#include <string>
#include <vector>

namespace stretto::app {

// UserError if one of `inputs` is the file `path`, by whatever name, link or hard link. `option` names `path` in the
// message. Inputs that do not exist are passed over; "" is no file.
void keep_inputs(const std::string& option, const std::string& path, const std::vector<std::string>& inputs);

// keep_inputs, and `path` can become a file: its folder exists and may be written to, and it is no folder itself. Else
// a UserError, in place of one after the work is done.
void check_target(const std::string& option, const std::string& path, const std::vector<std::string>& inputs);

// The folder can be made, or is there and can be written to; nothing is made yet.
void check_folder(const std::string& path);

// Makes the folder that an option names, and those above it.
void make_folder(const std::string& path);

// Two options name one file.
bool same_file(const std::string& a, const std::string& b);

}  // namespace stretto::app
