/** What a source is taken for, from the names at its top, and what a Procfile may say. */
import { describe, expect, test } from "vitest";
import { detectSource, webCommand } from "../../../../adapters/local/builder/detect.ts";

const words = (outcome: ReturnType<typeof detectSource> | ReturnType<typeof webCommand>): string =>
  "failure" in outcome ? outcome.failure.message : "";

describe("detection", () => {
  test.each([
    [["package.json", "server.js"], "node"],
    [["package.json", "requirements.txt", "Procfile"], "node"],
    [["requirements.txt", "Procfile"], "python"],
    [["pyproject.toml", "src"], "python"],
    [["main.py"], "python"],
    [["README.md", "app.py"], "python"],
    [["Procfile", "server"], "procfile"],
  ])("%j is %s", (names, kind) => {
    expect(detectSource(names, [])).toEqual({ kind });
  });

  test("a folder with a telling name says nothing", () => {
    expect(detectSource(["main.py"], ["package.json", "Dockerfile", "Procfile"])).toEqual({ kind: "python" });
  });

  test("nothing recognised lists what was looked for", () => {
    const outcome = detectSource(["index.html", "style.css"], []);
    expect(outcome).toMatchObject({ failure: { reason: "no_builder" } });
    for (const name of ["Dockerfile", "package.json", "requirements.txt", "pyproject.toml", "main.py", "Procfile"])
      expect(words(outcome)).toContain(name);
    expect(words(outcome)).not.toContain("pack from inside");
    expect(detectSource([], [])).toMatchObject({ failure: { reason: "no_builder" } });
  });

  test("an archive wrapped in one folder gets a hint", () => {
    expect(words(detectSource([], ["my-app"]))).toContain("inside the folder 'my-app'; pack from inside it");
    expect(words(detectSource(["file"], []))).not.toContain("pack from inside");
    expect(words(detectSource([], ["a", "b"]))).not.toContain("pack from inside");
  });
});

describe("a Procfile", () => {
  test.each([
    ["web: node server.js", "node server.js"],
    ["web:./server --port $PORT\n", "./server --port $PORT"],
    ["# starts it\n\nweb:   gunicorn app:app -b :$PORT  \r\n", "gunicorn app:app -b :$PORT"],
    ["web: sh -c 'a: b'", "sh -c 'a: b'"],
  ])("%j gives its command", (text, command) => {
    expect(webCommand(text)).toEqual({ command });
  });

  test("with two processes is refused, and says what to do with the other", () => {
    const outcome = webCommand("web: node server.js\nworker: node worker.js\n");
    expect(outcome).toMatchObject({ failure: { reason: "build_failed" } });
    expect(words(outcome)).toBe(
      "The Procfile has 2 processes; a deployment runs one. Keep 'web' and deploy 'worker' under another name.",
    );
    expect(words(webCommand("release: x\nweb: y\nclock: z"))).toContain("3 processes");
    expect(words(webCommand("web: one\nweb: two"))).toContain("2 processes");
  });

  test.each([
    ["without a web process", "worker: node worker.js", "no 'web' process"],
    ["that is empty", "\n# nothing\n", "no 'web' process"],
    ["with a line that is none", "web node server.js", "not 'NAME: COMMAND'"],
    ["with a name and no command", "web:\n", "not 'NAME: COMMAND'"],
  ])("%s is refused in words", (_what, text, part) => {
    expect(webCommand(text)).toMatchObject({ failure: { reason: "build_failed" } });
    expect(words(webCommand(text))).toContain(part);
  });
});
