# SPDX-License-Identifier: Apache-2.0
"""The classic script of a parameter-server cluster, as a user of TensorFlow 1 writes it; it does not know stretto."""
import argparse
import time

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

parser = argparse.ArgumentParser()
parser.add_argument('--ps_hosts', required=True)
parser.add_argument('--worker_hosts', required=True)
parser.add_argument('--job_name', choices=('ps', 'worker'), required=True)
parser.add_argument('--task_index', type=int, required=True)
parser.add_argument('--session', choices=('plain', 'monitored'), default='monitored')
parser.add_argument('--resource', action='store_true')
parser.add_argument('--optimizer', choices=('sgd', 'adam'), default='sgd')
parser.add_argument('--steps', type=int, default=20)
parser.add_argument('--noise', type=float, default=0.3)
FLAGS = parser.parse_args()


def layer(inputs, name, size):
    with tf.variable_scope(name):
        weights = tf.get_variable('weights', [inputs.shape[1], size], initializer=tf.glorot_uniform_initializer(seed=7))
        biases = tf.get_variable('biases', [size], initializer=tf.zeros_initializer())
        return tf.matmul(inputs, weights) + biases


def main():
    if FLAGS.resource:
        tf.enable_resource_variables()
    cluster = tf.train.ClusterSpec({'ps': FLAGS.ps_hosts.split(','), 'worker': FLAGS.worker_hosts.split(',')})
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)
    if FLAGS.job_name == 'ps':
        server.join()

    tf.set_random_seed(11)
    with tf.device(tf.train.replica_device_setter(
            worker_device=f'/job:worker/task:{FLAGS.task_index}', cluster=cluster)):
        images = tf.placeholder(tf.float32, [32, 784])
        labels = tf.placeholder(tf.int32, [32])
        hidden = tf.nn.relu(layer(images, 'first', 256))
        hidden = tf.nn.relu(layer(hidden, 'second', 256))
        hidden = tf.nn.dropout(hidden, rate=0.1)
        logits = layer(hidden, 'last', 10)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.GradientDescentOptimizer(0.1) if FLAGS.optimizer == 'sgd' else tf.train.AdamOptimizer(0.01)
        train = optimizer.minimize(loss, global_step=step)
    initialize, missing = tf.global_variables_initializer(), tf.report_uninitialized_variables()

    # Without it a session waits for workers that have ended.
    config = tf.ConfigProto(device_filters=['/job:ps', f'/job:worker/task:{FLAGS.task_index}'])
    draw = np.random.RandomState(FLAGS.task_index)
    centres = np.random.RandomState(99).rand(10, 784)

    def batch():
        classes = draw.randint(0, 10, 32)
        return {images: centres[classes] + FLAGS.noise * draw.randn(32, 784), labels: classes}

    if FLAGS.session == 'monitored':
        with tf.train.MonitoredTrainingSession(master=server.target, is_chief=FLAGS.task_index == 0,
                                               config=config) as session:
            for _ in range(FLAGS.steps):
                _, value = session.run([train, loss], feed_dict=batch())
                print('loss', float(value).hex(), float(value), flush=True)
    else:
        with tf.Session(server.target, config=config) as session:
            if FLAGS.task_index == 0:
                session.run(initialize)
            while session.run(missing).size:
                time.sleep(0.1)
            for _ in range(FLAGS.steps):
                _, value = session.run([train, loss], feed_dict=batch())
                print('loss', float(value).hex(), float(value), flush=True)


main()
