#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write GraphDefs of TF-Slim's networks, FOLDER/MODEL.train.ps1.bs32.graphdef.gz, for tools/paper_models.py.

usage: build/harness-venv/bin/python tools/paper_graphs.py FOLDER MODEL...

Each is what one training step of the network needs: batch 32, static shapes, 1000 classes, weight decay as the network
has it, plain SGD, variables and their updates on one server, everything else on one worker. `harness/setup` makes the
Python environment; the models are those of the harness (stretto_tf.real.NETS).
"""
import argparse
import gzip
import importlib
import pathlib

from stretto_tf import real

BATCH = 32
CLASSES = 1000


def graph_of(model):
    import tensorflow as tf
    import tf_slim as slim
    from tf_slim.nets import inception
    v1 = tf.compat.v1
    v1.disable_v2_behavior()
    module_name, function, scope, size = real.NETS[model]
    module = importlib.import_module(f'tf_slim.nets.{module_name}')
    scope_function = getattr(inception if module_name.startswith('inception') else module, scope)
    arguments = {'batch_norm_scale': False} if scope == 'resnet_arg_scope' else {}
    graph = tf.Graph()
    setter = v1.train.replica_device_setter(ps_tasks=1, worker_device='/job:worker/task:0', ps_device='/job:ps')
    with graph.as_default(), v1.device(setter):
        images = tf.random.uniform([BATCH, size, size, 3], name='images')
        labels = tf.random.uniform([BATCH], maxval=CLASSES, dtype=tf.int32, name='labels')
        with slim.arg_scope(scope_function(**arguments)):
            logits, ends = getattr(module, function)(images, num_classes=CLASSES, is_training=True)
        if logits.shape.rank == 4:
            logits = tf.squeeze(logits, [1, 2])
        v1.losses.sparse_softmax_cross_entropy(labels, logits)
        if 'AuxLogits' in ends:
            v1.losses.sparse_softmax_cross_entropy(labels, ends['AuxLogits'], weights=0.4)
        count = v1.train.get_or_create_global_step()
        train = v1.train.GradientDescentOptimizer(0.01).minimize(v1.losses.get_total_loss(), global_step=count)
        step = tf.group(train, *v1.get_collection(v1.GraphKeys.UPDATE_OPS), name='train_op')
    return v1.graph_util.extract_sub_graph(graph.as_graph_def(add_shapes=True), [step.name])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('folder', type=pathlib.Path)
    parser.add_argument('models', nargs='+', choices=real.NETS, metavar='MODEL')
    arguments = parser.parse_args()
    real.prepare()
    for model in arguments.models:
        file = arguments.folder / f'{model}.train.ps1.bs32.graphdef.gz'
        file.write_bytes(gzip.compress(graph_of(model).SerializeToString(deterministic=True), 9, mtime=0))
        print(f'{file}: {file.stat().st_size} B')


if __name__ == '__main__':
    main()
