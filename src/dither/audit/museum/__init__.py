"""The bug museum: small broken mechanisms and accountants, each with its story and its fixed twin.

`dither audit --museum` calls `visit`; each row it yields says which exhibit it was and whether it was caught.
"""
