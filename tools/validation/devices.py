#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fit devices' rooflines on public one-GPU figures and predict the rest: one-GPU rates of tf_cnn_benchmarks (K80, P100)
on GraphDefs, and per-layer times of PipeDream's profiles (V100)."""
import argparse
import collections
import csv
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

import common

# The models' names in tf_cnn_benchmarks and the GraphDefs that stand for them. ResNet-152 is ResNet-101 with 13 more
# units in its third block and 4 more in its second.
GRAPHS = {'AlexNet': 'alexnet_v2', 'VGG16': 'vgg_16', 'ResNet-50': 'resnet_50_v1', 'ResNet-152': 'resnet_101_v1',
          'InceptionV3': 'inception_v3'}
MORE_UNITS = {'ResNet-152': {'block2/unit_2/': 4, 'block3/unit_5/': 13}}
FITTED = ('AlexNet', 'VGG16', 'InceptionV3', 'ResNet-50')
FAMILIES = {**{m: m for m in GRAPHS}, 'ResNet-50': 'ResNets', 'ResNet-152': 'ResNets'}
BOARDS = {'K80': (4370, 240, 'NVIDIA\'s figures for the board (8.74 TFLOP/s, 480 GB/s), halved'),
          'P100': (10600, 732, 'NVIDIA\'s figures (SXM2, 10.6 TFLOP/s, 732 GB/s)'),
          'V100': (15700, 900, 'NVIDIA\'s figures (SXM2, 15.7 TFLOP/s, 900 GB/s)')}
V100_FITTED, V100_PREDICTED = ('resnet50', 'squeezenet1_0'), ('resnet18', 'resnet101', 'densenet121')
MEMORY = ('elementwise', 'pooling', 'normalization')
OP = ('phase', 'class', 'flops', 'memory_bytes', 'fixed_bytes')
BATCH = 32


def step(ops, device, batch=1, base=1):
    """Seconds of a step as models/device/roofline.hpp counts them; `ops`: {op: how many}."""
    ratio, total = batch / base, 0
    for (phase, kind, flops, moved, fixed), count in ops.items():
        own = device.get(phase, {}).get(kind) or device['forward'].get(kind)
        f = device['flops_efficiency'] if kind in MEMORY else own or device['flops_efficiency']
        m = own if kind in MEMORY and own else device['memory_efficiency']
        work = flops * (ratio if moved == 0 or fixed < moved else 1) / (device['peak'] * f)
        traffic = (fixed + (moved - fixed) * ratio) / (device['bandwidth'] * m)
        total += count * (max(work, traffic) + device['launch'])
    return total


def graph_ops(program, folder, model):
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / 'model.json'
        subprocess.run([str(program), 'import', str(folder / f'{GRAPHS[model]}.train.ps1.bs32.graphdef.gz'), '-o',
                        str(out)], check=True, capture_output=True)
        workload = json.loads(out.read_text())
    ops = collections.Counter()
    for op in workload['ops']:
        copies = 1 + sum(n for part, n in MORE_UNITS.get(model, {}).items() if part in op['name'])
        ops[op['phase'], op.get('class', 'other'), op.get('flops', 0), op.get('memory_bytes', 0),
            op.get('fixed_bytes', 0)] += copies
    return ops


def rates(path):
    """{(GPU, model, batch): images per second}, the mean of the synthetic one-GPU rows."""
    found = collections.defaultdict(list)
    with open(path, encoding='utf-8') as f:
        for row in csv.DictReader(f):
            if row['gpus'] == '1' and row['data'] == 'synthetic' and row['platform'] != 'aws_dist':
                found[row['gpu'], row['model'], int(row['batch_per_gpu'])].append(float(row['images_per_sec']))
    return {key: sum(v) / len(v) for key, v in found.items()}


def minimise(f, start, size=0.3, evaluations=400):
    """Nelder and Mead's simplex, begun again once where it ended."""
    for _ in range(2):
        points = [(f(start), start)]
        for i in range(len(start)):
            x = list(start)
            x[i] += size
            points.append((f(x), x))
        for _ in range(evaluations):
            points.sort()
            if points[-1][0] - points[0][0] < 1e-9:
                break
            centre = [sum(p[1][i] for p in points[:-1]) / len(start) for i in range(len(start))]

            def along(t, centre=centre, worst=points[-1][1]):
                x = [c + t * (c - w) for c, w in zip(centre, worst, strict=True)]
                return f(x), x
            new = along(1)
            if new < points[0]:
                new = min(new, along(2))
            elif new >= points[-2]:
                new = along(-0.5)
            if new < points[-1]:
                points[-1] = new
            else:
                best = points[0][1]
                points = [points[0]] + [(f(x), x) for x in
                                        ([(a + b) / 2 for a, b in zip(p[1], best, strict=True)] for p in points[1:])]
        start = min(points)[1]
    return start


