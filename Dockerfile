# SPDX-License-Identifier: Apache-2.0
# stretto on Debian 12, built from this checkout, commit included:
#   docker build -t stretto .
#   docker run --rm -v "$PWD:/work" stretto run my.yaml
# With Ray as well, for stretto-ray and as an image of a Ray cluster's nodes:
#   docker build -t stretto-ray --target ray .
FROM debian:12-slim AS build
WORKDIR /src
COPY tools/packages.txt tools/packages.sh tools/
# git: what `stretto --version` says of the commit
RUN bash -c 'source tools/packages.sh && apt-get update && apt-get install -y --no-install-recommends git \
  $(packages_in tools/packages.txt build)'
COPY . .
RUN meson setup build/install --prefix=/usr -Dbuildtype=release -Dwerror=false -Dtests=false && \
  meson install -C build/install --destdir /out

FROM debian:12-slim AS stretto
COPY tools/packages.txt tools/packages.sh /tmp/
RUN bash -c 'source /tmp/packages.sh && apt-get update && apt-get install -y --no-install-recommends \
  $(packages_in /tmp/packages.txt run)' && rm -rf /var/lib/apt/lists/* /tmp/packages.*
COPY --from=build /out /
WORKDIR /work
ENTRYPOINT ["stretto"]

FROM stretto AS ray
COPY harness /opt/stretto-python
RUN apt-get update && apt-get install -y --no-install-recommends python3-venv && rm -rf /var/lib/apt/lists/* && \
  python3 -m venv /opt/ray && /opt/ray/bin/pip install --no-cache-dir "/opt/stretto-python[ray]" && \
  ln -s /opt/ray/bin/stretto-ray /opt/ray/bin/ray /usr/bin/
ENTRYPOINT []

# What `docker build .` makes without --target.
FROM stretto
