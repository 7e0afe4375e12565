# SPDX-License-Identifier: BSD-2-Clause
"""Is a plan valid, and what does it cost? Worked out from two JSON documents alone, a plan (`olaf plan --json`) and
its topology (`olaf plan --topology`), by docs/fleet.md and none of the planner's code."""

import collections
import math
from fractions import Fraction

MOST_CHILDREN = 256
MOST = 2**64 - 1  # what a figure is where it would be larger


class Network:
    """The topology as a graph; hosts don't forward."""

    def __init__(self, document):
        self.machines = {one["name"]: {**one, "host": False} for one in document.get("switches", [])}
        self.machines |= {one["name"]: {**one, "host": True} for one in document.get("hosts", [])}
        self.edges = collections.defaultdict(list)
        for link in document.get("links", []):
            self.join(link["a"], link["b"], link.get("latency", 0))
        for host in document.get("hosts", []):
            self.join(host["name"], host["at"], 0)
        self.ways = {}

    def join(self, a, b, latency):
        self.edges[a].append((b, latency))
        self.edges[b].append((a, latency))

    def from_one(self, start):
        """{machine: (links, latency)} of the shortest ways, of those the quickest."""
        if start not in self.ways:
            found, front = {start: (0, 0)}, [start]
            while front:
                reached = {}
                for one in front:
                    if self.machines[one]["host"] and one != start:
                        continue
                    links, latency = found[one]
                    for other, more in self.edges[one]:
                        if other not in found:
                            reached[other] = min(reached.get(other, (links + 1, math.inf)), (links + 1, latency + more))
                found |= reached
                front = list(reached)
            self.ways[start] = found
        return self.ways[start]

    def workers(self):
        """{name of a worker: its host}, as a plan names them."""
        found = {}
        for name, one in self.machines.items():
            count = one.get("workers", 0)
            for i in range(count):
                found[f"{name}/{i}" if count > 1 else name] = name
        return found


def faults(plan, document):
    """What makes it invalid, a line each; none: it is valid."""
    network = Network(document)
    hosts = network.workers()
    found = []
    told = [worker["name"] for worker in plan["workers"]]
    if sorted(told) != sorted(hosts):
        found.append("its workers aren't those of the topology")
        return found
    if plan["shape"]["max_count"] != len(hosts):
        found.append("max_count isn't the number of workers")
    if sum(shard["share"] for shard in plan["shards"]) != plan["bytes"]:
        found.append("the shares don't add up to the bytes")
    held = collections.Counter()
    for s, shard in enumerate(plan["shards"]):
        if shard["share"] < 1:
            found.append(f"shard {s} has no bytes")
        found += [f"shard {s}: {fault}" for fault in faults_of_shard(plan, network, hosts, s, shard)]
        held.update(node["name"] for node in shard["nodes"])
    shape = plan["shape"]
    for name, shards in held.items():
        machine = network.machines.get(name, {})
        if shards > machine.get("jobs", math.inf):
            found.append(f"{name} has more shards than places for jobs")
        if shards * shape["pool"] > machine.get("slots", math.inf):
            found.append(f"{name} has too few slots")
        if shards * 2 * shape["pool"] * shape["lanes"] * 8 > machine.get("memory_free", machine.get("memory", math.inf)):
            found.append(f"{name} has too little memory")
    return found


