"""pure-ldp and multi-freq-ldpy for `./do bench curves`: squared errors of shares, protocol by protocol.

pure-ldp is unbiased, so its variance falls as one over the respondents: it runs on few of them, and is scaled.
multi-freq-ldpy repairs its estimates, which does not scale: it runs on all, or, where that takes too long, not at all.
"""

import json
import sys
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore")
#: Seconds of CPU for one protocol at one epsilon; who takes more has no point there.
PATIENCE_S = 6.0


def pure_ldp(choices, epsilon):
    from pure_ldp.frequency_oracles.apple_cms import CMSClient, CMSServer
    from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
    from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer
    from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
    from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

    def sketch(hadamard):
        server = CMSServer(epsilon, 256, 1024, is_hadamard=hadamard)
        return CMSClient(epsilon, server.get_hash_funcs(), 1024, is_hadamard=hadamard), server

    def hadamard():
        server = HadamardResponseServer(epsilon, choices)
        return HadamardResponseClient(epsilon, choices, server.get_hash_funcs()), server

    return {
        "response": lambda: (DEClient(epsilon, choices), DEServer(epsilon, choices)),
        "symmetric-unary": lambda: (UEClient(epsilon, choices), UEServer(epsilon, choices)),
        "unary": lambda: (UEClient(epsilon, choices, use_oue=True), UEServer(epsilon, choices, use_oue=True)),
        "hashing": lambda: (LHClient(epsilon, choices, use_olh=True), LHServer(epsilon, choices, use_olh=True)),
        "hadamard": hadamard,
        "sketch": lambda: sketch(False),
        "hadamard-sketch": lambda: sketch(True),
    }


def of_pure(order, epsilon, name, make):
    """Squared errors on few respondents, as they would be on all."""
    codes, choices, people = np.array(order["codes"]), order["choices"], len(order["codes"])
    few = 500 if choices < 100 else 400 if name in ("hashing", "sketch") else 2000
    rounds = 1 if choices >= 100 else (4 if order["quick"] else 20)
    found, random, started = [], np.random.default_rng(), time.process_time()
    for _ in range(rounds):
        some = random.choice(codes, size=few)
        client, server = make()
        for code in some.tolist():
            server.aggregate(client.privatise(code + 1))
        told = np.array([server.estimate(value + 1, suppress_warnings=True) for value in range(choices)])
        found += (((told - np.bincount(some, minlength=choices)) / few) ** 2 * few / people).tolist()
        if time.process_time() - started > PATIENCE_S:
            break
    return found


def multi_freq(choices, epsilon):
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

    return {
        "response": (lambda v: GRR_Client(v, choices, epsilon), lambda r: GRR_Aggregator_MI(r, choices, epsilon)),
        "symmetric-unary": (
            lambda v: UE_Client(v, choices, epsilon, False),
            lambda r: UE_Aggregator_MI(r, epsilon, False),
        ),
        "unary": (lambda v: UE_Client(v, choices, epsilon, True), lambda r: UE_Aggregator_MI(r, epsilon, True)),
        "hashing": (
            lambda v: LH_Client(v, choices, epsilon, True),
            lambda r: LH_Aggregator_MI(r, choices, epsilon, True),
        ),
        "subset": (lambda v: SS_Client(v, choices, epsilon), lambda r: SS_Aggregator_MI(r, choices, epsilon)),
    }


def of_multi(order, name, client, aggregate):
    codes, choices = order["codes"], order["choices"]
    client(codes[0])  # compiled now
    start = time.process_time()
    tried = [client(code) for code in codes[:200]]
    if name == "hashing":
        aggregate(tried)
    if (time.process_time() - start) * len(codes) / 200 > PATIENCE_S:
        return []
    exact = np.bincount(codes, minlength=choices) / len(codes)
    found, started = [], time.process_time()
    for _ in range(1 if choices >= 100 else 3):
        told = aggregate([client(code) for code in codes])
        found += ((np.asarray(told) - exact) ** 2).tolist()
        if time.process_time() - started > PATIENCE_S:
            break
    return found


def main():
    order = json.load(sys.stdin)
    found = {}
    for epsilon in order["epsilons"]:
        makers = {"pure_ldp": pure_ldp, "multi_freq_ldpy": multi_freq}[order["library"]](
            order["choices"], float(epsilon)
        )
        for name, made in makers.items():
            try:
                every = (
                    of_pure(order, epsilon, name, made)
                    if order["library"] == "pure_ldp"
                    else of_multi(order, name, *made)
                )
                every = every if np.isfinite(every).all() else []
            except Exception as problem:  # a peer that cannot is a dash
                print(name, epsilon, type(problem).__name__, problem, file=sys.stderr)
                every = []
            found.setdefault(name, {})[epsilon] = every
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
