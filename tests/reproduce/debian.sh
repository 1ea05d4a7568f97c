#!/usr/bin/env bash
# Tests the Debian packages of deploy/deb in a clean Debian 12: installs them, starts the daemon as its unit would, and submits a job with motifctl.
# Then installs motifd-mpi and submits a job of two ranks. Finally removes and purges the packages and checks that no file remains.
#
#   tests/reproduce/debian.sh FOLDER [ROOT]      needs root and debootstrap; FOLDER contains the .deb files of deploy/deb
#
# ROOT is a fresh root folder from debootstrap; the script works on a copy of it. Without ROOT, the script creates one.
set -euo pipefail
debs=$(realpath "${1:?name the folder of the packages}")
[ "$(id -u)" = 0 ] || { echo "skipped: debootstrap needs root"; exit 77; }
command -v debootstrap >/dev/null || { echo "skipped: debootstrap is missing"; exit 77; }
work=$(mktemp -d /tmp/motif-debian.XXXXXX)
root=$work/root
daemon=
tidy() {
    [ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
    for mount in dev/pts dev sys proc; do umount "$root/$mount" 2>/dev/null || true; done
    ! mountpoint -q "$root/dev" || { echo "$root/dev is still mounted; the folder stays" >&2; return; }
    rm -rf "$work"
}
trap tidy EXIT
fail() { echo "debian.sh: $*" >&2; exit 1; }

if [ -n "${2:-}" ]; then
    cp -a "$2" "$root"
else
    # shellcheck disable=SC2016
    mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 2>/dev/null | head -n 1)
    debootstrap --variant=minbase bookworm "$root" ${mirror:+"$mirror"} >"$work/debootstrap.log" 2>&1 || { tail "$work/debootstrap.log" >&2; fail "debootstrap failed"; }
fi
cp /etc/resolv.conf "$root/etc/" 2>/dev/null || true
for file in sources.list sources.list.d apt.conf.d trusted.gpg.d auth.conf.d; do # copies the package sources of this machine
    [ ! -e "/etc/apt/$file" ] || cp -r "/etc/apt/$file" "$root/etc/apt/"
done
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 chroot "$root" "$@"; }
inside apt-get -q update >"$work/apt.log" 2>&1 || { tail "$work/apt.log" >&2; fail "apt-get update"; }
inside apt-get -q -y install --no-install-recommends systemd >>"$work/apt.log" 2>&1 || fail "systemd (for its users and units) does not install"
listed() { find "$root" -xdev -path "$root/proc" -prune -o -path "$root/dev" -prune -o -print | sed "s,^$root,," | sort; }

mkdir "$root/debs"
cp "$debs"/motifd_*.deb "$debs"/motifctl_*.deb "$root/debs/"
# Purging our packages does not remove their dependencies. The script installs the dependencies before it lists the files, so that the comparison at the
# end covers only the files of our packages.
install_needs() { # PACKAGE ...
    local needs=
    for package in "$@"; do needs+=$(dpkg-deb -f "$(echo "$debs/$package"_*.deb)" Depends),; done
    # shellcheck disable=SC2046
    inside apt-get -q -y install --no-install-recommends $(tr ',' '\n' <<<"$needs" | sed 's/(.*//; s/|.*//; s/ //g' | grep -v '^motif' | sort -u) >>"$work/apt.log" 2>&1 ||
        { tail "$work/apt.log" >&2; fail "the dependencies of $* do not install"; }
}
install_needs motifd motifctl
listed >"$work/before"
cp "$root/etc/passwd" "$work/passwd"
inside sh -c 'apt-get -q -y install --no-install-recommends /debs/*.deb' >>"$work/apt.log" 2>&1 || { tail -n 20 "$work/apt.log" >&2; fail "the packages do not install"; }
! inside dpkg-query -W '*openmpi*' >/dev/null 2>&1 || fail "the daemon's package brings Open MPI"
# shellcheck disable=SC2016
echo "installed: $(inside dpkg-query -W -f '${Package} ${Version}, ' motifd motifctl)user $(inside getent passwd motifd)"
unit=$root/lib/systemd/system/motifd.service
[ -f "$unit" ] || fail "the unit was not installed"
systemd-analyze security --offline=true --threshold=20 --root "$root" motifd.service >/dev/null 2>&1 ||
    systemd-analyze security --offline=true --threshold=20 "$unit" >/dev/null || fail "the unit leaves too much open"

