"""For MODULE.bazel: makes @tilecc of what is installed."""

load("//:tilecc.bzl", "tilecc_prefix")

def _installed(_context):
    tilecc_prefix(name = "tilecc")

installed = module_extension(implementation = _installed)
