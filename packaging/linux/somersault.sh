#!/bin/sh
# Starts Somersault, after asking whether this machine can run it: what follows could not say so itself.
built_for=@MACHINE@
built_with=@GLIBC@
here=$(dirname "$(readlink -f "$0")")
machine=$(uname -m)
if [ "$machine" != "$built_for" ]; then
    echo "This is the build of Somersault for $built_for, and this machine is $machine: get the build for $machine, or run Somersault from its source." >&2
    exit 2
fi
found=$(getconf GNU_LIBC_VERSION 2>/dev/null | cut -d ' ' -f 2)
if [ "$(printf '%s\n' "$built_with" "${found:-0}" | sort -V | head -n 1)" != "$built_with" ]; then
    echo "Somersault needs the C library glibc $built_with or newer, and this system has ${found:-another one}: use a newer release of it, or run Somersault from its source." >&2
    exit 2
fi
exec "$here/lib/somersault" "$@"
