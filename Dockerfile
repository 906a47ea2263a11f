# The control plane in a container:  docker build --build-arg PROVIDER=gcp --tag portside .
# The build needs BuildKit. docs/operations/clouds.md explains how to run the image on Cloud Run and on ECS.

# An image with Node 24 and npm, from any registry.
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json ./
# To use your own registry, proxy or certificate: --secret id=npmrc,src=.npmrc --secret id=ca,src=ca.pem
# --ignore-scripts, because no package that the server needs has an install script.
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc \
    --mount=type=secret,id=ca,target=/run/secrets/ca.pem \
    --mount=type=cache,target=/root/.npm \
    npm ci --ignore-scripts --no-audit --no-fund
COPY . .
# The provider whose packages the image contains: local, gcp, aws or memory.
ARG PROVIDER=local
RUN node .ci/build.mjs && node .ci/keep-packages.mjs "$PROVIDER" /kept

FROM ${NODE_IMAGE}
ARG PROVIDER=local
ARG VERSION=0.1.0
ARG REVISION
LABEL org.opencontainers.image.title="Portside" \
      org.opencontainers.image.description="An embeddable serverless control plane" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      portside.provider="${PROVIDER}"
# NODE_DISABLE_COMPILE_CACHE, because Node would write the compile cache outside of the data folder.
ENV NODE_ENV=production \
    NODE_DISABLE_COMPILE_CACHE=1 \
    HOME=/data \
    PORTSIDE_PROVIDER=${PROVIDER} \
    PORTSIDE_HOST=0.0.0.0 \
    PORTSIDE_PORT=8787 \
    PORTSIDE_DATA_DIR=/data
WORKDIR /srv
COPY --from=build /src/package.json /src/LICENSE ./
COPY --from=build /kept/node_modules node_modules
COPY --from=build /src/dist dist
# The user has only a number, because the base image may not contain a named user.
RUN install --directory --owner=1000 --group=1000 --mode=0700 /data
USER 1000:1000
VOLUME /data
EXPOSE 8787
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
    CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORTSIDE_PORT}/health`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Without a shell, so that the server itself receives SIGTERM when the container stops.
ENTRYPOINT ["node", "/srv/dist/hosts/cli/main.js"]
CMD ["serve"]
