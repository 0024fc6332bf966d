"""tile_library: .tile sources as a cc_library of their kernels."""

load("@rules_cc//cc:defs.bzl", "cc_library")

def _tile_object(context):
    arguments = context.actions.args()
    arguments.add_joined(context.attr.architectures, join_with = ",", format_joined = "-arch=%s")
    arguments.add_all(context.attr.options)
    arguments.add_all([context.file.source, "-o", context.outputs.object])
    context.actions.run(
        executable = context.executable.tilecc,
        arguments = [arguments],
        inputs = [context.file.source] + context.files.imports,
        outputs = [context.outputs.object, context.outputs.header],
        env = {"TILECC_CACHE": ""},  # Bazel has one of its own
        mnemonic = "Tilecc",
        progress_message = "Compiling tile kernels " + context.file.source.short_path,
    )

tile_object = rule(
    implementation = _tile_object,
    attrs = {
        "architectures": attr.string_list(mandatory = True),
        "header": attr.output(mandatory = True),
        "imports": attr.label_list(allow_files = [".tile"]),
        "object": attr.output(mandatory = True),
        "options": attr.string_list(),
        "source": attr.label(allow_single_file = [".tile"], mandatory = True),
        "tilecc": attr.label(default = "@tilecc//:tilecc", allow_single_file = True, executable = True, cfg = "exec"),
    },
)

def tile_library(name, srcs, architectures = ["cpu", "sm_80", "sm_90a"], imports = [], options = [], **others):
    """Kernels of srcs and what calls them; saxpy.tile gives saxpy.h.

    Args:
      name: of the cc_library
      srcs: .tile files, an object each
      architectures: what -arch of tilecc(1) takes
      imports: .tile files that srcs import
      options: more options of tilecc
      **others: what cc_library takes, such as visibility
    """
    stems = [source.split("/")[-1].split(":")[-1].rsplit(".", 1)[0] for source in srcs]
    for source, stem in zip(srcs, stems):
        tile_object(
            name = stem + "_tile",
            architectures = architectures,
            header = stem + ".h",
            imports = imports,
            object = stem + ".o",
            options = options,
            source = source,
        )
    cc_library(
        name = name,
        srcs = [stem + ".o" for stem in stems],
        hdrs = [stem + ".h" for stem in stems],
        includes = ["."] if native.package_name() else [],  # Bazel has the root among them, and refuses it here
        deps = ["@tilecc//:tilert"],
        **others
    )
