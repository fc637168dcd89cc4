"""Presumptions: the third kind of knowledge, between a fact and a blank.

A fact is stated somewhere. Where none is, what is usual decides a term if it leaves one answer; each presumption is
written down once, shown where it counts, revoked by any fact, and ``--assume none`` revokes all of them.
"""