def board(gpu):
    peak, bandwidth, _ = BOARDS[gpu]
    return {'peak': peak * 1e9, 'bandwidth': bandwidth * 1e9, 'flops_efficiency': 1, 'memory_efficiency': 1,
            'launch': 0, 'forward': {}, 'backward': {}}


NAMES = ('flops_efficiency', 'efficiency.conv_3x3', 'efficiency.conv_large', 'memory_efficiency', 'launch',
         'K80 over P100')
START = (0.5, 1.2, 1, 0.6, 1e-5, 0.8)
WINOGRAD = 2.25  # operations of the direct method over those of F(2x2, 3x3): no more than this can be saved
LIMITS = {'efficiency.conv_3x3': WINOGRAD, 'efficiency.conv_large': 4}


def of_parameters(gpu, x):
    """Both GPUs run the same kernels: one factor lies between their shares of the peak, none between the rest."""
    device = board(gpu)
    plain, three, large, memory, device['launch'], factor = map(math.exp, x)
    factor = factor if gpu == 'K80' else 1
    device['forward'] = {'conv_3x3': min(three, LIMITS[NAMES[1]]) * factor,
                         'conv_large': min(large, LIMITS[NAMES[2]]) * factor}
    device['flops_efficiency'], device['memory_efficiency'] = min(plain * factor, 1), min(memory, 1)
    return device


def fit_rates(ops, measured, fitted):
    """Parameters by least squares of the logarithms of step times, and the standard error of each one's logarithm."""
    rows = [(gpu, model, batch, batch / rate) for (gpu, model, batch), rate in sorted(measured.items())
            if fitted(model)]

    def errors(x):
        devices = {gpu: of_parameters(gpu, x) for gpu in ('K80', 'P100')}
        return [math.log(step(ops[model], devices[gpu], batch, BATCH) / seconds) for gpu, model, batch, seconds in rows]
    x = minimise(lambda y: sum(e * e for e in errors(y)), list(map(math.log, START)))
    slopes = []
    for i in range(len(x)):
        y = list(x)
        y[i] += 1e-3
        slopes.append([(b - a) / 1e-3 for a, b in zip(errors(x), errors(y), strict=True)])
    spare = len(rows) - len(x)
    variance = sum(e * e for e in errors(x)) / spare if spare > 0 else math.nan
    moving = [i for i, s in enumerate(slopes) if any(s)]
    spread = [0.0] * len(x)  # of those at their limits
    for i, d in zip(moving, inverse_diagonal([slopes[i] for i in moving]), strict=True):
        spread[i] = math.sqrt(variance * d) if d is not None else math.inf
    return x, spread


def inverse_diagonal(slopes):
    """Diagonal of (J J^T)^-1 by Gauss and Jordan; None where the rows depend on each other."""
    n = len(slopes)
    a = [[sum(p * q for p, q in zip(slopes[i], slopes[j], strict=True)) for j in range(n)]
         + [float(i == j) for j in range(n)] for i in range(n)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(a[r][i]))
        if abs(a[pivot][i]) < 1e-12:
            return [None] * n
        a[i], a[pivot] = a[pivot], a[i]
        a[i] = [v / a[i][i] for v in a[i]]
        for r in range(n):
            if r != i:
                a[r] = [v - a[r][i] * w for v, w in zip(a[r], a[i], strict=True)]
    return [a[i][n + i] for i in range(n)]


LAYER = re.compile(r'(node\d+) -- (\w+)\((.*)\) -- forward_compute_time=([\d.]+), backward_compute_time=([\d.]+), '
                   r'activation_size=\[?([\d.]+).*parameter_size=([\d.]+)')
KINDS = {'ReLU': 'elementwise', 'BatchNorm2d': 'normalization', 'MaxPool2d': 'pooling', 'AvgPool2d': 'pooling',
         'AdaptiveAvgPool2d': 'pooling'}


