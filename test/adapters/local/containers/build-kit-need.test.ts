/** Detects Dockerfile lines that need BuildKit, in bounded time. */
import { describe, expect, test } from "vitest";
import { buildKitNeed } from "../../../../adapters/local/containers/build/build-kit-need.ts";
import { BuildOutput } from "../../../../adapters/local/containers/build/build-output.ts";

describe("BuildKit is needed by", () => {
  test.each([
    ["# syntax=docker/dockerfile:1\nFROM a\n", 1],
    ["# escape=`\n# syntax = docker/dockerfile:1\nFROM a\n", 2],
    ["FROM a\nRUN --mount=type=cache,target=/x true\n", 2],
    ["FROM a\nRUN --network=none true\n", 2],
    ["FROM a\nCOPY --link a b\n", 2],
    ["FROM a\nRUN <<EOF\necho\nEOF\n", 2],
    ["FROM a\nCOPY <<-'EOF' /x\ny\nEOF\n", 2],
    ["FROM a\nRUN cat <<EOF > /x\ny\nEOF\n", 2],
  ])("%j, line %i", (text, line) => expect(buildKitNeed(text)?.line).toBe(line));

  test.each([
    "FROM a\nRUN echo --mount=1\n",
    "FROM a\n# syntax=late\n",
    "FROM a\n# RUN --mount=1\n",
    "FROM a\nRUN test $((1<<3)) -gt 1\n",
    "FROM a\nCOPY --from=build --chown=1:1 a b\n",
    "FROM a\nENV X=<<EOF\n",
  ])("not %j", (text) => expect(buildKitNeed(text)).toBeUndefined());
});

/** CPU time of this process in milliseconds, which other processes do not affect. */
const worked = (work: () => void): number => {
  const startedAt = process.cpuUsage();
  work();
  const { user } = process.cpuUsage(startedAt);
  return user / 1000;
};

test("reads lines of a megabyte in bounded time", () => {
  const spaces = " ".repeat(1024 ** 2);
  for (const line of [`RUN${spaces}x`, `RUN x${"<< ".repeat(300_000)}`, `COPY ${"--a ".repeat(250_000)}`])
    expect(worked(() => buildKitNeed(`FROM a\n${line}\n`))).toBeLessThan(1000);
});

const failureOf = (message: string, code?: number) => {
  const output = new BuildOutput(() => undefined);
  void output.take({ stream: "Step 2/2 : RUN something\n" });
  void output.take({ errorDetail: { message, ...(code === undefined ? {} : { code }) } });
  return output.end();
};

describe("a failure", () => {
  test("reports a failed command, whatever its name", () => {
    expect(failureOf("The command 'openssl req -x509' returned a non-zero code: 127", 127)).toMatchObject({
      message: "'RUN something' ended with exit code 127.",
      exitCode: 127,
    });
  });

  test("explains a missing base image", () => {
    expect(failureOf("Get https://registry: dial tcp: lookup registry: no such host")?.message).toContain("base image");
    expect(failureOf("manifest for a:1 not found: manifest unknown")?.message).toContain("base image");
  });

  test("reads a message of a megabyte in bounded time", () => {
    for (const piece of ["manifest ", "lookup "])
      expect(worked(() => failureOf(piece.repeat(100_000)))).toBeLessThan(1000);
  });
});
