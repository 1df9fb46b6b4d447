"""multi-freq-ldpy's oracles as a process of their own: CPU seconds of clients and server, for a million respondents.

No error is told: it cuts off what is below 0 and scales the rest, and what that does to few respondents says nothing
about a million.
"""

import json
import sys
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore")
FEW = {"response": 100_000, "unary": 5_000, "subset": 2_000}


def main() -> None:
    order = json.load(sys.stdin)
    shares, epsilon = np.array(order["shares"]), order["epsilon"]
    choices = len(shares)
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

    oracles = {
        "response": (lambda v: GRR_Client(v, choices, epsilon), lambda r: GRR_Aggregator_MI(r, choices, epsilon)),
        "unary": (lambda v: UE_Client(v, choices, epsilon, True), lambda r: UE_Aggregator_MI(r, epsilon, True)),
        "subset": (lambda v: SS_Client(v, choices, epsilon), lambda r: SS_Aggregator_MI(r, choices, epsilon)),
    }
    found = {}
    for name, (client, aggregate) in oracles.items():
        values = np.random.default_rng(1).choice(choices, size=FEW[name], p=shares).tolist()
        try:
            client(values[0])  # compiled now
            start = time.process_time()
            reports = [client(value) for value in values]
            middle = time.process_time()
            aggregate(reports)
            end = time.process_time()
            found[name] = {
                "client_s": (middle - start) * 1e6 / len(values),
                "server_s": (end - middle) * 1e6 / len(values),
                "people": len(values),
            }
        except Exception as problem:  # a peer that cannot do it is a dash, with its reason
            found[name] = f"{type(problem).__name__}: {str(problem)[:80]}"
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
