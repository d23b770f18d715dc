"""Models on llama.cpp, through the low-level API of llama-cpp-python.

Only an engine's child process imports this package: native code can abort the process it runs in.

    library      the bindings, loaded once, with the native log turned into ours
    threads      how many threads suit this machine
    load_errors  why a model file cannot be loaded
    model        a loaded model: weights, facts, template
    vocabulary   text to tokens and back
    sequences    every operation on a context's memory
    prompts      a request as tokens, with what people wrote kept from posing as control tokens
    choosing     the next token, and how sure the model was of it
    signals      how sure it was, by where a token stands in the answer
    stops        strings at which an answer ends
    answer       one answer in the making: tokens in, events out
    scheduler    takes requests, says what came of them; `opening` makes one of a loaded model
"""
