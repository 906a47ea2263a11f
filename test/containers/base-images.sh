#!/usr/bin/env bash
# Creates the base images that the tests' Dockerfiles use, from packages of Debian and npm, because the machine may not
# reach a registry of images. Caches them in the folder $1; the cache key contains the hash of this script. Run as root.
# Takes two minutes.
set -euo pipefail
CACHE="${1:?a folder to cache the images in}"
NODE="${2:?the path of a node binary}"
KEY="$(sha256sum "$0" | cut -c1-16)-$("$NODE" --version)"
mkdir -p "$CACHE"
find "$CACHE" -name '*.tar' ! -name "*$KEY.tar" -delete

base="$CACHE/debian-$KEY.tar"
if [ ! -f "$base" ]; then
  root="$(mktemp -d)"
  debootstrap --variant=minbase --include=python3-minimal,python3,ca-certificates bookworm "$root" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >&2
  rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,locale}
  tar -C "$root" --exclude=./proc/* --exclude=./sys/* -cf "$base.part" .
  mv "$base.part" "$base"
  rm -rf "$root"
fi

has() { docker image inspect "$1" >/dev/null 2>&1; }
# Succeeds if this version of the script created the image.
current() { [ "$(docker image inspect --format '{{index .Config.Labels "portside.base"}}' "$1" 2>/dev/null)" = "$KEY" ]; }

if ! has python:3.11-slim-bookworm; then
  docker import --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' "$base" portside-base:debian >&2
  # Debian provides only the name python3; the official image has both names.
  docker build -t python:3.11-slim-bookworm - >&2 <<'EOF'
FROM portside-base:debian
RUN ln -s /usr/bin/python3 /usr/local/bin/python
CMD ["python3"]
EOF
fi

if ! current node:24-bookworm-slim; then
  context="$(mktemp -d)"
  cp "$NODE" "$context/node"
  # Like the official image, this one contains npm: a copy of this machine's.
  npm="$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")"
  tar -C "$npm" --exclude=./docs --exclude=./man -cf "$context/npm.tar" .
  cat >"$context/Dockerfile" <<EOF
FROM portside-base:debian
COPY node /usr/local/bin/node
ADD npm.tar /usr/local/lib/node_modules/npm/
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx
LABEL portside.base=$KEY
CMD ["node"]
EOF
  docker build -t node:24-bookworm-slim "$context" >&2
  rm -rf "$context"
fi