def layers(path):
    """[(forward op, its seconds, backward ops, their seconds)] of the layers whose work is known, and the time left."""
    found, inputs, rest = {}, collections.defaultdict(list), 0
    for line in path.read_text().splitlines():
        if line.startswith('\t'):
            a, b = line.strip().split(' -- ')
            inputs[b].append(a)
        elif match := LAYER.match(line):
            found[match[1]] = match.groups()[1:]
    out = []
    for node, (kind, text, forward, backward, size, parameters) in found.items():
        taken = [float(found[i][4]) for i in inputs[node] if i in found]
        seconds, size, parameters = (float(forward) * 1e-3, float(backward) * 1e-3), float(size), float(parameters)
        if kind == 'Input':
            continue
        if len(taken) != 1 or kind not in (*KINDS, 'Conv2d', 'Linear'):
            rest += sum(seconds)
            continue
        if kind in KINDS:
            reads = 4 if kind == 'MaxPool2d' else 3  # gradients: of the output; input; own; output of a maximum
            ops = [('forward', KINDS[kind], size / 4, taken[0] + size, 0)]
            moved = taken[0] + 2 * size if kind in ('ReLU', 'BatchNorm2d') else 2 * taken[0] + (reads - 2) * size
            back = [('backward', KINDS[kind], size / 4, moved, 0)]
        else:
            outputs = int(text.split(',')[1].split('=')[-1])
            flops = 2 * (size / 4) * (parameters / 4) / outputs
            moved = taken[0] + size + parameters
            square = re.search(r'kernel_size=\((\d+), (\d+)\), stride=\((\d+)', text)
            name = 'matmul' if kind == 'Linear' else 'conv'
            if square and square[1] == square[2] == '1':
                name = 'conv_1x1'
            elif square and square[1] == square[2] == '3' and square[3] == '1':
                name = 'conv_3x3'
            ops = [('forward', name, flops, moved, 0)]
            first = any(found[i][0] == 'Input' for i in inputs[node])
            back = [('backward', name, flops, moved, 0)] * (1 if first else 2)
        out.append((ops, seconds[0], back, seconds[1]))
    return out, rest


def fit_layers(folder, launch):
    """One efficiency per class and phase, and the time that the profiler adds to a layer of each phase."""
    device, added = board('V100'), {}
    device.update(memory_efficiency=0.7, flops_efficiency=0.5, launch=launch)
    known = [layer for model in V100_FITTED for layer in layers(folder / f'{model}.graph.txt')[0]]
    for phase, at in (('forward', 0), ('backward', 2)):
        samples = [(collections.Counter(layer[at]), layer[at + 1]) for layer in known if layer[at + 1] > 0]
        classes = sorted({kind for ops, _ in samples for _, kind, *_ in ops})

        def trial(x, phase=phase, classes=classes):
            found = {kind: min(math.exp(v), 1 if kind in MEMORY else WINOGRAD)
                     for kind, v in zip(classes, x[1:], strict=True)}
            return {**device, phase: found}, math.exp(x[0])

        def loss(x, samples=samples, trial=trial):
            guess, extra = trial(x)
            return sum(math.log((step(ops, guess) + extra) / seconds)**2 for ops, seconds in samples)
        device, added[phase] = trial(minimise(loss, [math.log(1e-4)] + [math.log(0.5)] * len(classes)))
    return device, added


def device_text(gpu, device, comment):
    name = gpu.lower()
    lines = [f'# {line}' for text in comment for line in textwrap.wrap(text, 118)]
    lines += ['stretto: 1', f'name: {name}', 'kind: gpu']
    lines += [f'peak_gflops: {BOARDS[gpu][0]}', f'memory_gbytes: {BOARDS[gpu][1]}']
    lines += [f'{key}: {device[key]:.3f}' for key in ('flops_efficiency', 'memory_efficiency')]
    lines.append(f'launch: {device["launch"] * 1e6:.1f} us')
    for phase, key in (('forward', 'efficiency'), ('backward', 'backward_efficiency')):
        if device[phase]:
            lines += [f'{key}:', *(f'  {k}: {v:.3f}' for k, v in sorted(device[phase].items()))]
    return '\n'.join(lines) + '\n'


