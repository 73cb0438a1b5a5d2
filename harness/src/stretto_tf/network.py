# SPDX-License-Identifier: Apache-2.0
"""The links between the tasks of a run.

With namespaces, each task lives in a network namespace of its own, joined by a veth pair to a bridge in one more
namespace (the switch). Both ends of each pair are shaped by a token bucket, so that a NIC is full duplex. Nothing of it
can be seen or reached from the machine's own network, and two runs cannot meet.
"""
import ctypes
import os
import shutil
import socket
import subprocess

from .errors import HarnessError

PORT = 2222
_SUBNET = '10.77.0'
_CLONE_NEWNET = 0x40000000
# ip and tc are where only root's path leads.
_PATH = os.pathsep.join([os.environ.get('PATH', os.defpath), '/usr/sbin', '/sbin'])


def enter_new_namespace() -> None:
    """Puts the calling thread, and all it starts later, into a network namespace of its own."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), f'unshare: {os.strerror(ctypes.get_errno())}')


def why_no_namespaces() -> str | None:
    """None if namespaces can be made here, else the reason."""
    for tool in ('ip', 'tc', 'nsenter', 'unshare'):
        if shutil.which(tool, path=_PATH) is None:
            return f'there is no program {tool}'
    script = ('ip link add name st0 type veth peer name st1 && ip link add name br0 type bridge && '
              'tc qdisc add dev st0 root tbf rate 1gbit burst 128kb latency 50ms')
    done = subprocess.run(['unshare', '--net', 'sh', '-c', script], capture_output=True, text=True, timeout=60,
                          env=os.environ | {'PATH': _PATH})
    if done.returncode == 0:
        return None
    if os.getuid():
        return 'not root'
    return done.stderr.strip().splitlines()[-1] if done.stderr.strip() else 'unshare failed'


def _inside(pid: int, *commands: str) -> str:
    """Runs commands in the namespace of a process; returns what they print."""
    script = ' && '.join(commands)
    done = subprocess.run(['nsenter', '--net', '--target', str(pid), 'sh', '-c', script],
                          capture_output=True, text=True, timeout=60,
                          env=os.environ | {'PATH': _PATH})
    if done.returncode:
        raise HarnessError(f'the network could not be made: {script}: {done.stderr.strip()}')
    return done.stdout


def _shape(device: str, rate: int | None) -> str:
    return 'true' if rate is None else f'tc qdisc add dev {device} root tbf rate {rate}bit burst 128kb latency 50ms'


def connect(switch: int, tasks: list[tuple[int, int | None]]) -> tuple[list[str], str]:
    """Joins the namespaces of processes, given as (pid, rate in bit/s), to a bridge in that of `switch`.

    Returns the address of each and the congestion control in use.
    """
    _inside(switch, 'ip link set lo up', 'ip link add name br0 type bridge forward_delay 0', 'ip link set br0 up')
    control = 'cubic'
    addresses = []
    for i, (pid, rate) in enumerate(tasks):
        address = f'{_SUBNET}.{i + 1}'
        addresses.append(f'{address}:{PORT}')
        _inside(switch, f'ip link add name nic{i} type veth peer name eth0 netns {pid}',
                f'ip link set nic{i} master br0 up', _shape(f'nic{i}', rate))
        _inside(pid, 'ip link set lo up', f'ip addr add {address}/24 dev eth0', 'ip link set eth0 up',
                _shape('eth0', rate))
        try:
            _inside(pid, f'ip route change {_SUBNET}.0/24 dev eth0 src {address} congctl cubic')
        except HarnessError:
            control = _inside(pid, 'cat /proc/sys/net/ipv4/tcp_congestion_control').strip()
    return addresses, control


def loopback_addresses(count: int) -> list[str]:
    """Free ports of the loopback device; all different."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(('127.0.0.1', 0))
        return [f'127.0.0.1:{one.getsockname()[1]}' for one in sockets]
    finally:
        for one in sockets:
            one.close()
