"""llama.cpp through the low-level API of llama-cpp-python: a loaded model and its sequences.

Only an engine's child process imports this package: native code can abort the process it runs in.

    library     the bindings, loaded once, with the native log turned into ours
    refusals    files that would crash the runtime; load_errors: why a file cannot be loaded
    model       a loaded model: weights, facts, template; vocabulary: text to tokens and back, with
                all their texts in token_pieces
    adapters    LoRA adapters of a loaded model
    sequences   every operation on a context's memory; on top of cell_pool (rules and books),
                segments (shared cells), context (native calls), state_seal and state_layout (saved
                states)
    embedding   texts as vectors
"""