def simulate(program, ops, text, batches):
    """Milliseconds of a step by stretto for each batch."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / 'device.yaml').write_text(text, encoding='utf-8')
        listed = [dict(zip(OP, op, strict=True)) for op, count in ops.items() for _ in range(count)]
        for i, op in enumerate(listed):
            op.update(name=f'op {i}', time_ps=0)
        gradient = next(op['name'] for op in listed if op['phase'] == 'backward')
        workload = {'format': 'stretto-workload', 'version': 2, 'name': 'flat', 'batch': BATCH, 'ops': listed,
                    'parameters': [{'name': 'w', 'bytes': 4, 'gradient': gradient}]}
        (folder / 'flat.json').write_text(json.dumps(workload), encoding='utf-8')
        (folder / 'case.yaml').write_text(
            'stretto: 1\nworkload: {file: flat.json}\ncluster: {workers: {device: {include: device.yaml}}}\n'
            f'policies: [fifo]\nruns: {{iterations: 4, warm_up: 2}}\nvary: {{workload.batch_per_worker: {batches}}}\n',
            encoding='utf-8')
        results = [r for r in common.run_json(program, 'case.yaml', folder) if r['policy'] == 'fifo']
    return [r['step_time_s']['mean'] * 1e3 for r in results]


def summary(role, rows):
    errors = [abs(predicted / measured - 1) for *_, measured, predicted in rows if _[0] == role]
    return (f'- {role}: {len(errors)} rows, mean error {100 * sum(errors) / len(errors):.1f} %, '
            f'worst {100 * max(errors):.1f} %.')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('data', type=pathlib.Path, help='folder that holds tf_benchmarks, tf_models, pipedream, gavel')
    parser.add_argument('--stretto', type=pathlib.Path, default=common.ROOT / 'build/release/app/stretto')
    parser.add_argument('--devices', type=pathlib.Path, help='also write the device files here')
    parser.add_argument('-o', '--output')
    args = parser.parse_args()
    program = args.stretto.resolve()
    ops = {model: graph_ops(program, args.data / 'tf_models', model) for model in GRAPHS}
    measured = rates(args.data / 'tf_benchmarks/tf_cnn_benchmarks_2017_open.csv')
    x, spread = fit_rates(ops, measured, lambda model: model in FITTED)
    devices = {gpu: of_parameters(gpu, x) for gpu in ('P100', 'K80')}
    told = [(name, min(math.exp(v), LIMITS.get(name, math.inf)), s)
            for name, v, s in zip(NAMES, x, spread, strict=True)]
    devices['V100'], added = fit_layers(args.data / 'pipedream', devices['P100']['launch'])
    comments = {gpu: [f'{"Half an " if gpu == "K80" else ""}NVIDIA {gpu} as a roofline by op class, for workloads that '
                      'bring operations and bytes but no times.',
                      f'peak_gflops, memory_gbytes: {BOARDS[gpu][2]}.',
                      *(['Efficiencies: per-layer times of PipeDream\'s profiles of '
                         f'{" and ".join(V100_FITTED)} (PyTorch, fp32). launch: that of P100.'] if gpu == 'V100' else
                        [f'Efficiencies and launch: one-GPU rates of tf_cnn_benchmarks '
                         f'(May 2017, cuDNN 5.1), {", ".join(FITTED)}.']),
                      'Made by tools/validation/devices.py; errors on these and on held-out models: '
                      'results/validation/devices.md.'] for gpu in devices}
    texts = {gpu: device_text(gpu, device, comments[gpu]) for gpu, device in devices.items()}
    rows = []
    for gpu in ('P100', 'K80'):
        for model in GRAPHS:
            batches = sorted(b for g, m, b in measured if (g, m) == (gpu, model))
            role = 'fitted' if model in FITTED else 'predicted'
            for batch, ms in zip(batches, simulate(program, ops[model], texts[gpu], batches), strict=True):
                rows.append((role, gpu, model, batch, 1e3 * batch / measured[gpu, model, batch], ms))
    left_out = []
    for family in dict.fromkeys(FAMILIES.values()):
        x, _ = fit_rates(ops, measured, lambda model, family=family: FAMILIES[model] != family)
        left_out += [('left out', gpu, model, batch, 1e3 * batch / rate,
                      1e3 * step(ops[model], of_parameters(gpu, x), batch, BATCH))
                     for (gpu, model, batch), rate in sorted(measured.items()) if FAMILIES[model] == family]
    layer_rows, rest = [], {}
    for model in (*V100_FITTED, *V100_PREDICTED):
        known, rest[model] = layers(args.data / f'pipedream/{model}.graph.txt')
        role = 'fitted' if model in V100_FITTED else 'predicted'
        for phase, ops_at, time_at in (('forward', 0, 1), ('backward', 2, 3)):
            seconds = sum(layer[time_at] for layer in known)
            predicted = sum(step(collections.Counter(layer[ops_at]), devices['V100']) + added[phase] for layer in known)
            layer_rows.append((role, model, phase, len(known), 1e3 * seconds, 1e3 * predicted))
    with open(args.data / 'gavel/isolated_throughputs_physical.csv', encoding='utf-8') as f:
        gavel = {(r['gpu'], int(r['batch_size'])): float(r['steps_per_s']) for r in csv.DictReader(f)
                 if r['model'] == 'ResNet-50' and r['num_workers'] == '1' and r['consolidated'] == '1'
                 and float(r['steps_per_s']) > 0}
    other_rows = []
    for gpu in devices:
        batches = sorted(b for g, b in gavel if g == gpu.lower())
        for batch, ms in zip(batches, simulate(program, ops['ResNet-50'], texts[gpu], batches), strict=True):
            other_rows.append(('other framework', gpu, batch, 1e3 / gavel[gpu.lower(), batch], ms))
    if args.devices:
        for gpu, text in texts.items():
            common.write(args.devices / f'{gpu.lower()}_roofline.yaml', text)
    common.finish(report(texts, told, rows, left_out, layer_rows, added, rest, other_rows), args.output)


def lines_of(columns, rows):
    lines = ['', '| ' + ' | '.join([*columns, 'measured ms', 'stretto ms', 'error']) + ' |',
             '|---' * (len(columns) + 3) + '|']
    for *cells, measured, predicted in rows:
        lines.append(f'| {" | ".join(map(str, cells))} | {measured:.1f} | {predicted:.1f} | '
                     f'{100 * (predicted / measured - 1):+.1f} % |')
    return [*lines, '']


def report(texts, told, rows, left_out, layer_rows, added, rest, other_rows):
    lines = ['# Devices as rooflines by op class, fitted and predicted', '',
             'Made by `tools/validation/devices.py DATA --devices configs/devices -o results/validation/devices.md`, '
             'where DATA holds tf_benchmarks, tf_models, pipedream and gavel. Operations and bytes come from the '
             'shapes of GraphDefs; efficiencies are one per class of ops, never of a model or a row.', '',
             '## One-GPU steps of tf_cnn_benchmarks', '',
             f'Fitted on {", ".join(FITTED)}, both GPUs together: plain kernels, 3x3 filters and large filters each '
             'reach a share of the peak, K80 a fixed factor of it; memory efficiency and launch cost are common. '
             'ResNet-152 is predicted. The GraphDefs are of tf_slim, the figures of other code for the same '
             'networks; copies of variables between host and GPU are not in the prediction.']
    lines += lines_of(['', 'GPU', 'model', 'batch'], rows)
    lines += [summary('fitted', rows), summary('predicted', rows), '',
              'The parameters, and how well the rows tell them (standard error, as a factor):', '']
    lines += [f'- {name}: {value:.3g}' + (', held at its limit' if s == 0 else f', x {math.exp(s):.2f}' if s < 1 else
                                          ', not told by these rows') for name, value, s in told]
    lines += ['', 'The same with each family of models left out of the fit in turn, and predicted:']
    lines += lines_of(['', 'GPU', 'model', 'batch'], left_out)
    lines += [summary('left out', left_out), '',
              'Without AlexNet only the few 5x5 filters of Inception tell what large filters take, so that AlexNet '
              'cannot be predicted from the others. Without VGG16 the limit of Winograd\'s kernels alone '
              'says how fast 3x3 filters are.']
    lines += ['', '## Layers of PipeDream\'s profiles (V100)', '',
              f'Fitted on {" and ".join(V100_FITTED)}, one efficiency per class and phase; sums over the layers whose '
              f'work is known. What the profiler adds to a layer is fitted too '
              f'({1e3 * added["forward"]:.2f} ms forward, '
              f'{1e3 * added["backward"]:.2f} ms backward) and is no part of the device. Layers '
              'of other kinds (sums and joins of branches, dropout) take '
              + ', '.join(f'{1e3 * s:.1f} ms in {m}' for m, s in rest.items()) + '.']
    lines += lines_of(['', 'model', 'phase', 'layers'], layer_rows)
    lines += [summary('fitted', layer_rows), summary('predicted', layer_rows), '',
              '## ResNet-50 in another framework', '',
              'Nothing was fitted on these: steps of PyTorch in a cloud (Gavel), whose host costs and cuDNN differ.']
    lines += lines_of(['', 'GPU', 'batch'], other_rows)
    lines += [summary('other framework', other_rows), '', '## Device files', '']
    for text in texts.values():
        lines += ['```', text.rstrip(), '```', '']
    return '\n'.join(lines).rstrip() + '\n'


if __name__ == '__main__':
    sys.exit(main())