def faults_of_shard(plan, network, hosts, s, shard):
    nodes = {}
    for node in shard["nodes"]:
        if node["name"] in nodes:
            yield f"{node['name']} is a node twice"
        if node["name"] not in network.machines:
            yield f"{node['name']} isn't in the topology"
            return
        nodes[node["name"]] = node
    roots = [name for name, node in nodes.items() if node["parent"] is None]
    if roots != [shard["root"]]:
        yield f"its roots are {roots}, and {shard['root']} is told"
    children = collections.defaultdict(dict)  # of each node, by rank

    def child(parent, rank, name):
        if parent not in nodes:
            return f"{name} has a parent that is no node"
        if rank in children[parent]:
            return f"rank {rank} of {parent} is taken twice"
        if not 0 <= rank < nodes[parent]["children"]:
            return f"rank {rank} of {parent} is beyond its children"
        children[parent][rank] = name
        return None

    for name, node in nodes.items():
        machine = network.machines[name]
        if not machine.get("aggregates", False):
            yield f"{name} doesn't aggregate"
        if plan["shape"]["lanes"] > machine.get("max_lanes", math.inf):
            yield f"{name} can't carry the shape"
        if machine.get("cores_idle", 1) == 0:
            yield f"{name} has no idle core"
        if node["parent"] is not None and (fault := child(node["parent"], node["rank"], name)):
            yield fault
        if node["parent"] is None and node["rank"] != 0:
            yield "the root's rank isn't 0"
        if node["parent"] == name:
            yield f"{name} is its own parent"
    for worker in plan["workers"]:
        if len(worker["shards"]) != len(plan["shards"]):
            yield f"{worker['name']} isn't in every shard"
            continue
        seat = worker["shards"][s]
        if fault := child(seat["node"], seat["rank"], worker["name"]):
            yield fault
        if seat["node"] == hosts[worker["name"]]:
            yield f"{worker['name']} sends to its own host"
    for name, node in nodes.items():
        if len(children[name]) != node["children"]:
            yield f"{name} says {node['children']} children, and has {len(children[name])}"
        if node["children"] > MOST_CHILDREN:
            yield f"{name} has more than {MOST_CHILDREN} children"
        if node["parent"] is not None and node["children"] < 2:
            yield f"{name} has fewer than two children"
        way, at = {name}, node["parent"]
        while at is not None and at in nodes:
            if at in way:
                yield f"{name} is on a circle"
                break
            way.add(at)
            at = nodes[at]["parent"]


def predicted(plan, document):
    """As the plan should have it; for a valid plan."""
    network = Network(document)
    hosts = network.workers()
    into, out = collections.Counter(), collections.Counter()
    latency = traffic = root_bytes = in_network = fan_in = depth = 0
    for s, shard in enumerate(plan["shards"]):
        share, nodes = shard["share"], {node["name"]: node for node in shard["nodes"]}

        def up(name):
            """(latency, nodes) from a node on, itself included."""
            total, count = network.machines[name].get("latency", 0), 1
            while nodes[name]["parent"] is not None:
                parent = nodes[name]["parent"]
                total += network.from_one(name)[parent][1] + network.machines[parent].get("latency", 0)
                name, count = parent, count + 1
            return total, count

        for name, node in nodes.items():
            into[name] += share * node["children"]
            fan_in = max(fan_in, node["children"])
            if node["parent"] is not None:
                out[name] += share
                traffic += share * network.from_one(name)[node["parent"]][0]
        root_bytes += share * nodes[shard["root"]]["children"]
        ups = {name: up(name) for name in nodes}
        for worker in plan["workers"]:
            node, host = worker["shards"][s]["node"], hosts[worker["name"]]
            links, more = network.from_one(node)[host]
            out[host] += share
            traffic += share * links
            in_network += share if node != shard["root"] else 0
            latency, depth = max(latency, ups[node][0] + more), max(depth, ups[node][1])
    longest = Fraction(0)
    for name, machine in network.machines.items():
        rates = [(into[name], machine.get("bandwidth")), (out[name], machine.get("bandwidth"))]
        if machine.get("cores_idle") is not None:
            rates.append((into[name], Fraction(machine["cores_idle"]) * Fraction(machine.get("core_rate", 10**10))))
        for volume, rate in rates:
            if volume and rate is not None:
                longest = max(longest, Fraction(8 * volume * 10**9) / Fraction(rate))
    used = {node["name"] for shard in plan["shards"] for node in shard["nodes"]}
    return {"vector_ns": min(math.ceil(longest) + 2 * latency, MOST), "traffic_bytes": min(traffic, MOST),
            "root_bytes": root_bytes, "in_network_bytes": in_network, "fan_in": fan_in, "depth": depth,
            "nodes": len(used)}
