# syntax=docker/dockerfile:1
# motifd on Debian 12, in two stages: a build with caches, and a root file system that contains only the programs, the libraries they
# load, fonts and certificates (deploy/rootfs).
#
#   docker build -t motifd .
#   docker run -d --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges -p 127.0.0.1:8080:8080 -v motifd:/var/lib/motifd \
#       -e MOTIFD_TOKEN="$(head -c 24 /dev/urandom | base64)" motifd
#
# In the container the daemon listens on all addresses, so it requires a token: pass one in MOTIFD_TOKEN, or create tokens with
# `motifd token create`. The daemon writes to the volume only. `motifd dataset audio` needs espeak-ng, which the image lacks.
FROM debian:bookworm-slim AS build
WORKDIR /source
COPY deploy/packages deploy/lib.sh deploy/
# Debian's image deletes packages after an installation; the cache must keep them.
RUN --mount=type=cache,target=/var/cache/apt,sharing=locked --mount=type=cache,target=/var/lib/apt,sharing=locked \
    rm -f /etc/apt/apt.conf.d/docker-clean \
    && bash -c '. deploy/lib.sh && install_packages build page && apt-get install -y --no-install-recommends ccache'
COPY . .
RUN --mount=type=cache,target=/var/cache/ccache --mount=type=cache,target=/var/cache/npm \
    export CCACHE_DIR=/var/cache/ccache npm_config_cache=/var/cache/npm \
    && CC='ccache gcc' meson setup build -Dtests=false -Dconvert=enabled && ninja -C build motifd motifctl motif-train motif-convert \
    && strip build/motifd build/motifctl build/motif-train build/motif-convert \
    && deploy/rootfs /rootfs build/motifd build/motifctl build/motif-train build/motif-convert

# The same with motif-train-mpi and Open MPI for several ranks, on Debian's own root file system, because mpirun needs its own programs and
# modules.
#
#   docker build --target mpi -t motifd-mpi .
FROM build AS build-mpi
RUN --mount=type=cache,target=/var/cache/apt,sharing=locked --mount=type=cache,target=/var/lib/apt,sharing=locked \
    apt-get update && apt-get install -y --no-install-recommends libopenmpi-dev
RUN --mount=type=cache,target=/var/cache/ccache \
    export CCACHE_DIR=/var/cache/ccache \
    && meson setup --reconfigure -Dmpi=enabled build && ninja -C build motif-train-mpi && strip build/motif-train-mpi

FROM debian:bookworm-slim AS mpi
COPY deploy/packages deploy/lib.sh /tmp/deploy/
RUN --mount=type=cache,target=/var/cache/apt,sharing=locked --mount=type=cache,target=/var/lib/apt,sharing=locked \
    cd /tmp && bash -c '. deploy/lib.sh && install_packages runtime ranks' && rm -r /tmp/deploy \
    && groupadd --gid 10001 motifd && useradd --uid 10001 --gid 10001 --home-dir /var/lib/motifd --shell /usr/sbin/nologin motifd \
    && install -d -m 700 -o motifd -g motifd /var/lib/motifd
COPY --from=build-mpi /source/build/motifd /source/build/motifctl /source/build/motif-train /source/build/motif-train-mpi \
    /source/build/motif-convert /usr/local/bin/
USER 10001:10001
WORKDIR /var/lib/motifd
ENV MOTIFD_LISTEN=0.0.0.0:8080 MOTIFD_DB=/var/lib/motifd/motifd.db MOTIFD_DATA=/var/lib/motifd/data MOTIFD_JOB_NICE=19 \
    MOTIFD_EXECUTORS=thread,process,mpirun MOTIFD_MPIRUN="mpirun --bind-to none"
VOLUME /var/lib/motifd
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["motifctl", "health"]
ENTRYPOINT ["motifd"]
CMD ["serve"]

FROM scratch
COPY --from=build /rootfs /
USER 10001:10001
WORKDIR /var/lib/motifd
ENV PATH=/usr/local/bin MOTIFD_LISTEN=0.0.0.0:8080 MOTIFD_DB=/var/lib/motifd/motifd.db MOTIFD_DATA=/var/lib/motifd/data MOTIFD_JOB_NICE=19
VOLUME /var/lib/motifd
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["motifctl", "health"]
ENTRYPOINT ["motifd"]
CMD ["serve"]
