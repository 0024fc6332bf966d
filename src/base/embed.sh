#!/bin/sh
# Writes C that holds files as byte arrays (see base/embedded.h).  Arguments: name=file ...
set -eu
printf '#include "base/embedded.h"\n\n#include <string.h>\n\n'
number=0
for pair; do
    printf 'static const unsigned char bytes_%d[] = {\n' "$number"
    od -An -v -tu1 "${pair#*=}" | sed 's/[0-9][0-9]*/&,/g'
    printf '0};\n'
    number=$((number + 1))
done
printf 'const struct embedded_file embedded_files[] = {\n'
number=0
for pair; do
    printf '    {"%s", bytes_%d, sizeof bytes_%d - 1},\n' "${pair%%=*}" "$number" "$number"
    number=$((number + 1))
done
printf '    {0, 0, 0}};\n'
cat <<'END'

const struct embedded_file *embedded_find(const char *name) {
    for (const struct embedded_file *file = embedded_files; file->name; file++)
        if (strcmp(file->name, name) == 0) return file;
    return NULL;
}
END
