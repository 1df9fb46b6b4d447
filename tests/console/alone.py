"""Coroutines in a thread of their own: a browser's loop may run in the test's."""

import asyncio
from concurrent.futures import ThreadPoolExecutor


def alone(coroutine):
    """What a coroutine comes to."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()
