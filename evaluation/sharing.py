# SPDX-License-Identifier: BSD-2-Clause
"""How ATP and ESA share a switch's memory, as GOAT's figures 13 to 16 compare with: a model of flows, no packets.

Each worker's way to the server passes some switches that aggregate; the first of them is its. A fragment of a model has
one place there, its number modulo the places. ATP: whose fragment has the place keeps it, and others' pass by. ESA: an
older fragment evicts a younger one, whose partial sum goes on to the server. Workers send at rates of their own, so a
slow one leaves places taken for long."""

import collections
import random


class Ways:
    """Shortest ways of a topology document, one of several drawn at random, as equal-cost routing does."""

    def __init__(self, document):
        self.hosts = {host["name"]: host for host in document["hosts"]}
        self.aggregates = {switch["name"] for switch in document["switches"] if switch["aggregates"]}
        self.beside = collections.defaultdict(list)
        for link in document["links"]:
            self.beside[link["a"]].append(link["b"])
            self.beside[link["b"]].append(link["a"])
        for host in document["hosts"]:
            self.beside[host["at"]].append(host["name"])
            self.beside[host["name"]].append(host["at"])

    def links_to(self, end):
        found, front = {end: 0}, collections.deque([end])
        while front:
            one = front.popleft()
            if one in self.hosts and one != end:
                continue
            for other in self.beside[one]:
                if other not in found:
                    found[other] = found[one] + 1
                    front.append(other)
        return found

    def first_aggregator(self, host, links, draw):
        """On a way from the host to where `links` count to; None: none of its switches aggregates."""
        at = self.hosts[host]["at"]
        while at not in self.hosts:
            if at in self.aggregates:
                return at
            at = draw.choice([other for other in self.beside[at] if links[other] == links[at] - 1])
        return None


def shared(document, server, how, model, memory, fragments, mean, sigma, seed):
    """{traffic, root, in_network}, bytes, of one model from each worker, and the part of the workers on whose way a switch
    aggregates. how: "atp" or "esa"; fragments: of the model; mean, sigma: of the workers' rates, a part of the line's."""
    draw, ways = random.Random(seed), Ways(document)
    links = ways.links_to(server)
    workers = [host for host, one in ways.hosts.items() if one.get("workers", 0)]
    at = [ways.first_aggregator(worker, links, draw) for worker in workers]
    rates = [min(1.0, max(0.02, draw.gauss(mean, sigma))) for _ in workers]
    sharing = collections.Counter(at)  # workers of each switch
    size, places = model / fragments, int(memory * fragments / model)
    holds = collections.defaultdict(dict)  # switch: {place: [fragment, how many workers' are in it]}
    seen = collections.Counter()  # (switch, fragment): how many workers' came
    total = {"traffic": 0.0, "root": 0.0, "in_network": 0.0, "passing": sum(one is not None for one in at) / len(at)}

    def leave(switch, count):
        total["traffic"] += size * links[switch]
        total["root"] += size
        total["in_network"] += size * count if count > 1 else 0

    arrivals = sorted(((fragment + 1) / rates[i], draw.random(), i, fragment) for i in range(len(workers)) for fragment in range(fragments))
    for _, _, i, fragment in arrivals:
        switch = at[i]
        if switch is None:
            total["traffic"] += size * links[workers[i]]
            total["root"] += size
            continue
        total["traffic"] += size * (links[workers[i]] - links[switch])
        seen[switch, fragment] += 1
        here, place = holds[switch], fragment % places
        if place in here and here[place][0] != fragment and how == "esa" and fragment < here[place][0]:
            leave(switch, here.pop(place)[1])
        held = here.setdefault(place, [fragment, 0])
        if held[0] != fragment:
            leave(switch, 1)
            continue
        held[1] += 1
        if seen[switch, fragment] == sharing[switch]:
            leave(switch, here.pop(place)[1])
    return total
