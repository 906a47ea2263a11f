/** The format of a Procfile. */
import { describe, expect, test } from "vitest";
import { webCommand } from "../../../../../core/domain/deploy/source/procfile.ts";

const words = (outcome: ReturnType<typeof webCommand>): string => ("failure" in outcome ? outcome.failure.message : "");

describe("a Procfile", () => {
  test.each([
    ["web: node server.js", "node server.js"],
    ["web:./server --port $PORT\n", "./server --port $PORT"],
    ["# starts it\n\nweb:   gunicorn app:app -b :$PORT  \r\n", "gunicorn app:app -b :$PORT"],
    ["web: sh -c 'a: b'", "sh -c 'a: b'"],
  ])("%j gives its command", (text, command) => {
    expect(webCommand(text)).toEqual({ command });
  });

  test("with two processes is rejected with a hint about the other one", () => {
    const outcome = webCommand("web: node server.js\nworker: node worker.js\n");
    expect(outcome).toMatchObject({ failure: { reason: "build_failed" } });
    expect(words(outcome)).toBe(
      "The Procfile has 2 processes; a deployment runs one. Keep 'web', and deploy 'worker' separately.",
    );
    expect(words(webCommand("release: x\nweb: y\nclock: z"))).toContain("3 processes");
    expect(words(webCommand("web: one\nweb: two"))).toContain("2 processes");
  });

  test.each([
    ["without a web process", "worker: node worker.js", "no 'web' process"],
    ["empty", "\n# nothing\n", "no 'web' process"],
    ["with an invalid line", "web node server.js", "not 'NAME: COMMAND'"],
    ["with a name and no command", "web:\n", "not 'NAME: COMMAND'"],
  ])("%s is rejected with a message", (_what, text, part) => {
    expect(webCommand(text)).toMatchObject({ failure: { reason: "build_failed" } });
    expect(words(webCommand(text))).toContain(part);
  });

  test("with a million spaces inside its command is read", () => {
    expect(webCommand(`web: a${" ".repeat(1_000_000)}b`)).toMatchObject({ command: expect.stringMatching(/^a .*b$/) });
  });
});
