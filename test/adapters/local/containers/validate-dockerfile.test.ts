/** Lines of a Dockerfile that reach other accounts' images, the machine's network or the builder itself. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: Dockerfiles have variables of this form
import { expect, test } from "vitest";
import { type Builder, validateDockerfile } from "../../../../adapters/local/containers/build/validate-dockerfile.ts";

const kit: Builder = { platform: "linux/amd64", knowsPlatforms: true };
const classic: Builder = { platform: "linux/amd64", knowsPlatforms: false };

const refusedLine = (text: string, builder = kit) => {
  const judged = validateDockerfile(text, builder);
  return "refused" in judged ? judged.refused : undefined;
};

const imagesOf = (text: string, builder = kit) => {
  const judged = validateDockerfile(text, builder);
  return "refused" in judged ? judged.refused : judged.images.map(({ line, name }) => [line, name]);
};

test.each([
  // The classic builder accepts the prefix of an id as a name.
  ["FROM f0\n", 1],
  ["FROM sha256:f0\n", 1],
  ["FROM --platform=linux/amd64 f005 AS x\n", 1],
  ['FROM "f0"05\n', 1],
  ["FROM f\\005\n", 1],
  ["FROM \\\nf005\n", 1],
  ["FROM \\\n# a comment\n\nf005\n", 1],
  ["# escape=`\nFROM `\nf005\n", 2],
  ["ARG X=f005\nFROM $X\n", 2],
  ["ARG X=f005\nFROM ${X}\n", 2],
  ["ARG X=node\nARG X=f005\nFROM ${X}\n", 3],
  ["ARG A=ha256:f0\nFROM s$A\n", 2],
  ["FROM ${X:-f005}\n", 1],
  ["FROM a.b/c\nCOPY --from=f005 /a /b\n", 2],
  ['FROM a.b/c\nCOPY --chown=1:1 --from="f005" /a /b\n', 2],
  ["FROM a.b/c\nCOPY --fr\\\nom=f005 /a /b\n", 2],
  ["FROM a.b/c\nCOPY --from=83 /a /b\n", 2],
  [`FROM a.b/c\nCOPY ${" ".repeat(5000)} --from=f005 /a /b\n`, 2],
  ["FROM a.b/c\nONBUILD COPY --from=f005 /a /b\n", 2],
  ["FROM a.b/c\nRUN --mount=type=bind,from=f005,target=/x true\n", 2],
  ["FROM a.b/c\nRUN --mount=type=bind,FROM=f005,target=/x true\n", 2],
  // The image's name is unknown, so its triggers cannot be checked.
  ["FROM evil/${X%y}\n", 1],
  ["FROM evil/${X:-$Y}\n", 1],
  ["ARG TARGETARCH=x\nFROM evil/$TARGETARCH\n", 2],
  ["FROM a.b/c\nCOPY --from=evil/$X /a /b\n", 2],
  ["FROM --platform=linux/arm64 evil/x\n", 1],
  ["ARG P=linux/arm64\nFROM --platform=$P evil/x\n", 2],
  // Podman would read files of the machine.
  ["FROM oci-archive:/srv/image.tar\n", 1],
  ["FROM containers-storage:f005\n", 1],
  ["FROM docker://127.0.0.1:5000/x\n", 1],
  // The engine would download the source.
  ["FROM a.b/c\nADD http://127.0.0.1:8080/x /x\n", 2],
  ["FROM a.b/c\nadd --chown=1:1 HTTPS://169.254.169.254/ /x\n", 2],
  ['FROM a.b/c\nADD ["\\u0068ttp://127.0.0.1/", "/x"]\n', 2],
  ["FROM a.b/c\nENV U=http://127.0.0.1\nADD $U /x\n", 3],
  ["FROM a.b/c\nENV U=ttp://127.0.0.1\nADD h$U /x\n", 3],
  ["FROM a.b/c\nADD ht\\tp://127.0.0.1/ /x\n", 2],
  ["FROM a.b/c\nADD \\\n  http://127.0.0.1/ /x\n", 2],
  ["FROM a.b/c\nADD git@github.com:a/b.git /x\n", 2],
  // The frontend would run in the builder.
  ["# syntax=evil.example/frontend\nFROM a.b/c\n", 1],
  ["#!shebang\n#syntax = evil.example/frontend\nFROM a.b/c\n", 2],
  ["// syntax=evil.example/frontend\nFROM a.b/c\n", 1],
  ["# syntax=docker/dockerfile.evil.example/x\nFROM a.b/c\n", 1],
  ['{"syntax": "evil.example/frontend"}\n', 1],
])("refuses %j for line %i", (text, line) => expect(refusedLine(text)).toMatchObject({ line }));

test.each([
  "FROM node:24-bookworm-slim\nWORKDIR /app\nCOPY . .\n",
  "FROM scratch\n",
  "FROM node AS build\nFROM build\nCOPY --from=build /a /b\nCOPY --from=0 /a /b\n",
  "ARG BASE=node:24\nFROM $BASE\n",
  "ARG BASE=node:24 OTHER=x\nFROM ${BASE} AS one\n",
  "ARG V=24\nFROM node:${V}-slim\n",
  "FROM registry.example:5000/deed@sha256:00ff\n",
  "FROM [2001:db8::1]:5000/a/b__c.d-e:1@sha256:00ff\n",
  "FROM docker:24-dind\n",
  "# syntax=docker/dockerfile:1\nFROM node\n",
  "# syntax=docker.io/docker/dockerfile:1.7@sha256:00ff\nFROM node\n",
  "FROM node\n# syntax=late\nADD https.tar.gz /x\nADD a b /c/\nADD app-$V.tar.gz /x\n",
  "FROM node\nRUN curl --from=f005 || echo FROM f005\nRUN echo \\\n  FROM --from\n",
  "FROM node\nENV A=$B\nCOPY $A /b\n",
])("does not refuse %j", (text) => expect(refusedLine(text)).toBeUndefined());

test.each([
  ["FROM scratch\n", []],
  [
    "FROM Node:24\nCOPY --from=A.b/c:1 /a /b\nRUN --mount=type=bind,from=d/e,target=/x true\n",
    ["Node:24", "A.b/c:1", "d/e"],
  ],
  ["FROM one AS B\nFROM b\nCOPY --from=B /a /b\nCOPY --from=0 /a /b\nONBUILD COPY --from=two /a /b\n", ["one", "two"]],
  // A stage exists only after its line.
  ["FROM one\nCOPY --from=late /a /b\nFROM two AS late\n", ["one", "late", "two"]],
  ["ARG V=24\nARG BASE=node:$V\nFROM ${BASE}-slim\nARG BASE=other\nFROM $BASE\n", ["node:24-slim", "node:24"]],
  ["FROM ${A:-x/y}\nFROM x/${A-b}\nFROM y${A:+z}\n", ["x/y", "x/b", "y"]],
  ["ARG A=z\nFROM ${A:-x/y}\nFROM q/${A:+b}\n", ["z", "q/b"]],
  ["FROM --platform=$BUILDPLATFORM node-$TARGETARCH\n", ["node-amd64"]],
  ['RUN psql -c "SELECT * \\\n  FROM users"\nFROM node\n', ["node"]],
  ["# escape=`\nFROM `\nevil/x\n", ["evil/x"]],
  ["# escape=`\nRUN `\nFROM evil/x\nFROM one\n", ["evil/x", "one"]],
  ["RUN echo `date`\nFROM node\n", ["node"]],
])("returns the images of %j: %j", (text, names) =>
  expect(imagesOf(text)).toEqual(names.map((name) => [expect.any(Number), name])),
);

test("leaves platform variables empty for a builder that does not set them", () => {
  expect(imagesOf("FROM --platform=$BUILDPLATFORM node-$TARGETARCH\n", classic)).toEqual([[1, "node-"]]);
});

test("reads lines of a megabyte in bounded time", () => {
  for (const line of [`FROM ${"$a".repeat(100_000)}`, `COPY ${"--a ".repeat(50_000)}`, "ADD \\\n".repeat(20_000)]) {
    const startedAt = process.cpuUsage();
    refusedLine(`FROM node\n${line}\n`);
    expect(process.cpuUsage(startedAt).user / 1000).toBeLessThan(2000);
  }
});
