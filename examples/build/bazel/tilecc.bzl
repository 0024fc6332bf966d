"""An installed tilecc as the repository @tilecc: its compiler and its run time."""

_BUILD = """
exports_files(["tilecc"], visibility = ["//visibility:public"])

load("@rules_cc//cc:defs.bzl", "cc_library")

cc_library(
    name = "tilert",
    srcs = ["libtilert.a"],
    hdrs = ["include/tile_rt.h"],
    includes = ["include"],
    linkopts = ["-ldl", "-lpthread", "-lm"],
    visibility = ["//visibility:public"],
)
"""

def _tilecc_prefix(context):
    prefix = context.os.environ.get("TILECC_PREFIX")
    if not prefix:
        found = context.which("tilecc")
        if not found:
            fail("TILECC_PREFIX names no prefix of tilecc, and PATH has no tilecc")
        prefix = str(found.dirname.dirname)
    context.symlink(prefix + "/bin/tilecc", "tilecc")
    context.symlink(prefix + "/lib/libtilert.a", "libtilert.a")
    context.symlink(prefix + "/include/tile_rt.h", "include/tile_rt.h")
    context.file("BUILD.bazel", _BUILD)

tilecc_prefix = repository_rule(
    implementation = _tilecc_prefix,
    environ = ["TILECC_PREFIX", "PATH"],
    local = True,
)
