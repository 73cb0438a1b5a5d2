# SPDX-License-Identifier: Apache-2.0
"""Strict reading of JSON: every key known, every value of its type and range, every error with its place."""
import gzip
import json
import pathlib
from typing import Any

from .errors import InputError

MAX_BYTES = 1 << 30


def load(path: pathlib.Path) -> Any:
    """The content of a JSON file, plain or gzip. Doubled keys and NaN are errors."""
    try:
        data = path.read_bytes()
        if data[:2] == b'\x1f\x8b':
            with gzip.open(path) as file:
                data = file.read(MAX_BYTES + 1)
    except (OSError, EOFError) as error:
        raise InputError(f'{path}: {error}') from error
    if len(data) > MAX_BYTES:
        raise InputError(f'{path}: larger than 1 GiB')

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) != len(items):
            names = [key for key, _ in items]
            raise InputError(f'{path}: the key "{next(n for n in names if names.count(n) > 1)}" is there twice')
        return found

    def constant(text: str) -> Any:
        raise InputError(f'{path}: {text} is not a number of JSON')

    try:
        return json.loads(data.decode('utf-8'), object_pairs_hook=pairs, parse_constant=constant)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise InputError(f'{path}: not JSON: {error}') from error


class Fields:
    """An object of the file; take each key once, then call done()."""

    def __init__(self, value: Any, place: str):
        if not isinstance(value, dict):
            raise InputError(f'{place}: expected an object')
        self.place = place
        self._left = dict(value)

    def fail(self, key: str, message: str) -> InputError:
        return InputError(f'{self.place}.{key}: {message}')

    def has(self, key: str) -> bool:
        return key in self._left

    def take(self, key: str, default: Any = ...) -> Any:
        if key in self._left:
            return self._left.pop(key)
        if default is ...:
            raise self.fail(key, 'is missing')
        return default

    def integer(self, key: str, low: int, high: int, default: Any = ...) -> int:
        value = self.take(key, default)
        if type(value) is not int or not low <= value <= high:
            raise self.fail(key, f'expected an integer from {low} to {high}')
        return value

    def text(self, key: str, default: Any = ...) -> str:
        value = self.take(key, default)
        if not isinstance(value, str):
            raise self.fail(key, 'expected a string')
        return value

    def flag(self, key: str, default: Any = ...) -> bool:
        value = self.take(key, default)
        if not isinstance(value, bool):
            raise self.fail(key, 'expected true or false')
        return value

    def choice(self, key: str, choices: tuple[str, ...], default: Any = ...) -> str:
        value = self.text(key, default)
        if value not in choices:
            raise self.fail(key, 'expected one of ' + ', '.join(choices))
        return value

    def array(self, key: str, default: Any = ...) -> list[Any]:
        value = self.take(key, default)
        if not isinstance(value, list):
            raise self.fail(key, 'expected an array')
        return value

    def names(self, key: str) -> list[str]:
        value = self.array(key, [])
        if not all(isinstance(name, str) for name in value):
            raise self.fail(key, 'expected an array of strings')
        return value

    def format(self, name: str, newest: int) -> None:
        if self.text('format') != name:
            raise self.fail('format', f'expected "{name}"')
        version = self.integer('version', 1, 1 << 31)
        if version > newest:
            raise self.fail('version', f'{version} is newer than this program, which reads up to {newest}')

    def done(self) -> None:
        if self._left:
            raise self.fail(next(iter(self._left)), 'unknown key')
