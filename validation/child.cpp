// SPDX-License-Identifier: Apache-2.0
#include "validation/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "sim/base/assert.hpp"
#include "sim/base/diagnostic.hpp"

namespace stretto::validation {

int run_child(const std::vector<std::string>& command) {
  STRETTO_ASSERT(!command.empty(), "a command of {} words", command.size());
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  sigemptyset(&ignore.sa_mask);
  struct sigaction before = {};
  sigaction(SIGINT, &ignore, &before);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {  // only async-signal-safe calls from here
    signal(SIGINT, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(1);
    const int null = open("/dev/null", O_RDONLY);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) _exit(127);
    execvp(words[0], words.data());
    _exit(127);
  }
  int status = 0;
  bool waited = child > 0;
  while (waited && waitpid(child, &status, 0) < 0)
    if (errno != EINTR) waited = false;
  const int error = errno;
  sigaction(SIGINT, &before, nullptr);
  if (!waited) throw UserError(fmt::format("cannot run {}: {}", command[0], std::strerror(error)));
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace stretto::validation
