/** Reads the files of a source archive that determine its build, within its limits. */
import { expect, test } from "vitest";
import { surveySource } from "../../../../adapters/shared/deploy/survey-source.ts";
import { sourceNames, sourceTextBytes, textBytesOf } from "../../../../core/domain/deploy/source/files.ts";
import { sourceFrom } from "../../../clouds/builds.ts";
import { type Entry, sourceOf, tarGz } from "../../../support/archives/archives.ts";

const survey = (bytes: Uint8Array) => surveySource(sourceFrom(bytes), new AbortController().signal);
const filesIn = async (bytes: Uint8Array) => {
  const found = await survey(bytes);
  if (found.kind !== "files") throw new Error("a Dockerfile was seen");
  return found.files;
};

test.each(["Dockerfile", "./Dockerfile"])("finds %s at the top level", async (path) => {
  expect(await survey(sourceOf({ "a/b.txt": "x", [path]: "FROM scratch\n" }))).toEqual({ kind: "dockerfile" });
});

test("finds names at the top level, Python files below, and the relevant texts", async () => {
  const files = await filesIn(
    tarGz([
      { path: "./", type: "Directory" },
      { path: "./docs/", type: "Directory" },
      { path: "./docs/Dockerfile", content: "FROM scratch" },
      { path: "./requirements.txt", content: "flask grüß" },
      { path: "./requirements/base.txt", content: "x" },
      { path: "./README.md", content: "not read" },
      { path: "./src/shop/main.py", content: "app" },
      { path: "./a/b/c.py", content: "too deep" },
      { path: "./site/mysite/wsgi.py", content: "w" },
      { path: "./index.html", content: "<p>" },
    ]),
  );
  expect([...files.paths].sort()).toEqual(
    [
      "README.md",
      "index.html",
      "requirements.txt",
      "requirements/base.txt",
      "site/mysite/wsgi.py",
      "src/shop/main.py",
    ].sort(),
  );
  expect(Object.fromEntries(files.texts)).toEqual({
    "requirements.txt": "flask grüß",
    "requirements/base.txt": "x",
    "src/shop/main.py": "app",
    "site/mysite/wsgi.py": "w",
  });
  expect([...files.folders].sort()).toEqual(["a", "docs", "requirements", "site", "src", "src/shop"]);
});

test("omits a text over its limit, and reads the beginning of a Python file and of a Node lock file", async () => {
  const over = (path: string) => "x".repeat(textBytesOf(path) + 1);
  const paths = ["Procfile", "uv.lock", "main.py", "pnpm-lock.yaml", "yarn.lock"];
  const files = await filesIn(sourceOf(Object.fromEntries(paths.map((path) => [path, over(path)]))));
  expect([...files.paths]).toEqual(paths);
  expect([...files.texts.keys()]).toEqual(["main.py", "pnpm-lock.yaml", "yarn.lock"]);
  for (const [path, text] of files.texts) expect(text).toHaveLength(textBytesOf(path));
  const whole = await filesIn(sourceOf({ Procfile: over("Procfile").slice(1) }));
  expect(whole.texts.get("Procfile")).toHaveLength(textBytesOf("Procfile"));
});

test("limits the numbers of names and bytes", async () => {
  const big = "x".repeat(textBytesOf("a.py"));
  const entries: Entry[] = [
    ...Array.from({ length: 100 }, (_, at) => ({ path: `big${at}.py`, content: big })),
    ...Array.from({ length: sourceNames + 10 }, (_, at) => ({ path: `names/name${at}.py` })),
    ...Array.from({ length: sourceNames + 10 }, (_, at) => ({ path: `folder${at}/x/y/z` })),
  ];
  const { paths, folders, texts } = await filesIn(tarGz(entries));
  expect(paths.size).toBe(100 + sourceNames);
  expect(folders.size).toBe(sourceNames);
  expect([...texts.values()].reduce((sum, text) => sum + text.length, 0)).toBe(sourceTextBytes.python);
});

test("finds a name at the top level after any number of others", async () => {
  const others = Object.fromEntries(Array.from({ length: sourceNames + 10 }, (_, at) => [`page${at}.html`, ""]));
  const files = await filesIn(sourceOf({ ...others, "package.json": "{}" }));
  expect(files.texts.get("package.json")).toBe("{}");
  expect(await survey(sourceOf({ ...others, Dockerfile: "FROM scratch" }))).toEqual({ kind: "dockerfile" });
});
