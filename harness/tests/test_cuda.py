# SPDX-License-Identifier: Apache-2.0
"""The CUDA parts: they build where nvcc is, load without a GPU, and say what is missing. What they measure needs a GPU
and is not tested here; the files they write are tested by tests/unit/cuda_files_test.cpp."""
import os
import pathlib
import shutil
import subprocess
import sys
from typing import Any

import pytest

CUDA = pathlib.Path(__file__).parents[1] / 'cuda'
NVCC = os.environ.get('NVCC') or shutil.which('nvcc') or '/usr/local/cuda/bin/nvcc'


def has_gpu() -> bool:
    return pathlib.Path('/dev/nvidiactl').exists()


@pytest.fixture(scope='module')
def built(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    if not os.access(NVCC, os.X_OK):
        pytest.skip('no nvcc')
    folder = tmp_path_factory.mktemp('cuda')
    done = subprocess.run([CUDA / 'build', folder], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


def test_without_nvcc_the_reason_is_said(tmp_path: pathlib.Path) -> None:
    done = subprocess.run([CUDA / 'build', tmp_path], capture_output=True, text=True, timeout=60,
                          env=os.environ | {'NVCC': str(tmp_path / 'absent')})
    assert done.returncode == 2
    assert 'no nvcc at' in done.stderr and 'NVCC=' in done.stderr
    assert not list(tmp_path.iterdir())


def test_the_probe_says_that_there_is_no_gpu(built: pathlib.Path) -> None:
    if has_gpu():
        pytest.skip('there is a GPU')
    done = subprocess.run([built / 'probe', '-o', built / 'device.yaml'], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, '')
    assert done.stderr.startswith('probe: error: no GPU: ')
    assert not (built / 'device.yaml').exists()


def test_the_probe_refuses_unknown_words(built: pathlib.Path) -> None:
    for words in (['--x'], ['-o'], ['--device', 'one'], ['--device', '-1']):
        done = subprocess.run([built / 'probe', *words], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and done.stderr.startswith('probe: error: '), words


def test_the_recorder_loads_and_says_what_is_missing(built: pathlib.Path) -> None:
    if has_gpu():
        pytest.skip('there is a GPU')
    program = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).InitializeInjection())"
    done = subprocess.run([sys.executable, '-c', program, built / 'libstretto_recorder.so'], capture_output=True,
                          text=True, timeout=60, cwd=built)
    assert (done.returncode, done.stdout) == (0, '0\n'), done.stderr
    assert 'nothing is recorded: there is no CUDA driver' in done.stderr
    assert not list(built.glob('stretto_cuda_*'))


@pytest.mark.tensorflow
def test_the_compute_op_has_a_gpu_kernel_and_fails_cleanly_without_a_gpu() -> None:
    if not os.access(NVCC, os.X_OK):
        pytest.skip('no nvcc')
    if has_gpu():
        pytest.skip('there is a GPU')
    tf: Any = pytest.importorskip('tensorflow')
    from tensorflow.python.framework import kernels
    from stretto_tf import oplib
    ops = oplib.load()
    found = {kernel.device_type for kernel in kernels.get_registered_kernels_for_op('StrettoCompute').kernel}
    assert found == {'CPU', 'GPU'}
    with tf.Graph().as_default():
        with tf.compat.v1.device('/gpu:0'):
            work = ops.stretto_compute(duration_ns=1000, tag=1)
        with tf.compat.v1.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match='GPU:0'):
            session.run(work)
