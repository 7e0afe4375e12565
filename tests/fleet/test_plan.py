# SPDX-License-Identifier: BSD-2-Clause
"""`olaf plan`: every plan is valid and costs what it says, whatever the topology and the strategy."""

import copy
import itertools
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

import jsonschema

import checker

OLAF = pathlib.Path(os.environ["OLAF_BUILD"]) / "loader/olaf"
OLAF_SOURCE = pathlib.Path(__file__).resolve().parents[2]
STRATEGIES = ["flat", "fit", "rack", "grow", "kary", "goat", "goat-max", "smallest-ip", "auto"]
WORLDS = int(os.environ.get("OLAF_WORLDS", "1000"))


def olaf(*arguments):
    return subprocess.run([OLAF, "plan", *map(str, arguments)], capture_output=True, text=True, check=False)


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, document):
        path = self.folder / "topology.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
        return path

    def plan(self, *arguments):
        done = olaf(*arguments, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def expect_valid(self, plan, document, about=""):
        self.assertEqual(checker.faults(plan, document), [], about)
        self.assertEqual(checker.predicted(plan, document), plan["predicted"], about)


def world(draw):
    """A random topology: one to three layers of switches, some of what may be given, hosts with several workers."""
    racks, above = draw.randint(1, 6), draw.randint(0, 4)
    some = lambda chance, make: make() if draw.random() < chance else None
    switches = [{"name": f"s{i}", "aggregates": draw.random() < 0.6, "memory": some(0.3, lambda: draw.choice([2000000, 64000000])),
                 "bandwidth": some(0.3, lambda: draw.choice([10**9, 4 * 10**10])), "latency": some(0.3, lambda: draw.randint(0, 5000)),
                 "max_lanes": some(0.1, lambda: draw.choice([64, 300])), "jobs": some(0.2, lambda: draw.randint(1, 64)),
                 "address": some(0.2, lambda: f"10.0.0.{draw.randint(1, 9)}")}
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


def some_tree_is_valid(document):
    network = checker.Network(document)
    workers = list(network.workers().items())
    may = [host["name"] for host in document["hosts"] if host["aggregates"]]
    for count in range(1, len(may) + 1):
        for nodes in itertools.permutations(may, count):
            for parents in itertools.product(*[range(count)] * (count - 1)):
                for seats in itertools.product(range(count), repeat=len(workers)):
                    if any(nodes[seat] == host for seat, (_, host) in zip(seats, workers)):
                        continue
                    children = [seats.count(i) + parents.count(i) for i in range(count)]
                    if all(children[i] >= 2 for i in range(1, count)) and all(reaches(parents, i) for i in range(1, count)):
                        return True
    return False


def reaches(parents, node):
    """Whether the root (0) is above it: node i's parent is parents[i - 1]."""
    seen = set()
    while node and node not in seen:
        seen.add(node)
        node = parents[node - 1]
    return node == 0


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

        def limited(field, value):
            document = copy.deepcopy(self.document)
            for switch in document["switches"]:
                switch[field] = value
            return document

        nothing = lambda plan, nodes: None
        self.expect_fault(nothing, "too little memory", limited("memory", 1000))
        self.expect_fault(nothing, "can't carry", limited("max_lanes", 10))
        self.expect_fault(nothing, "too few slots", limited("slots", 10))
        self.expect_fault(nothing, "places for jobs", limited("jobs", 0))

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
        self.assertIn("the time ran out", plan["notes"][0])

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
        self.refused({"switches": [switch], "hosts": [{**host, "bandwidth": -5}]}, "hosts[0].bandwidth is -5, below zero", "write bit/s")
        self.refused({"switches": [switch], "hosts": [{**host, "bandwidth": "10gbit"}]}, "no number", "without quotes")
        self.refused({"switches": [switch], "hosts": [{**host, "bandwith": 1}]}, "hosts[0].bandwith is no field", "bandwidth")
        self.refused({"switches": [switch, {"name": "t"}], "hosts": [host]}, "no way leads from s to t", "add the link")
        self.refused({"switches": [switch], "links": [{"a": "s", "b": "s"}]}, "links[0].b is 's', as a")
        self.refused({"switches": [switch, {"name": "t"}], "links": [{"a": "s", "b": "t"}, {"a": "t", "b": "s"}]}, "links[1] joins", "as another does")
        self.refused({"switches": [switch], "hosts": [host], "links": [{"a": "h", "b": "s"}]}, 'as "at" does', "leave it out")
        self.refused({"switches": [{"name": "s", "memory": 5, "memory_free": 6}]}, "memory_free is above memory")
        self.refused({"switches": [switch], "hosts": [{**host, "workers": 1.5}]}, "no whole number")
        self.refused({"hosts": 5}, "hosts is no list")
        self.refused([], "the document is no object")

    def test_of_json_itself_says_where(self):
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
        self.refused("leaf-spine:hosts=5", "it has 5 hosts", arguments=["--workers", 6])

    def test_of_options(self):
        done = olaf("leaf-spine", "--strategy", "best")
        self.assertEqual(done.returncode, 2)
        self.assertIn("it is one of auto|flat", done.stderr)
        self.refused("leaf-spine", "the topology has no nobody", arguments=["--root", "nobody"], status=1)
        self.refused("leaf-spine", "it doesn't aggregate", arguments=["--root", "host3"], status=1)
        self.refused("leaf-spine:hosts=300,aggregators=0%", "would have 300 children", "256 at most", arguments=["--root", "ps"], status=1)
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
        schema = json.loads((OLAF_SOURCE / "docs/schema/plan.json").read_text(encoding="utf-8"))
        for arguments in (["--strategy", "goat", "--sub-models", 5, "--compare"], ["--strategy", "rack"], ["--compare"]):
            jsonschema.validate(self.plan("leaf-spine:aggregators=30%", "--root", "ps", *arguments), schema)

    def test_as_a_picture(self):
        dot = self.folder / "tree.dot"
        self.plan("leaf-spine:leaves=3,spines=1,hosts=9", "--root", "ps", "--strategy", "rack", "--picture", dot)
        self.assertIn('label="leaf2"', dot.read_text(encoding="utf-8"))
        picture = self.folder / "tree.svg"
        self.plan("leaf-spine:leaves=3,spines=1,hosts=9", "--root", "ps", "--picture", picture)
        self.assertIn("<svg", picture.read_text(encoding="utf-8"))
        done = olaf("leaf-spine", "--picture", self.folder / "tree.jpeg")
        self.assertEqual(done.returncode, 1)
        self.assertIn(".svg", done.stderr)

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
    def test_are_planned(self):
        for given in ("fat-tree:k=74", "leaf-spine:leaves=2000,spines=20,hosts=100000"):
            document = json.loads(olaf(given, "--topology").stdout)
            plan = self.plan(given, "--root", "ps")
            self.assertEqual(checker.faults(plan, document), [])


if __name__ == "__main__":
    unittest.main()
