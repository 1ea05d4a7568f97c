# motifd on Debian 12, in two stages.
#
#   docker build -t motifd .
#   docker run -d --read-only -p 127.0.0.1:8080:8080 -v motifd:/var/lib/motifd \
#       -e MOTIFD_TOKEN="$(head -c 24 /dev/urandom | base64)" motifd
#
# Inside, the daemon listens on all addresses, so it asks for a token: give one in MOTIFD_TOKEN, or make
# some with `motifd token create`. Everything it writes is in the volume.
FROM debian:bookworm-slim AS build
WORKDIR /source
COPY deploy/packages deploy/lib.sh deploy/
RUN bash -c '. deploy/lib.sh && install_packages build'
COPY . .
RUN meson setup build -Dtests=false && ninja -C build motifd motifctl && strip build/motifd build/motifctl

FROM debian:bookworm-slim
COPY deploy/packages deploy/lib.sh deploy/
RUN bash -c '. deploy/lib.sh && install_packages runtime' \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* deploy \
    && groupadd --gid 10001 motifd \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/motifd --shell /usr/sbin/nologin motifd \
    && install -d -o motifd -g motifd -m 700 /var/lib/motifd
COPY --from=build /source/build/motifd /source/build/motifctl /usr/local/bin/
USER 10001:10001
WORKDIR /var/lib/motifd
ENV MOTIFD_LISTEN=0.0.0.0:8080 MOTIFD_DB=/var/lib/motifd/motifd.db MOTIFD_DATA=/var/lib/motifd/data
VOLUME /var/lib/motifd
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["motifctl", "health"]
ENTRYPOINT ["motifd"]
CMD ["serve"]
