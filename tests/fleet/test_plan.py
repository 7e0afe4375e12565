# SPDX-License-Identifier: BSD-2-Clause
"""`olaf plan`: every plan is valid and costs what it says, whatever the topology and the strategy."""

import copy
import itertools
import json
import os
import pathlib
import random
import re
import resource
import shlex
import shutil
import subprocess
import tempfile
import unittest

import jsonschema

import checker

OLAF = pathlib.Path(os.environ["OLAF_BUILD"]) / "loader/olaf"
OLAF_SOURCE = pathlib.Path(__file__).resolve().parents[2]
# In the order of --compare, `auto` at the end: fleet/plan/options.hpp names them for `olaf` itself.
STRATEGIES = ["flat", "fit", "rack", "grow", "kary", "goat", "goat-max", "smallest-ip", "auto"]
SCHEMA = jsonschema.Draft202012Validator(json.loads((OLAF_SOURCE / "docs/schema/plan.json").read_text(encoding="utf-8")))
WORLDS = int(os.environ.get("OLAF_WORLDS", "1000"))


def olaf(*arguments, **options):
    return subprocess.run([OLAF, "plan", *map(str, arguments)], capture_output=True, text=True, check=False, timeout=120, **options)


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, document):
        path = self.folder / "topology.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
        return path

    def plan(self, *arguments, **options):
        done = olaf(*arguments, "--json", **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def expect_valid(self, plan, document, about=""):
        SCHEMA.validate(plan)
        self.assertEqual(checker.faults(plan, document), [], about)
        self.assertEqual(checker.predicted(plan, document), plan["predicted"], about)


def world(draw):
    """A random topology: one to three layers of switches, some of what may be given, hosts with several workers."""
    racks, above = draw.randint(1, 6), draw.randint(0, 4)
    some = lambda chance, make: make() if draw.random() < chance else None
    switches = [{"name": f"s{i}", "aggregates": draw.random() < 0.6, "memory": some(0.3, lambda: draw.choice([2000000, 64000000])),
                 "bandwidth": some(0.3, lambda: draw.choice([10**9, 4 * 10**10])), "latency": some(0.3, lambda: draw.randint(0, 5000)),
                 "max_lanes": some(0.1, lambda: draw.choice([64, 300])), "jobs": some(0.2, lambda: draw.randint(1, 64)),
                 "address": some(0.2, lambda: f"10.0.0.{draw.randint(1, 19)}")}
                for i in range(racks + above)]
    links = []
    for rack in range(racks):
        ups = [racks + i for i in range(above) if draw.random() < 0.7] or ([racks + draw.randrange(above)] if above else [])
        if not above and rack:
            ups = [draw.randrange(rack)]
        links += [{"a": f"s{rack}", "b": f"s{up}", "latency": some(0.7, lambda: draw.randint(0, 3000)),
                   "bandwidth": some(0.5, lambda: 10**10)} for up in ups]
    joined = {(link["a"], link["b"]) for link in links}
    for up in range(racks, racks + above):  # what is above hangs together
        if up > racks:
            links.append({"a": f"s{up - 1}", "b": f"s{up}"})
            joined.add((f"s{up - 1}", f"s{up}"))
        elif not any(b == f"s{up}" for _, b in joined):
            links.append({"a": "s0", "b": f"s{up}"})
    hosts = [{"name": f"h{i}", "at": f"s{draw.randrange(racks)}", "workers": draw.choice([0, 1, 1, 1, 2, 4]),
              "aggregates": draw.random() < 0.3, "cores_idle": some(0.5, lambda: draw.choice([0, 0.5, 2, 16])),
              "bandwidth": some(0.7, lambda: draw.choice([10**9, 10**10, 2.5 * 10**10])), "round_ns": some(0.5, lambda: draw.randint(1, 10**9)),
              "memory": some(0.3, lambda: 10**10), "site": some(0.2, lambda: f"rack{draw.randrange(3)}"),
              "slots": some(0.2, lambda: draw.choice([32, 64, 1024])), "latency": some(0.2, lambda: draw.randint(0, 10**5))}
             for i in range(draw.randint(1, 40))]
    if draw.random() < 0.2:  # a host with two links
        host = draw.choice(hosts)
        other = f"s{draw.randrange(racks)}"
        if other != host["at"]:
            links.append({"a": host["name"], "b": other, "latency": 10})
    hosts.append({"name": "server", "at": "s0", "aggregates": True, "bandwidth": 10**10})
    document = {"switches": switches, "hosts": hosts, "links": links}
    return {part: [{k: v for k, v in one.items() if v is not None} for one in rows] for part, rows in document.items()}


class AnyTopology(Folder):
    def test_has_a_valid_plan_that_costs_what_it_says_or_says_why_not(self):
        planned = 0
        for seed in range(WORLDS):
            draw = random.Random(seed)
            document = world(draw)
            path = self.file(document)
            strategy = STRATEGIES[seed % len(STRATEGIES)]
            parts = draw.choice([1, 1, 7, 40])
            done = olaf(path, "--strategy", strategy, "--bytes", draw.choice([1, 999, 10**8]) * parts, "--sub-models", parts,
                        "--seed", seed, "--json")
            about = f"world {seed}, {strategy}"
            if done.returncode == 1:
                self.assertEqual(done.stdout, "", about)
                self.assertRegex(done.stderr, r"\Aolaf: cannot plan .*\n\Z", about)
                continue
            self.assertEqual(done.returncode, 0, f"{about}: {done.stderr}")
            self.expect_valid(json.loads(done.stdout), document, about)
            planned += 1
        self.assertGreater(planned, 0.8 * WORLDS)

    def test_has_a_plan_by_fit_if_one_is_valid(self):
        """Small networks, of which every tree can be tried."""
        both = [0, 0]
        for seed in range(150):
            draw = random.Random(seed)
            hosts = [{"name": f"h{i}", "at": "s", "workers": draw.choice([0, 1, 1, 2]), "aggregates": draw.random() < 0.6}
                     for i in range(draw.randint(2, 4))]
            document = {"switches": [{"name": "s"}], "hosts": hosts}
            if not sum(host["workers"] for host in hosts):
                continue
            expected = some_tree_is_valid(document)
            done = olaf(self.file(document), "--strategy", "fit", "--json")
            self.assertEqual(done.returncode == 0, expected, f"{document}: {done.stderr}")
            both[expected] += 1
        self.assertGreater(min(both), 10, "the worlds are of both kinds")

    def test_has_a_plan_by_fit_up_to_the_last_place(self):
        """256 children a node, less those that are nodes; no worker below its own host."""
        def planned(*hosts, root):
            document = {"switches": [{"name": "s"}],
                        "hosts": [{"name": f"h{i}", "at": "s", "workers": workers, "aggregates": may} for i, (workers, may) in enumerate(hosts)]}
            done = olaf(self.file(document), "--strategy", "fit", *(("--root", root) if root else ()), "--json")
            if done.returncode == 0:
                self.expect_valid(json.loads(done.stdout), document, hosts)
            return done.returncode == 0

        for root in ("h0", None):
            # The root's own workers fill two others, which are both its children.
            self.assertTrue(planned((512, True), (0, True), (0, True), root="h0"))
            self.assertFalse(planned((513, True), (0, True), (0, True), root="h0"))
            # Three nodes have 3 * 256 - 2 places for workers.
            self.assertTrue(planned((255, True), (255, True), (255, True), (1, False), root=root))
            self.assertFalse(planned((255, True), (255, True), (255, True), (2, False), root=root))
            # Most of one host's workers, which two others take: the third must have the first's places.
            self.assertTrue(planned((0, True), (511, True), (255, True), root=None))
            self.assertFalse(planned((0, True), (511, True), (256, True), root=None))
            # All of 20 candidates are needed: 21 * 256 - 20.
            many = [(1, True)] * 20 + [(0, True)]
            self.assertTrue(planned(*many, (21 * 256 - 20 - 20, False), root=root))
            self.assertFalse(planned(*many, (21 * 256 - 20 - 19, False), root=root))

    def test_has_a_plan_where_only_the_last_of_many_roots_has_one(self):
        """`grow` takes switches alone, so a host with a worker can't be the root: its worker had nowhere to send to."""
        hosts = [{"name": f"h{i}", "at": "s", "workers": 1, "aggregates": True, "bandwidth": 10**10} for i in range(100)]
        hosts.append({"name": "last", "at": "s", "aggregates": True, "bandwidth": 10**9})
        document = {"switches": [{"name": "s"}], "hosts": hosts}
        plan = self.plan(self.file(document), "--strategy", "grow")
        self.assertEqual(plan["shards"][0]["root"], "last")
        self.expect_valid(plan, document)
        rows = self.plan(self.file(document), "--strategy", "fit", "--compare")["compared"]
        self.assertIn("64 of 101 roots were tried", next(row["reason"] for row in rows if row["strategy"] == "grow"))
        document["hosts"].pop()
        done = olaf(self.file(document), "--strategy", "grow")
        self.assertRegex(done.stderr, r"\Aolaf: cannot plan grow: .*; 100 of 100 roots were tried; let another host aggregate\n\Z")

    def test_is_refused_where_a_host_has_more_workers_than_its_switch_can_take(self):
        document = {"switches": [{"name": "s", "aggregates": True}],
                    "hosts": [{"name": "big", "at": "s", "workers": 300, "aggregates": True}]}
        for strategy in STRATEGIES:
            done = olaf(self.file(document), "--root", "big", "--strategy", strategy)
            self.assertEqual((done.returncode, done.stdout), (1, ""), f"{strategy}: {done.stderr}")
            self.assertRegex(done.stderr, rf"\Aolaf: cannot plan {strategy}: .*\n\Z")


def some_tree_is_valid(document):
    """Whether the checker takes any tree, of all that there are."""
    workers = list(checker.Network(document).workers())
    may = [host["name"] for host in document["hosts"] if host["aggregates"]]
    for count in range(1, len(may) + 1):
        for nodes in itertools.permutations(may, count):
            for parents in itertools.product(*[range(count)] * (count - 1)):
                for seats in itertools.product(range(count), repeat=len(workers)):
                    if not checker.faults(plan_of(nodes, (None, *parents), workers, seats), document):
                        return True
    return False


def plan_of(nodes, parents, workers, seats):
    """The plan of a tree: node i below node parents[i], worker i below node seats[i]."""
    ranks = [itertools.count() for _ in nodes]
    rows = [{"name": name, "parent": None if up is None else nodes[up], "rank": 0 if up is None else next(ranks[up])}
            for name, up in zip(nodes, parents)]
    seated = [{"name": name, "shards": [{"node": nodes[seat], "rank": next(ranks[seat])}]} for name, seat in zip(workers, seats)]
    for row, rank in zip(rows, ranks):
        row["children"] = next(rank)
    return {"bytes": 1, "shape": {"lanes": 1, "pool": 1, "max_count": len(workers)},
            "shards": [{"share": 1, "root": nodes[0], "nodes": rows}], "workers": seated}


class ABrokenPlan(Folder):
    """Each way in which one can be broken is seen by the checker: else a valid plan would prove nothing."""

    def setUp(self):
        super().setUp()
        self.given = "leaf-spine:leaves=4,spines=2,hosts=24"
        self.document = json.loads(olaf(self.given, "--topology").stdout)
        self.good = self.plan(self.given, "--strategy", "rack", "--root", "ps")
        self.expect_valid(self.good, self.document)

    def expect_fault(self, break_it, words, document=None):
        plan = copy.deepcopy(self.good)
        break_it(plan, plan["shards"][0]["nodes"])
        self.assertIn(words, "; ".join(checker.faults(plan, document or self.document)))

    def test_is_seen(self):
        def circle(_, nodes):
            inner = [node for node in nodes if node["parent"] is not None]
            inner[0]["parent"], inner[1]["parent"] = inner[1]["name"], inner[0]["name"]

        def one_child(plan, nodes):
            nodes.append({"name": "spine1", "parent": "ps", "rank": nodes[0]["children"], "children": 1})
            nodes[0]["children"] += 1
            plan["workers"][0]["shards"][0] = {"node": "spine1", "rank": 0}

        def worker(plan, **fields):
            plan["workers"][0]["shards"][0].update(fields)

        self.expect_fault(circle, "on a circle")
        self.expect_fault(one_child, "fewer than two children")
        self.expect_fault(lambda plan, nodes: plan["workers"].pop(), "aren't those of the topology")
        self.expect_fault(lambda plan, nodes: plan["workers"].append(plan["workers"][0]), "aren't those of the topology")
        self.expect_fault(lambda plan, nodes: worker(plan, rank=1), "taken twice")
        self.expect_fault(lambda plan, nodes: worker(plan, rank=77), "beyond its children")
        self.expect_fault(lambda plan, nodes: worker(plan, node="host1"), "no node")
        self.expect_fault(lambda plan, nodes: nodes[1].update(children=9), "says 9 children")
        self.expect_fault(lambda plan, nodes: nodes[1].update(parent=None), "its roots are")
        self.expect_fault(lambda plan, nodes: nodes[1].update(name="nowhere"), "isn't in the topology")
        self.expect_fault(lambda plan, nodes: nodes[1].update(name="host3"), "doesn't aggregate")
        self.expect_fault(lambda plan, nodes: nodes.append(dict(nodes[1])), "a node twice")
        self.expect_fault(lambda plan, nodes: nodes[1].update(parent=nodes[1]["name"]), "its own parent")
        self.expect_fault(lambda plan, nodes: nodes[0].update(children=300), "more than 256")
        self.expect_fault(lambda plan, nodes: plan["shape"].update(max_count=5), "max_count")
        self.expect_fault(lambda plan, nodes: plan["shards"][0].update(share=1), "add up")
        self.expect_fault(lambda plan, nodes: plan["shards"][0].update(share=0), "no bytes")
        self.expect_fault(lambda plan, nodes: nodes[0].update(rank=1), "the root's rank isn't 0")
        self.expect_fault(lambda plan, nodes: plan["workers"][0]["shards"].clear(), "isn't in every shard")

        def limited(field, value):
            document = copy.deepcopy(self.document)
            for machine in (*document["switches"], *document["hosts"]):
                machine[field] = value
            return document

        nothing = lambda plan, nodes: None
        self.expect_fault(nothing, "too little memory", limited("memory", 1000))
        self.expect_fault(nothing, "can't carry", limited("max_lanes", 10))
        self.expect_fault(nothing, "too few slots", limited("slots", 10))
        self.expect_fault(nothing, "places for jobs", limited("jobs", 0))
        self.expect_fault(nothing, "has no idle core", limited("cores_idle", 0))

    def test_above_its_own_hosts_worker_is_seen(self):
        document = {"switches": [{"name": "s"}], "hosts": [{"name": f"h{i}", "at": "s", "workers": 1, "aggregates": i < 2} for i in range(4)]}
        self.good = self.plan(self.file(document), "--strategy", "fit")
        mine = self.good["shards"][0]["nodes"][1]["name"]
        at = {worker["name"]: worker["shards"][0] for worker in self.good["workers"]}
        other = next(name for name, seat in at.items() if seat["node"] == mine)

        def swap(plan, _):
            seats = {worker["name"]: worker for worker in plan["workers"]}
            seats[mine]["shards"], seats[other]["shards"] = seats[other]["shards"], seats[mine]["shards"]

        self.expect_fault(swap, "its own host", document)


class Strategies(Folder):
    def test_kary_gives_the_tree_of_xaggs_own_testbed(self):
        """Its figure 12: S1 ← W1–W3, S2 ← W4–W6, PS ← S1, S2, W7; the slow workers behind 40 Gbit/s."""
        hosts = [{"name": f"W{i}", "at": "s", "workers": 1, "bandwidth": (40 if i <= 3 else 100) * 10**9, "round_ns": 10**9 - i * 10**6}
                 for i in range(1, 8)]
        hosts += [{"name": name, "at": "s", "aggregates": True, "bandwidth": 10**11, "cores_idle": 44} for name in ("S1", "S2", "PS")]
        plan = self.plan(self.file({"switches": [{"name": "s"}], "hosts": hosts}), "--strategy", "kary", "--root", "PS")
        below = {}
        for worker in plan["workers"]:
            below.setdefault(worker["shards"][0]["node"], []).append(worker["name"])
        self.assertEqual(below, {"S1": ["W1", "W2", "W3"], "S2": ["W4", "W5", "W6"], "PS": ["W7"]})
        self.assertEqual({node["name"]: node["parent"] for node in plan["shards"][0]["nodes"]}, {"PS": None, "S1": "PS", "S2": "PS"})

    def test_smallest_ip_goes_by_addresses(self):
        document = json.loads(olaf("leaf-spine:leaves=3,spines=3,hosts=9", "--topology").stdout)
        for i, switch in enumerate(document["switches"]):
            switch["address"] = f"10.0.0.{9 - i}"
        plan = self.plan(self.file(document), "--strategy", "smallest-ip", "--root", "ps")
        self.assertEqual({node["name"]: node["parent"] for node in plan["shards"][0]["nodes"]},
                         {"ps": None, "spine2": "ps", "leaf0": "spine2", "leaf1": "spine2", "leaf2": "spine2"})

    def test_smallest_ip_goes_by_numbers_and_not_by_text(self):
        document = json.loads(olaf("leaf-spine:leaves=3,spines=3,hosts=9", "--topology").stdout)
        leaves, spines = document["switches"][:3], document["switches"][3:]
        for addresses, first in ((("10.0.0.10", "10.0.0.9", "10.0.0.11"), "spine1"), ((None, "10.0.0.10", "10.0.0.9"), "spine2"),
                                 (("2001:db8::1", None, "192.0.2.1"), "spine2"), ((None, None, None), "spine0")):
            for spine, address in zip(spines, addresses):
                spine.pop("address", None)
                if address:
                    spine["address"] = address
            plan = self.plan(self.file(document), "--strategy", "smallest-ip", "--root", "ps")
            parents = {node["name"]: node["parent"] for node in plan["shards"][0]["nodes"]}
            self.assertEqual({parents[leaf["name"]] for leaf in leaves}, {first})

    def test_goat_takes_no_host_for_the_nearest_node_of_its_own_worker(self):
        document = {"switches": [{"name": "leaf", "aggregates": True}, {"name": "other"}], "links": [{"a": "leaf", "b": "other"}],
                    "hosts": [{"name": f"h{i}", "at": "leaf", "workers": 1, "aggregates": i == 0} for i in range(10)]
                    + [{"name": "ps", "at": "other", "aggregates": True}]}
        plan = self.plan(self.file(document), "--strategy", "goat", "--root", "ps", "--bytes", 1000)
        self.expect_valid(plan, document)
        # One link from each worker to the leaf, two from there to ps.
        self.assertEqual(plan["predicted"]["traffic_bytes"], 12000)
        self.assertIn("no assignment costs less than 12000 bytes", plan["notes"][0])

    def test_goat_looks_at_the_nearest_alone_where_all_are_too_many(self):
        given = ("leaf-spine:leaves=200,spines=2010,hosts=200", "--strategy", "goat", "--root", "ps")
        plan = self.plan(*given, "--sub-models", 3)
        self.assertEqual(plan["chosen"], "goat")
        self.assertIn("11 nearest", plan["notes"][0])
        self.assertNotIn("no assignment costs less", str(plan["notes"]))
        self.expect_valid(plan, json.loads(olaf(*given[:1], "--topology").stdout))

    def test_goat_needs_one_job_for_all_sub_models_of_a_tree(self):
        document = json.loads(olaf("leaf-spine:leaves=2,spines=1,hosts=8", "--topology").stdout)
        arguments = ("--strategy", "goat", "--root", "ps", "--sub-models", 120, "--bytes", "12mb")
        free = self.plan(self.file(document), *arguments)
        self.assertEqual(len(free["shards"]), 1)
        for switch in document["switches"]:
            switch["jobs"] = 1
        limited = self.plan(self.file(document), *arguments)
        self.assertEqual(limited["predicted"], free["predicted"])

    def test_goat_counts_what_is_free_of_a_switchs_memory(self):
        document = json.loads(olaf("leaf-spine:leaves=10,spines=2,hosts=40", "--topology").stdout)
        for switch in document["switches"]:
            switch["memory_free"] = 2_000_000
        plan = self.plan(self.file(document), "--strategy", "goat", "--root", "ps", "--sub-models", 10, "--bytes", "10mb")
        self.expect_valid(plan, document)
        held = {}
        for shard in plan["shards"]:
            for node in shard["nodes"][1:]:
                held[node["name"]] = held.get(node["name"], 0) + shard["share"]
        self.assertEqual(max(held.values()), 2_000_000)

    def test_goat_holds_no_more_of_a_model_than_a_switch_has_memory(self):
        for seed in range(10):
            plan = self.plan("leaf-spine:aggregators=20%", "--workers", 35, "--strategy", "goat", "--root", "ps", "--bytes", "240mb",
                             "--sub-models", 120, "--seed", seed)
            self.assertEqual(plan["chosen"], "goat")
            held = {}
            for shard in plan["shards"]:
                for node in shard["nodes"][1:]:
                    held[node["name"]] = held.get(node["name"], 0) + shard["share"]
            self.assertGreater(max(held.values()), 60e6, "the memory is used")
            self.assertLessEqual(max(held.values()), 64e6)

    def test_goat_has_no_more_traffic_than_flat(self):
        for seed in range(40):
            plan = self.plan("leaf-spine:leaves=4,spines=3,hosts=12,aggregators=40%", "--workers", 5, "--strategy", "goat", "--root", "ps",
                             "--sub-models", 2, "--seed", seed, "--compare")
            alone = next(row["predicted"] for row in plan["compared"] if row["strategy"] == "flat")
            self.assertLessEqual(plan["predicted"]["traffic_bytes"], alone["traffic_bytes"])

    def test_auto_takes_the_fastest_of_all(self):
        for given in ("leaf-spine:hosts=40", "fat-tree:k=4,aggregators=50%", "leaf-spine:aggregators=hosts"):
            plan = self.plan(given, "--root", "ps", "--compare")
            rows = {row["strategy"]: row["predicted"] for row in plan["compared"] if "predicted" in row}
            self.assertEqual([row["strategy"] for row in plan["compared"]], STRATEGIES[:-1])
            automatic = [rows[name] for name in ("flat", "fit", "rack", "grow", "kary", "goat") if name in rows]
            self.assertEqual(plan["predicted"]["vector_ns"], min(row["vector_ns"] for row in automatic))

    def test_a_time_limit_that_ends_the_program_gives_a_plan_by_racks_and_says_so(self):
        plan = self.plan("fat-tree:k=16", "--strategy", "goat", "--root", "ps", "--time-limit", "1ms", "--bytes", "1kb")
        self.assertEqual(plan["chosen"], "rack")
        self.assertIn("goat: the time ran out", plan["notes"][0])

    def test_a_time_limit_that_ended_a_program_is_told_whichever_plan_is_taken(self):
        limit = ("--root", "ps", "--time-limit", "1ms", "--bytes", "1kb")
        # One worker a rack: `flat` has less traffic than the trees of `rack` that stand in.
        plan = self.plan("leaf-spine:leaves=200,spines=100,hosts=200,aggregators=hosts", "--strategy", "goat", *limit)
        self.assertEqual(plan["chosen"], "flat")
        self.assertIn("goat: the time ran out", str(plan["notes"]))
        plan = self.plan("fat-tree:k=16", *limit)
        self.assertNotEqual(plan["chosen"], "goat")
        self.assertIn("goat: the time ran out", str(plan["notes"]))
        plan = self.plan("fat-tree:k=16", "--strategy", "rack", "--compare", *limit)
        rows = {row["strategy"]: row for row in plan["compared"]}
        self.assertEqual((rows["rack"]["chosen"], rows["goat-max"]["chosen"]), ("rack", "rack"))
        self.assertIn("goat-max: the time ran out", str(plan["notes"]))

    def test_a_figure_that_64_bits_do_not_hold_is_the_largest(self):
        given = ("leaf-spine:leaves=2,spines=1,hosts=10,bandwidth=1000", "--bytes", "1tb", "--root", "ps")
        document = json.loads(olaf(given[0], "--topology").stdout)
        alone, automatic = self.plan(*given, "--strategy", "flat"), self.plan(*given)
        self.expect_valid(alone, document)
        self.assertEqual(alone["predicted"]["vector_ns"], 2**64 - 1)
        self.assertIn("2^64 - 1", str(alone["notes"]))
        self.expect_valid(automatic, document)
        self.assertLess(automatic["predicted"]["vector_ns"], 2**64 - 1)

    def test_goat_rounds_to_no_less_than_its_linear_program_allows(self):
        for seed in range(10):
            plan = self.plan("leaf-spine:aggregators=20%", "--workers", 35, "--strategy", "goat", "--root", "ps", "--bytes", "240mb",
                             "--sub-models", 120, "--seed", seed)
            optimum = int(re.search(r"no assignment costs less than (\d+) bytes", plan["notes"][0])[1])
            self.assertLessEqual(optimum, plan["predicted"]["traffic_bytes"])
            self.assertLess(plan["predicted"]["traffic_bytes"], 1.2 * optimum)

    def test_goat_has_less_traffic_than_its_equation_4(self):
        """Which brings less to the root, but by longer ways."""
        traffic, at_root = {}, {}
        for strategy in ("goat", "goat-max"):
            plans = [self.plan("fat-tree:k=8,hosts=192,aggregators=20%", "--workers", 40, "--strategy", strategy, "--root", "ps", "--bytes", "240mb",
                               "--sub-models", 120, "--seed", seed)["predicted"] for seed in range(6)]
            traffic[strategy], at_root[strategy] = (sum(plan[key] for plan in plans) for key in ("traffic_bytes", "root_bytes"))
        self.assertLess(traffic["goat"], 0.97 * traffic["goat-max"])
        self.assertGreater(at_root["goat"], 2 * at_root["goat-max"])


class TheSameInput(Folder):
    def test_gives_the_same_bytes(self):
        for strategy in STRATEGIES:
            arguments = ["fat-tree:k=4,aggregators=40%", "--workers", 12, "--strategy", strategy, "--sub-models", 9, "--seed", 5]
            one, two = (self.plan(*arguments) for _ in range(2))
            del one["planning_ms"], two["planning_ms"]
            self.assertEqual(json.dumps(one), json.dumps(two))

    def test_by_file_gives_the_plan_of_the_generator(self):
        given = "fat-tree:k=4,aggregators=hosts"
        document = olaf(given, "--workers", 9, "--seed", 3, "--topology").stdout
        for strategy in STRATEGIES:
            by_words = self.plan(given, "--workers", 9, "--seed", 3, "--strategy", strategy, "--sub-models", 4)
            by_file = self.plan(self.file(document), "--seed", 3, "--strategy", strategy, "--sub-models", 4)
            for plan in (by_words, by_file):
                del plan["planning_ms"], plan["topology"]
            self.assertEqual(by_words, by_file)


class Generated(Folder):
    def test_fat_tree_has_the_switches_and_links_of_k_ports(self):
        document = json.loads(olaf("fat-tree:k=6", "--topology").stdout)
        self.assertEqual(len(document["switches"]), 5 * 6 * 6 // 4)
        self.assertEqual(len(document["hosts"]), 6**3 // 4 + 1)
        ports = {}
        for link in document["links"]:
            for end in (link["a"], link["b"]):
                ports[end] = ports.get(end, 0) + 1
        for host in document["hosts"][:-1]:
            ports[host["at"]] = ports.get(host["at"], 0) + 1
        self.assertEqual(set(ports.values()), {6})
        self.assertEqual(document["hosts"][-1]["name"], "ps")
        self.assertEqual(document["hosts"][-1]["at"], "edge0")

    def test_draws_aggregators_and_workers_by_seed(self):
        draws = [json.loads(olaf("leaf-spine:aggregators=20%", "--workers", 35, "--seed", seed, "--topology").stdout) for seed in (1, 1, 2)]
        self.assertEqual(draws[0], draws[1])
        self.assertNotEqual(draws[0], draws[2])
        for document in draws:
            self.assertEqual(sum(switch["aggregates"] for switch in document["switches"]), 4)
            self.assertEqual(sum(host["workers"] for host in document["hosts"]), 35)


class BadInput(Folder):
    def refused(self, document, *words, arguments=(), status=2):
        done = olaf(document if isinstance(document, str) else self.file(document), *arguments)
        self.assertEqual((done.returncode, done.stdout), (status, ""))
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in ("olaf: cannot ", *words):
            self.assertIn(word, done.stderr)

    def test_is_told_with_its_place_and_the_remedy(self):
        switch, host = {"name": "s"}, {"name": "h", "at": "s", "workers": 1}
        self.refused({"switches": [switch, switch]}, "switches[1].name is 's', as another's")
        self.refused({"switches": [switch], "hosts": [{"name": "h", "at": "t"}]}, "hosts[0].at is 't', and there is none")
        self.refused({"switches": [switch], "hosts": [{**host, "bandwidth": -5}]}, "hosts[0].bandwidth is -5, out of range",
                     "write 1000 to 1e+15 bit/s", "1e10 is 10 Gbit/s")
        self.refused({"switches": [switch], "hosts": [{**host, "bandwidth": "10gbit"}]}, "no number", "without quotes")
        self.refused({"switches": [switch], "hosts": [{**host, "bandwith": 1}]}, 'hosts[0] has "bandwith", which is no field', "bandwidth")
        self.refused({"switches": [switch, {"name": "t"}], "hosts": [host]}, "no way leads from s to t", "add the link")
        self.refused({"switches": [switch], "links": [{"a": "s", "b": "s"}]}, "links[0].b is 's', as a")
        self.refused({"switches": [switch, {"name": "t"}], "links": [{"a": "s", "b": "t"}, {"a": "t", "b": "s"}]}, "links[1] joins", "as another does")
        self.refused({"switches": [switch], "hosts": [host], "links": [{"a": "h", "b": "s"}]}, 'as "at" does', "leave it out")
        self.refused({"switches": [{"name": "s", "memory": 5, "memory_free": 6}]}, "memory_free is above memory")
        self.refused({"switches": [switch], "hosts": [{**host, "workers": 1.5}]}, "no whole number")
        self.refused({"switches": [switch], "hosts": [{**host, "address": "10.0.0"}]}, "hosts[0].address is '10.0.0', no IP address", "192.0.2.1")
        self.refused({"hosts": 5}, "hosts is no list")
        self.refused([], "the document is no object")

    def test_beyond_a_limit_is_told_with_the_limit(self):
        switch, host = {"name": "s"}, {"name": "h", "at": "s", "workers": 1}
        for field, value, hint in (("bandwidth", 1e-300, "1000 to 1e+15"), ("bandwidth", 100, "1000 to 1e+15"), ("core_rate", 999, "1000 to 1e+15"),
                                   ("bandwidth", 1e16, "1000 to 1e+15"), ("cores_idle", 1e-9, "0, or 0.001 to 1e+06 cores"),
                                   ("latency", 1000000001, "0 to 1e+09 nanoseconds"), ("memory", 1e16, "0 to 9e+15 bytes"),
                                   ("workers", 1000001, "0 to 1e+06 processes")):
            self.refused({"switches": [switch], "hosts": [{**host, field: value}]}, f"topology.json: hosts[0].{field} is ", "out of range", f"write {hint}")
        others = [{"name": f"h{i}", "at": "s", "workers": 600000} for i in range(2)]
        self.refused({"switches": [switch], "hosts": others}, "hosts[1].workers makes them 1200000 in all", "plan at most 1000000")
        link = {"a": "s", "b": "t", "bandwidth": 1}
        self.refused({"switches": [switch, {"name": "t"}], "links": [link]}, "links[0].bandwidth is 1, out of range", "1000 to 1e+15")
        self.refused("leaf-spine:bandwidth=1", "bandwidth=1 is out of range", "give 1000")
        self.refused("leaf-spine:hosts=5000", "5000 workers in 100000 sub-models", "give at most 1000 --sub-models",
                     arguments=["--sub-models", 100000, "--root", "ps"])

    def test_of_any_length_is_one_short_line(self):
        switch = {"name": "s"}
        deep = "[" * 100000 + "]" * 100000
        self.refused(self.text('{"switches": [{"name": "s", "latency": %s}]}' % deep), "switches[0].latency is a list, no number")
        self.refused(self.text('{"switches": [{"name": "s", "aggregates": %s}]}' % ('{"a":' * 1000 + "1" + "}" * 1000)), "aggregates is an object")
        for name in ("a\nb", "x" * 300):
            self.refused({"switches": [{"name": name}]}, "switches[0].name is ", "at most 255 bytes on one line")
            self.refused({"switches": [{**switch, name: 1}]}, "switches[0] has ", "which is no field")
        self.refused({"switches": [{**switch, "latency": "x" * 10000}]}, "no number")
        self.assertLess(len(olaf(self.folder / "topology.json").stderr), 400)

    def test_of_a_key_that_stands_twice_says_which(self):
        self.refused(self.text('{"hosts": [], "hosts": []}'), 'the document has "hosts" twice', "leave one of them out")
        self.refused(self.text('{"switches": [{"name": "s"}, {"name": "t", "name": "u"}]}'), 'switches[1] has "name" twice')

    def text(self, text):
        return str(self.file(text))

    def test_of_json_itself_says_where(self):
        self.refused(self.text('{"switches": [\n{"name": "s",\n "bandwidth": 1e400}]}'), "line 3: number overflow parsing '1e400'")
        self.refused(str(self.folder), "Is a directory", "--topology")
        self.refused("leaf-spine", "Is a directory", arguments=["--sub-models", str(self.folder)])
        self.file('{"switches": [}')
        self.refused(str(self.folder / "topology.json"), "line 1, column 15")
        self.refused(str(self.folder / "none.json"), "No such file", "leaf-spine")

    def test_of_generators(self):
        self.refused("fat-tree:k=5", "k=5 is odd")
        self.refused("fat-tree:leaves=5", "no word 'leaves'")
        self.refused("leaf-spine:leaves", "no WORD=VALUE")
        self.refused("leaf-spine:hosts=5,hosts=6", "'hosts' twice")
        self.refused("leaf-spine:hosts=0", "hosts=0 is out of range")
        self.refused("leaf-spine:aggregators=120%", "is no share")
        self.refused("leaf-spine:aggregators=nan%", "aggregators=nan% is no share")
        self.refused("leaf-spine:hosts=5", "it has 5 hosts", arguments=["--workers", 6])

    def test_of_options(self):
        done = olaf("leaf-spine", "--strategy", "best")
        self.assertEqual(done.returncode, 2)
        self.assertIn("it is one of auto|flat", done.stderr)
        self.refused("leaf-spine", "the topology has no nobody", arguments=["--root", "nobody"], status=1)
        self.refused("leaf-spine", "it doesn't aggregate", arguments=["--root", "host3"], status=1)
        self.refused("leaf-spine:hosts=300,aggregators=0%", "cannot plan auto: ps would have 300 children", "256 at most",
                     arguments=["--root", "ps"], status=1)
        self.refused("leaf-spine:leaves=3,spines=1,hosts=2000", "cannot plan auto: ", "children", "5 of 5 roots were tried", status=1)
        self.refused("leaf-spine", "give 1 … 100000", arguments=["--sub-models", "0"])
        self.assertIn("at most 1tb", olaf("leaf-spine", "--bytes", "2tb").stderr)
        self.refused("leaf-spine", "No such file", arguments=["--sub-models", str(self.folder / "none")])

    def test_of_a_file_of_sub_models_says_which_line(self):
        sizes = self.folder / "sizes"
        sizes.write_text("# AlexNet\n1mb\nmany\n", encoding="utf-8")
        self.refused("leaf-spine", "line 3 is 'many'", arguments=["--sub-models", str(sizes)])
        sizes.write_text("# AlexNet\n1mb\n2500000\n", encoding="utf-8")
        self.assertEqual(self.plan("leaf-spine", "--sub-models", sizes)["bytes"], 3500000)


class Shown(Folder):
    def test_as_text_with_tree_figures_and_strategies(self):
        done = olaf("leaf-spine:leaves=3,spines=1,hosts=9", "--strategy", "rack", "--root", "ps", "--compare")
        for words in ("9 workers of leaf-spine", "ps ← 1 child", "leaf0 ← 3 children: host0, host3, host6", "predicted: a vector takes",
                      "goat-max"):
            self.assertIn(words, done.stdout)

    def test_as_json_by_its_schema(self):
        for arguments in (["--strategy", "goat", "--sub-models", 5, "--compare"], ["--strategy", "rack"], ["--compare"]):
            SCHEMA.validate(self.plan("leaf-spine:aggregators=30%", "--root", "ps", *arguments))

    def test_as_a_picture(self):
        dot = self.folder / "tree.dot"
        self.plan("leaf-spine:leaves=3,spines=1,hosts=9", "--root", "ps", "--strategy", "rack", "--picture", dot)
        self.assertIn('label="leaf2"', dot.read_text(encoding="utf-8"))
        picture = self.folder / "tree.svg"
        self.plan("leaf-spine:leaves=3,spines=1,hosts=9", "--root", "ps", "--picture", picture)
        self.assertIn("<svg", picture.read_text(encoding="utf-8"))
        done = olaf("no such file", "--picture", self.folder / "tree.jpeg")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"\Aolaf: cannot draw .*tree\.jpeg: its form isn't known; end it in \.svg.*\n\Z")

    def test_as_a_picture_that_fails_leaves_what_was_there(self):
        picture = self.folder / "tree.svg"
        picture.write_text("old", encoding="utf-8")
        fails = self.folder / "bin/dot"
        fails.parent.mkdir()
        fails.write_text("#!/bin/sh\necho no >&2\nexit 3\n", encoding="ascii")
        fails.chmod(0o755)
        # Much more than a pipe holds.
        given = ("leaf-spine:leaves=200,spines=1,hosts=2000", "--strategy", "rack", "--root", "ps", "--picture", picture)
        for path, words in ((self.folder / "nothing", "`dot` can't be run: No such file or directory; apt install graphviz"),
                            (fails.parent, "`dot` failed; give a file that ends in .dot")):
            done = olaf(*given, env={**os.environ, "PATH": str(path)})
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(f"olaf: cannot draw {picture}: {words}", done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
            self.assertEqual((sorted(path.name for path in self.folder.iterdir()), picture.read_text(encoding="utf-8")), (["bin", "tree.svg"], "old"))
        done = olaf(*given[:-1], self.folder / "none/tree.dot")
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1))

    def test_notes_say_what_is_lost(self):
        plan = self.plan("leaf-spine:leaves=100,spines=2,hosts=17000", "--root", "ps", "--strategy", "rack")
        self.assertIn("i32x2 keeps 15 bits", plan["notes"][0])


class WithoutItsPackage(Folder):
    def test_both_commands_say_which_one_it_is(self):
        alone = self.folder / "sbin/olaf"
        alone.parent.mkdir()
        shutil.copy(OLAF, alone)
        admit = ["admit", "--cluster", "0:1s:1kb", "--hop", "1mbit", "--objective", "loss=0"]
        for words in (["plan", "leaf-spine"], admit):
            done = subprocess.run([alone, *words], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertRegex(done.stderr, rf"\Aolaf: cannot run .*libexec/olaf/olaf-{words[0]}: No such file.*olaf-fleet\n\Z")


class ThePage(Folder):
    def test_has_examples_that_work(self):
        page = (OLAF_SOURCE / "docs/fleet.md").read_text(encoding="utf-8")
        document = json.loads(re.search(r"```json\n(.*?)```", page, re.S)[1])
        self.expect_valid(self.plan(self.file(document)), document)
        commands = re.findall(r"^olaf (plan|admit) (.*)$", page, re.M)
        self.assertEqual([name for name, _ in commands], ["plan", "admit"])
        for name, words in commands:
            done = subprocess.run([OLAF, name, *shlex.split(words)], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0 if name == "plan" else 1, ""))


class AHundredThousandWorkers(Folder):
    def test_are_planned_in_two_gibibytes(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        for given in ("fat-tree:k=74", "leaf-spine:leaves=2000,spines=20,hosts=100000"):
            document = json.loads(olaf(given, "--topology").stdout)
            for root in (["--root", "ps"], []):
                plan = self.plan(given, *root, "--time-limit", "10s", preexec_fn=limit)
                self.assertEqual(checker.faults(plan, document), [])
                self.assertNotIn("the time ran out", str(plan["notes"]))


if __name__ == "__main__":
    unittest.main()
