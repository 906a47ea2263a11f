/** `portside shell` enters containers. */
import { afterAll } from "vitest";
import { sourceOf } from "../support/archives/archives.ts";
import { DEPLOYED, plainSource, server, shellTests } from "../support/cli/shell-suite.ts";
import { removeImagesOf } from "../support/providers/at-docker.ts";
import { has } from "../support/vitest/machine.ts";

const Dockerfile = `FROM node:24-bookworm-slim
WORKDIR /srv
COPY . .
CMD ["node", "server.js"]
`;
shellTests("container", {}, sourceOf({ Dockerfile, "server.js": server, mark: "" }), "base images");
shellTests("container", { runner: "container" }, plainSource, "containers");
afterAll(() => (has("base images") ? removeImagesOf(DEPLOYED) : undefined));
