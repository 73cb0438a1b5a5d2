# SPDX-License-Identifier: Apache-2.0
"""Scoreboard: sources that have a tool and a table of their own in results/validation."""
import common
from score_base import Row, Source


class Table(Source):
    """Rows of a Markdown table that end with measured, predicted, error."""
    unit = 'ms'
    ROLES = {}  # what first cells say; rows that say something else are left out. Empty: all rows are predicted

    def lines(self):
        path = common.ROOT / f'results/validation/{self.name}.md'
        for line in path.read_text(encoding='utf-8').splitlines():
            cells = [cell.strip() for cell in line.strip('|').split('|')]
            if line.startswith('|') and cells[-1].endswith(' %') and len(cells) > 3:
                said = cells.pop(0) if self.ROLES else 'predicted'
                if role := (self.ROLES or {'predicted': 'predicted'}).get(said):
                    yield Row((said, *cells[:-3]), role, float(cells[-3])), float(cells[-2])

    def rows(self):
        return [row for row, _ in self.lines()]

    def fit(self, _run, _rows):
        return {}

    def predict(self, _run, _parameters, rows):
        found = dict(self.lines())
        return [found[row] for row in rows]

    def cheap(self, row):
        return False  # the tool's own test holds it


class Cmdare(Table):
    name, unit = 'cmdare', 'steps/s'
    ROLES = {'fitted': 'fitted', 'predicted': 'predicted'}
    title = 'Asynchronous parameter servers in a cloud, 1 to 8 K80 or P100 (CM-DARE)'
    fitted = ('Server time per message and per byte, variation of steps and two compute times, on the least and the '
              'largest network with one server and P100. See [cmdare.md](cmdare.md).')
    left_out = 'Nothing.'

    def group(self, row):
        return f'{row.key[1]}, {row.key[2]} server{"s" if row.key[2] != "1" else ""}'


class Devices(Table):
    name = 'devices'
    title = 'One-GPU steps and layers of networks that nothing was fitted on, from operations and bytes'
    fitted = 'Efficiencies of K80, P100 and V100 on other networks. See [devices.md](devices.md).'
    left_out = 'The table with each family left out in turn, a second fit of the same rows.'
    ROLES = {'fitted': 'fitted', 'predicted': 'predicted', 'other framework': 'predicted'}

    def group(self, row):
        if row.key[0] == 'other framework':
            return 'ResNet-50 in PyTorch (Gavel)'
        return 'layers (PipeDream)' if row.key[2] in ('forward', 'backward') else 'steps (tf_cnn_benchmarks)'


class Emulated(Table):
    name = 'tf_emulated'
    title = 'Steps of TensorFlow 2.21 clusters with emulated compute'
    fitted = 'Nothing. See [tf_emulated.md](tf_emulated.md).'
    left_out = 'Nothing.'

    def group(self, row):
        return f'{row.key[2]} worker{"s" if row.key[2] != "1" else ""}, {row.key[3]}'


class Traced(Table):
    name = 'tf_ps'
    title = 'Steps of three networks on TensorFlow 2.21, from one traced step each'
    fitted = 'Nothing. See [tf_ps.md](tf_ps.md).'
    left_out = 'Nothing.'
