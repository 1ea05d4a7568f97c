# shellcheck shell=bash
# Shared by quickstart and test; sourced by bash with `set -euo pipefail` and the current directory
# at the root of the tree.

say() { printf '\033[1m==>\033[0m %s\n' "$*" | { [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && cat || sed 's/\x1b\[[0-9;]*m//g'; }; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# Prints the packages of deploy/packages in the given sections.
packages_of() {
    local section
    for section in "$@"; do
        awk -v want="[$section]" '/^\[/ { on = ($0 == want); next } on && NF && !/^#/ { print $1 }' deploy/packages
    done | sort -u
}

# Prints the given packages that are neither installed nor provided by an installed one (a newer nodejs provides npm).
packages_missing() {
    local package state provided
    provided=$(dpkg-query -W -f='${db:Status-Status} ${Provides}\n' 2>/dev/null | sed -n 's/^installed //p' | tr -s ', ' '\n' | sort -u)
    for package in "$@"; do
        grep -qxF -- "$package" <<<"$provided" && continue
        state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
        [ "$state" = installed ] || printf '%s\n' "$package"
    done
}

# Runs a command as root, through sudo when necessary.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "root is needed to run: $* (run as root, or install sudo)"
    fi
}

# Installs the missing packages of the given sections. When none is missing, it uses neither network nor root. /usr/sbin/policy-rc.d
# prevents that packages start services meanwhile. The output of apt-get is shown when it fails.
install_packages() {
    local missing log guard=/usr/sbin/policy-rc.d made=no status=0
    command -v dpkg-query >/dev/null || die "this script needs Debian's package tools (dpkg, apt-get)"
    # shellcheck disable=SC2046
    missing=$(packages_missing $(packages_of "$@"))
    [ -n "$missing" ] || return 0
    say "installing: $(echo $missing)"
    if [ ! -e "$guard" ]; then
        printf '#!/bin/sh\nexit 101\n' | as_root tee "$guard" >/dev/null
        as_root chmod 755 "$guard"
        made=yes
    fi
    log=$(mktemp)
    # shellcheck disable=SC2086
    { as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update &&
        as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 install --no-install-recommends $missing; } >"$log" 2>&1 ||
        status=$?
    [ "$made" = no ] || as_root rm -f "$guard"
    [ "$status" = 0 ] || cat "$log" >&2
    rm -f "$log"
    [ "$status" = 0 ] || die "apt-get could not install: $(echo $missing)"
}

# configure_tree DIR CC [meson options]: configures the build folder DIR if it is new, else changes the given options.
configure_tree() {
    local dir=$1 compiler=$2
    shift 2
    if [ ! -f "$dir/build.ninja" ]; then
        rm -rf "$dir"
        CC=$compiler meson setup "$dir" "$@" || { rm -rf "$dir"; return 1; }
    elif [ $# -gt 0 ]; then
        meson configure "$dir" "$@" >/dev/null
    fi
}

# build_tree DIR CC [meson options]: configures DIR in the same way and compiles everything.
build_tree() {
    configure_tree "$@" && ninja -C "$1"
}
