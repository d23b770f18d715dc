"""An `Engine` over any OpenAI-compatible server: vLLM, llama-server, Ollama, LM Studio, Ray Serve.

    engine = await UpstreamEngine.connect(UpstreamServer("http://192.168.1.9:8000"))

A home node can so stand in front of a stronger machine. Servers differ; what is known of each is
in `served`, and what a server refuses is left out and asked again (`refusals`).

    server      which server, how to reach it, and how long to wait; no I/O
    served      what it serves and what it can do, from what it says of itself
    connecting  asks it
    body        a request in OpenAI's form
    refusals    what to leave out when a server refuses a field
    wire        JSON from outside, read with nothing taken for granted
    chunks      one piece of a streamed answer
    calls       a structured call, put together from its pieces
    answer      one answer in the making: pieces in, events out
    samples      the answers of one generation
    tally        what an answer took
    faults      what went wrong, as one of our errors; never repeats what the server wrote
    patience    deadlines and silence
    transport   HTTP: the only module that knows the client library
    gate        how many requests are sent at once, and who comes first
    exchange    one request with its second tries
    generation  one generation from end to end
    vectors     embeddings
    engine      the engine
"""
