"""How much a model leans to each tool (docs/adr/0011-scores.md).

names        tool names as a trie over a vocabulary's tokens (token_texts)
score_plan   what a scoring computes; scorer: computes it, a few steps between others' steps
name_search  looking along the trie; name_shares: how a leaning is shared out, pure
baseline     the same before anybody has said anything
name_watch   the same from the steps in which a call was written, at no cost
"""
