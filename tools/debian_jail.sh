# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by tools/fresh_debian and tools/try_dockerfile: bare Debian 12 systems (debootstrap, minbase) in folders, with
# the host's mirror and proxies. Needs root. $place is where base.tar is kept; remove it to fetch a new one.

# The host's Debian mirror, so that this works behind one.
jail_mirror() {
  local mirror
  mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2> /dev/null |
    sed -nE 's#^(URIs:|deb( \[[^]]*\])?) *(https?://[^ ]*/debian/?)( .*)?$#\3#p' | head -n 1)
  echo "${mirror:-http://deb.debian.org/debian}"
}

# make_jail DIR: a bare system there, not mounted yet.
make_jail() {
  local jail=$1 base=${place:?}/base.tar mirror
  mirror=$(jail_mirror)
  mkdir -p "$jail"
  if [[ ! -f $base ]]; then
    echo "== debootstrap from $mirror"
    debootstrap --variant=minbase --include=git,ca-certificates bookworm "$jail" "$mirror" \
      > "$place/debootstrap.log" || {
      tail -n 20 "$place/debootstrap.log" >&2
      return 1
    }
    rm -rf "$jail"/var/cache/apt/archives/*.deb "$jail"/var/lib/apt/lists/*
    tar -C "$jail" --numeric-owner -cf "$base.new" . && mv "$base.new" "$base"
  else
    tar -C "$jail" --numeric-owner -xpf "$base"
  fi
  printf 'deb %s bookworm main\ndeb %s bookworm-updates main\ndeb %s bookworm-security main\n' \
    "$mirror" "$mirror" "${mirror%/}-security" > "$jail/etc/apt/sources.list"
  grep -lsE 'Acquire::' /etc/apt/apt.conf /etc/apt/apt.conf.d/* | while read -r file; do
    cp "$file" "$jail/etc/apt/apt.conf.d/"
  done
  cp /etc/resolv.conf /etc/hosts "$jail/etc/"
}

mount_jail() {
  local jail=$1
  mkdir -p "$jail/proc" "$jail/dev/shm" "$jail/dev/pts"
  mount -t proc proc "$jail/proc"
  mount -t tmpfs tmpfs "$jail/dev/shm"
  # An instance of its own; without ptys what needs a terminal cannot be tried.
  mount -t devpts -o newinstance,ptmxmode=0666 devpts "$jail/dev/pts"
  ln -sf pts/ptmx "$jail/dev/ptmx"
}

unmount_jail() {
  local jail=$1 mounted
  for mounted in proc dev/shm dev/pts; do
    mountpoint -q "$jail/$mounted" && umount "$jail/$mounted"
  done
  ! mountpoint -q "$jail/proc" && ! mountpoint -q "$jail/dev/shm" && ! mountpoint -q "$jail/dev/pts"
}

# remove_jail DIR: not while something is mounted there.
remove_jail() {
  if unmount_jail "$1"; then
    rm -rf --one-file-system "$1"
  else
    echo "$(basename -- "$0"): could not unmount below $1" >&2
  fi
}

# in_jail DIR COMMAND
in_jail() {
  env -i HOME=/root TERM=dumb PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
    chroot "$1" /bin/bash -c "$2" < /dev/null 9>&-
}
