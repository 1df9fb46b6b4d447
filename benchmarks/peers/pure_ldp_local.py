"""pure-ldp's oracles as a process of their own: CPU seconds of clients and server, for a million respondents.

What is too slow for a million is run on fewer and multiplied; the number that was run is told. The error is that of the
estimates, as it comes: the square root of the mean squared error of a count over the number of respondents. RAPPOR has
none: it is fitted by lasso, and what that does to few respondents says nothing about a million.
"""

import json
import math
import sys
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore")
FEW = {"response": 200_000, "unary": 5_000, "hashing": 300, "sketch": 3_000, "hadamard-sketch": 20_000, "rappor": 2_000}


def makers(choices: int, epsilon: float):
    from pure_ldp.frequency_oracles.apple_cms import CMSClient, CMSServer
    from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
    from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
    from pure_ldp.frequency_oracles.rappor import RAPPORClient, RAPPORServer
    from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

    def sketch(hadamard: bool):
        server = CMSServer(epsilon, 256, 1024, is_hadamard=hadamard)
        return CMSClient(epsilon, server.get_hash_funcs(), 1024, is_hadamard=hadamard), server

    def rappor():
        noise = 2 / (math.exp(epsilon / 4) + 1)
        server = RAPPORServer(noise, 128, 2, choices, num_of_cohorts=8)
        return RAPPORClient(noise, 128, server.get_hash_funcs(), num_of_cohorts=8), server

    return {
        "response": lambda: (DEClient(epsilon, choices), DEServer(epsilon, choices)),
        "unary": lambda: (UEClient(epsilon, choices, use_oue=True), UEServer(epsilon, choices, use_oue=True)),
        "hashing": lambda: (LHClient(epsilon, choices, use_olh=True), LHServer(epsilon, choices, use_olh=True)),
        "sketch": lambda: sketch(False),
        "hadamard-sketch": lambda: sketch(True),
        "rappor": rappor,
    }


def main() -> None:
    order = json.load(sys.stdin)
    shares = np.array(order["shares"])
    found = {}
    for name, make in makers(len(shares), order["epsilon"]).items():
        values = (np.random.default_rng(1).choice(len(shares), size=FEW[name], p=shares) + 1).tolist()
        try:
            client, server = make()
            start = time.process_time()
            reports = [client.privatise(value) for value in values]
            middle = time.process_time()
            for report in reports:
                server.aggregate(report)
            end = time.process_time()
            gaps = (
                server.estimate_all(range(1, len(shares) + 1), suppress_warnings=True)
                - np.bincount(values, minlength=len(shares) + 1)[1:]
            )
            error = math.sqrt(float((np.asarray(gaps) ** 2).mean()) / len(values))
            found[name] = {
                "client_s": (middle - start) * 1e6 / len(values),
                "server_s": (end - middle) * 1e6 / len(values),
                "people": len(values),
            } | ({} if name == "rappor" else {"error": error})
        except Exception as problem:  # a peer that cannot do it is a dash, with its reason
            found[name] = f"{type(problem).__name__}: {str(problem)[:80]}"
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
