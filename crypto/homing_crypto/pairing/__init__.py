"""Pairing by link: what is in the link, what both sides prove, and what the node decides.

The link travels by eye (a QR code) or by hand, so nobody on the network sees it. It pins the
node's certificate and carries a one-time secret. The phone fetches that certificate, checks it
against the link, talks TLS to exactly its key, and proves that it knows the secret over both sides'
keys; the node proves the same back. A relay in the middle fails at the first step, a guesser has
three guesses at 128 bits.
"""
