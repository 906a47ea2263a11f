#!/usr/bin/env bash
# Makes the base images that sources name in their FROM, from Debian's packages and npm's, because the machine that runs the
# tests may reach no registry. Made once: cached under $1, by the content of this script. Run as root; takes two minutes.
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
# Whether the image is of this script's making, as it stands.
current() { [ "$(docker image inspect --format '{{index .Config.Labels "portside.base"}}' "$1" 2>/dev/null)" = "$KEY" ]; }

if ! has python:3.11-slim-bookworm; then
  docker import --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' "$base" portside-base:debian >&2
  # Debian names it python3 alone; the usual image has both names.
  docker build -t python:3.11-slim-bookworm - >&2 <<'EOF'
FROM portside-base:debian
RUN ln -s /usr/bin/python3 /usr/local/bin/python
CMD ["python3"]
EOF
fi

if ! current node:24-bookworm-slim; then
  context="$(mktemp -d)"
  cp "$NODE" "$context/node"
  # As the usual image has it: this machine's own.
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
