"""Pairing by link and by short code: what travels, what both sides prove, what the node decides.

A link travels by eye (a QR code) or by hand, so nobody on the network sees it. It pins the node's
certificate and carries a one-time secret. The phone fetches that certificate, checks it against the
link, talks TLS to exactly its key, and proves that it knows the secret over both sides' keys; the
node proves the same back. A relay in the middle fails at the first step, a guesser has three
guesses at 128 bits.

A code is short enough to be read and typed. SPAKE2 makes a key of it that a guesser has three tries
at; both sides then confirm that key over both certificates and everything else that was said, so
that a relay in the middle fails there (`code_proof`). A person at the node lets the device in.
"""
