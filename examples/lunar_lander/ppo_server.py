#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A server for ppo_worker.py, until Ctrl-C: ppo_server.py ADDR[:PORT]

A quarter of each update's change of weights is taken; of an aggregate of n updates, a quarter of their sum."""
import sys
import torch
from torch import nn
import olaf
from ppo_worker import Agent

def first_weights(seed=1):
    torch.manual_seed(seed)
    agent = Agent()
    for layer in agent.modules():
        if isinstance(layer, nn.Linear):
            nn.init.orthogonal_(layer.weight, 1.0 if layer is agent.head else 2**0.5)
            nn.init.zeros_(layer.bias)
    agent.head.weight.data[:4] *= 0.01  # all four actions about equally likely
    return nn.utils.parameters_to_vector(agent.parameters()).detach().numpy()

def main(address):
    server = olaf.ParameterServer(address, mtu=9000, acknowledge="known")
    server.add_cluster(0, first_weights(), "sgd", learning_rate=0.25, codec=olaf.Codec(scale=2.0**24))
    print("listening", flush=True)
    server.serve()

if __name__ == "__main__":
    main(sys.argv[1])