# Starts the daemon with the unit's user, folder, ExecStart and Environment, but without its sandbox and on a free port.
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
install -d -m 700 -o "$(inside id -u motifd)" -g "$(inside id -g motifd)" "$root/var/lib/motifd"
mapfile -t environment < <(sed -n 's/^Environment=//p' "$unit")
read -ra command < <(sed -n 's/^ExecStart=//p' "$unit")
export MOTIFD_SERVER=http://127.0.0.1:$port
ask() { env -i PATH=/usr/sbin:/usr/bin:/bin "MOTIFD_SERVER=$MOTIFD_SERVER" chroot --userspec=nobody:nogroup "$root" motifctl "$@"; }
start() { # SETTING=VALUE ...
    env -i PATH=/usr/sbin:/usr/bin:/bin "${environment[@]}" "MOTIFD_LISTEN=127.0.0.1:$port" "$@" \
        chroot --userspec=motifd:motifd "$root" "${command[@]}" >"$work/out" 2>"$work/log" &
    daemon=$!
    for _ in $(seq 300); do ! ask health >/dev/null 2>&1 || break; sleep 0.2; done
    ask health || { cat "$work/log" >&2; fail "the daemon does not answer"; }
}
stop() {
    kill -TERM "$daemon"
    wait "$daemon" || fail "SIGTERM ended the daemon with $?"
    daemon=
}
start
[ "$(ps -o user:32= -p "$daemon" | tr -d ' ')" != root ] || fail "the daemon runs as root"
ask submit --preset dirac-hadamard --watch >"$work/watch" 2>&1 || { cat "$work/watch" >&2; fail "the job failed"; }
echo "a job: $(ask list | tail -n 1)"
stop
[ -f "$root/var/lib/motifd/motifd.db" ] || fail "the database is not in /var/lib/motifd"

# The package motifd-mpi lets jobs run on several ranks. The same job runs on two ranks.
packages=(motifd motifctl)
if compgen -G "$debs/motifd-mpi_*.deb" >/dev/null; then
    packages+=(motifd-mpi)
    listed >"$work/without"
    install_needs motifd-mpi
    listed | comm -13 "$work/without" - | sort -o "$work/mpi" - # the files of Open MPI stay too, like those of all dependencies
    sort -m "$work/before" "$work/mpi" -o "$work/before"
    cp "$debs"/motifd-mpi_*.deb "$root/debs/"
    inside sh -c 'apt-get -q -y install --no-install-recommends /debs/motifd-mpi_*.deb' >>"$work/apt.log" 2>&1 || { tail -n 20 "$work/apt.log" >&2; fail "motifd-mpi does not install"; }
    ! ldd "$root/usr/bin/motifd" | grep -q libmpi || fail "the daemon links MPI"
    start MOTIFD_EXECUTORS=thread,mpirun "MOTIFD_MPIRUN=mpirun --oversubscribe --bind-to none"
    ask submit --preset dirac-hadamard --executor mpirun --ranks 2 --watch >"$work/watch2" 2>&1 || { cat "$work/watch2" "$work/log" >&2; fail "the job of two ranks failed"; }
    echo "two ranks: $(ask list | sed -n 2p)"
    stop
    [ -z "$(find "$root/tmp" -maxdepth 1 -name 'ompi.*')" ] || fail "mpirun's folder remains in /tmp"
fi

inside apt-get -q -y remove "${packages[@]}" >>"$work/apt.log" 2>&1 || fail "the packages cannot be removed"
[ -f "$root/var/lib/motifd/motifd.db" ] || fail "removing the package deleted the data"
inside apt-get -q -y purge "${packages[@]}" >>"$work/apt.log" 2>&1 || fail "the packages cannot be purged"
listed | comm -13 "$work/before" - | grep -vE '^/(debs/|var/(log|cache)/|var/lib/(apt|dpkg)/|etc/(passwd|group|shadow|gshadow|subuid|subgid)-$)' >"$work/left" || true
[ ! -s "$work/left" ] || { cat "$work/left" >&2; fail "the purge left files"; }
cmp -s "$work/passwd" "$root/etc/passwd" || fail "the purge left a user"
echo "removed: the data stayed; purged: no file and no user remains"
