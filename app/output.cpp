// SPDX-License-Identifier: Apache-2.0
#include "app/output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "sim/base/diagnostic.hpp"

namespace stretto::app {

namespace {

// Set by the signal handler, which can reach nothing else.
volatile std::sig_atomic_t interrupted = 0;

void on_interrupt(int) { interrupted = 1; }

void handle_interrupt(void (*handler)(int), int flags) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

void print(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return;
  if (errno == EPIPE) throw ReaderGone();
  throw UserError(fmt::format("cannot write to stdout: {}", std::strerror(errno)));
}

void print_error(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

ProgressLine::ProgressLine(bool quiet) : shown_(!quiet && isatty(STDERR_FILENO) != 0) {
  handle_interrupt(on_interrupt, static_cast<int>(SA_RESETHAND));
}

ProgressLine::~ProgressLine() {
  handle_interrupt(SIG_DFL, 0);
  if (shown_) print_error("\r\x1b[K");
}

void ProgressLine::operator()(std::size_t done, std::size_t total, const std::string& text) {
  if (interrupted != 0) throw Interrupted();
  if (shown_) print_error(fmt::format("\r\x1b[K{}/{} {:.60}", done, total, escape_control(text)));
}

}  // namespace stretto::app
