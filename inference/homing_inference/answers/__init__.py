"""One answer: from a request to tokens, and from chosen tokens to events. No native code.

prompts   a request as tokens, with what people wrote kept from posing as control tokens
choosing  the next token, and how sure the model was of it
run       one answer being written; answer: tokens in, events out
signals   how sure the model was, by place; stops; thinking
"""
