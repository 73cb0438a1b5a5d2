# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2046
# Sourced by ./stretto, ./check and tools/fresh_debian: what to install, from tools/packages.txt.
# Everything is printed to stderr.

# packages_in FILE SECTION...: the packages of these sections, one a line.
packages_in() {
  local file=$1 line section="" wanted=" ${*:2} "
  while read -r line; do
    case $line in
      "" | "#"*) ;;
      "["*) section=${line//[\[\]]/} ;;
      *) [[ $wanted == *" $section "* ]] && printf '%s\n' "$line" ;;
    esac
  done < "$file"
  return 0
}

# ensure_packages ROOT SECTION...: installs what is missing. Returns 2 if it cannot.
ensure_packages() {
  local root=$1 package log
  shift
  local missing=()
  if ! command -v dpkg-query > /dev/null; then
    echo "stretto: this is not Debian; assuming that these are installed:" \
      $(packages_in "$root/tools/packages.txt" "$@") >&2
    return 0
  fi
  for package in $(packages_in "$root/tools/packages.txt" "$@"); do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2> /dev/null) == installed ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    echo "stretto: these Debian packages are missing. Please type, then start again:" >&2
    echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}" >&2
    return 2
  fi
  echo "stretto: installing Debian packages: ${missing[*]}" >&2
  log=$root/build/apt.log
  mkdir -p "$root/build" || return 2
  local apt=(env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 apt-get -qy -o DPkg::Lock::Timeout=600)
  if ! "${apt[@]}" update > "$log" 2>&1 < /dev/null ||
    ! "${apt[@]}" install --no-install-recommends "${missing[@]}" >> "$log" 2>&1 < /dev/null; then
    echo "stretto: error: apt-get failed. The end of $log:" >&2
    tail -n 20 "$log" >&2
    return 2
  fi
}
