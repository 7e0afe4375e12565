#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A CartPole worker for olaf-cartpole-server, in NumPy: worker.py ADDR[:PORT] CLUSTER WORKER"""
import sys
import numpy as np
import olaf

HIDDEN, DISCOUNT, TRACE, TRACK, ANGLE = 32, 0.99, 0.95, 2.4, np.radians(12)
SCALE = np.array([1 / TRACK, 0.5, 1 / ANGLE, 0.5])  # brings observations to about ±1

def layers(flat):  # as policy.cpp has them: column by column
    return flat[:128].reshape(4, HIDDEN).T, flat[128:160], flat[160:256].reshape(HIDDEN, 3).T, flat[256:]

def step(state, push):  # environment.cpp: Euler's method over 20 ms
    _, velocity, angle, spin = state
    sine, cosine = np.sin(angle), np.cos(angle)
    pushed = (push + 0.05 * spin * spin * sine) / 1.1
    spin_rate = (9.8 * sine - cosine * pushed) / (0.5 * (4 / 3 - 0.1 * cosine * cosine / 1.1))
    return state + 0.02 * np.array([velocity, pushed - 0.05 * spin_rate * cosine / 1.1, spin, spin_rate])

def forward(weights, states):
    hidden = np.tanh(states * SCALE @ weights[0].T + weights[1])
    return hidden, hidden @ weights[2].T + weights[3]

def play(weights, random):  # one episode: states, actions, and whether it was cut off
    states, actions = [random.uniform(-0.05, 0.05, 4)], []
    while abs(states[-1][0]) <= TRACK and abs(states[-1][2]) <= ANGLE and len(actions) < 500:
        left, right, _ = forward(weights, states[-1])[1]
        actions.append(random.random() < 1 / (1 + np.exp(left - right)))
        states.append(step(states[-1], 10 if actions[-1] else -10))
    return np.array(states), np.array(actions, float), len(actions) == 500

def gradient(weights, states, actions, cut):  # actor.cpp and policy.cpp: advantage actor-critic
    hidden, outputs = forward(weights, states)
    values, right = outputs[:, 2], 1 / (1 + np.exp(outputs[:-1, 0] - outputs[:-1, 1]))
    surprise = 1 - DISCOUNT + DISCOUNT * np.append(values[1:-1], values[-1] * cut) - values[:-1]
    advantages = surprise.copy()
    for i in reversed(range(len(advantages) - 1)):
        advantages[i] += DISCOUNT * TRACE * advantages[i + 1]
    push = advantages / (np.sqrt(np.mean(advantages**2)) + 0.3) * (actions - right)
    push -= 0.01 * right * (1 - right) * np.log((right + 1e-7) / (1 - right + 1e-7))  # entropy
    # The target of the value is value + advantage.
    out = np.stack([-push, push, 0.5 * advantages], 1) / len(actions)
    inner, hidden = out @ weights[2] * (1 - hidden[:-1] ** 2), hidden[:-1]
    parts = inner.T @ (states[:-1] * SCALE), inner.sum(0), out.T @ hidden, out.sum(0)
    flat = np.concatenate([part.T.ravel() for part in parts])
    return flat * min(1, 0.5 / np.linalg.norm(flat))

def train(server, cluster, identity, interval=0.0, seed=1):
    random, codec = np.random.default_rng([seed, cluster, identity]), olaf.Codec(scale=2.0**22)
    worker = olaf.Worker(server, cluster, identity, 259, codec=codec)
    flat, _ = worker.join()
    while True:
        weights = layers(flat.astype(float))
        states, actions, cut = play(weights, random)
        worker.push(gradient(weights, states, actions, cut), len(actions), worker.model_version)
        worker.wait(interval)  # takes in newer weights, of which flat is a view

if __name__ == "__main__":
    train(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), interval=0.03)
