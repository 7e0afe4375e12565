#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A PPO worker for LunarLander, in PyTorch: ppo_worker.py SERVER CLUSTER WORKER [ITERATIONS]

Learns beside others, in Python or C++, against ppo_server.py or olaf-lunar-lander-server. The game is
Gymnasium's where that is installed, else the build's: PYTHONPATH=build/python:build/examples/lunar_lander"""
import sys
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical
import olaf

STEPS, EPOCHS, MINIBATCH, GAMMA, TRACE, CLIP, RATE = 512, 4, 64, 0.99, 0.98, 0.2, 6e-4

def make_game():
    try:
        import gymnasium
    except ImportError:
        from lunar_lander import LunarLander  # built from module.cpp
        return LunarLander()
    try:
        return gymnasium.make("LunarLander-v3")
    except gymnasium.error.DependencyNotInstalled as error:
        sys.exit(f"ppo_worker: Gymnasium is installed, but its game is not ({error}). Either install gymnasium[box2d], or "
                 "run this with a Python that has no gymnasium, for the game of Olaf's build")

class Agent(nn.Module):
    """Its parameters, in order, are those of network.hpp."""
    def __init__(self, hidden=40):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(8, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.head = nn.Linear(hidden, 5)
    def forward(self, observations):
        outputs = self.head(self.trunk(observations))
        return Categorical(logits=outputs[..., :4]), outputs[..., 4]

class Player:
    """Plays on from where it was, episode after episode."""
    def __init__(self, seed):
        self.game, self.reward, self.rewards = make_game(), 0.0, []
        self.observation, _ = self.game.reset(seed=seed)

    @torch.no_grad()
    def rollout(self, agent):
        observations, actions, chances, values, rewards, ends = [], [], [], [], [], []
        for _ in range(STEPS):
            observation = torch.from_numpy(self.observation)
            policy, value = agent(observation)
            action = policy.sample()
            self.observation, reward, terminated, truncated, _ = self.game.step(int(action))
            self.reward += reward
            # What the step limit cut off had value.
            cut = GAMMA * float(agent(torch.from_numpy(self.observation))[1]) if truncated and not terminated else 0.0
            for kept, new in ((observations, observation), (actions, action), (chances, policy.log_prob(action)),
                              (values, value), (rewards, 0.01 * reward + cut), (ends, terminated or truncated)):
                kept.append(new)
            if ends[-1]:
                self.rewards, self.reward = [*self.rewards, self.reward][-5:], 0.0
                self.observation, _ = self.game.reset()
        values.append(agent(torch.from_numpy(self.observation))[1])
        values, advantages, trace = torch.stack(values), torch.zeros(STEPS), 0.0
        for t in reversed(range(STEPS)):
            on = 0.0 if ends[t] else 1.0
            trace = rewards[t] + GAMMA * on * values[t + 1] - values[t] + GAMMA * TRACE * on * trace
            advantages[t] = trace
        return torch.stack(observations), torch.stack(actions), torch.stack(chances), advantages, advantages + values[:-1]

def learn(agent, optimizer, batch):
    observations, actions, chances, advantages, returns = batch
    for _ in range(EPOCHS):
        for part in torch.randperm(STEPS).split(MINIBATCH):
            policy, value = agent(observations[part])
            advantage = (advantages[part] - advantages[part].mean()) / (advantages[part].std() + 1e-8)
            ratio = (policy.log_prob(actions[part]) - chances[part]).exp()
            gain = torch.min(ratio * advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * advantage).mean()
            loss = -gain + 0.25 * ((value - returns[part]) ** 2).mean() - 0.01 * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()

def main(server, cluster, identity, iterations=1_000_000):
    torch.set_num_threads(1)
    torch.manual_seed(int(identity))
    agent, player = Agent(), Player(int(identity))
    optimizer = torch.optim.Adam(agent.parameters(), lr=RATE, eps=1e-5)
    worker = olaf.Worker(server, int(cluster), int(identity), 2205, codec=olaf.Codec(scale=2.0**24), mtu=9000)
    worker.join()
    for _ in range(int(iterations)):
        worker.poll()  # newer weights, if any came
        weights, version = torch.tensor(worker.weights), worker.model_version
        nn.utils.vector_to_parameters(weights, agent.parameters())
        learn(agent, optimizer, player.rollout(agent))
        change = nn.utils.parameters_to_vector(agent.parameters()).detach() - weights
        if player.rewards:  # of the last five episodes
            worker.push(change.numpy(), float(np.mean(player.rewards)), version)
            print(f"version {version}: mean reward {np.mean(player.rewards):.0f}", flush=True)

if __name__ == "__main__":
    main(*sys.argv[1:])
