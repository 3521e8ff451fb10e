"""The peer of the matching bench: OR-tools' min-cost flow on the same instance.

Reads an instance that the bench has written, solves it several times, prints JSON:
seconds of the solver alone and of building and solving, units served, cost.
"""

import json
import sys
import time

import numpy as np
from ortools.graph.python import min_cost_flow


def main():
    path, rounds = sys.argv[1], int(sys.argv[2])
    with open(path + ".json") as file:
        head = json.load(file)
    arcs = np.fromfile(path + ".arcs", dtype=np.int64).reshape(-1, 3)
    groups, hosts, demand = head["groups"], head["hosts"], np.array(head["demand"], dtype=np.int64)
    sink = groups + hosts
    tails = np.concatenate([arcs[:, 0], np.arange(groups, groups + hosts)])
    heads = np.concatenate([groups + arcs[:, 1], np.full(hosts, sink)])
    ones = np.ones(len(tails), dtype=np.int64)
    costs = np.concatenate([arcs[:, 2], np.zeros(hosts, dtype=np.int64)])
    supplies = np.concatenate([demand, np.zeros(hosts, dtype=np.int64), [-int(demand.sum())]])
    whole, solver = [], []
    for _ in range(rounds):
        begin = time.perf_counter()
        flow = min_cost_flow.SimpleMinCostFlow()
        flow.add_arcs_with_capacity_and_unit_cost(tails, heads, ones, costs)
        flow.set_nodes_supplies(np.arange(sink + 1), supplies)
        middle = time.perf_counter()
        flow.solve_max_flow_with_min_cost()
        end = time.perf_counter()
        whole.append(end - begin)
        solver.append(end - middle)
    print(json.dumps({
        "whole": sorted(whole)[len(whole) // 2],
        "solver": sorted(solver)[len(solver) // 2],
        "served": flow.maximum_flow(),
        "cost": flow.optimal_cost(),
    }))


if __name__ == "__main__":
    main()
