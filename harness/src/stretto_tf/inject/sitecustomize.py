# SPDX-License-Identifier: Apache-2.0
"""Python imports this at its start when `stretto-tf run --schedule` put this folder on its path."""
import importlib.machinery
import importlib.util
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))


def _next_sitecustomize() -> None:
    """The one that would have been imported without us."""
    path = [entry for entry in sys.path if os.path.abspath(entry or '.') != _here]
    spec = importlib.machinery.PathFinder.find_spec('sitecustomize', path)
    if spec and spec.loader:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


def _install() -> None:
    package = os.path.dirname(_here)
    spec = importlib.util.spec_from_file_location('stretto_tf', os.path.join(package, '__init__.py'),
                                                  submodule_search_locations=[package])
    assert spec and spec.loader
    sys.modules['stretto_tf'] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules['stretto_tf'])
    from stretto_tf import hook
    hook.install()


if 'STRETTO_TF_SCHEDULE' in os.environ:
    _install()
_next_sitecustomize()
