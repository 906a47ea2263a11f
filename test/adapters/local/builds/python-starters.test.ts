/** Unmodified starter projects from the frameworks' documentation, with packages from the real index. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sourceOf } from "../../../support/archives/archives.ts";
import { runners, startLocal, type TestPlatform } from "../../../support/providers/local-platform.ts";
import { needs } from "../../../support/vitest/machine.ts";
import { sampled } from "../../../support/vitest/sampled.ts";

const starter = (name: string): Record<string, string> => {
  const folder = join(import.meta.dirname, "..", "..", "..", "fixtures", "python-starters", name);
  return Object.fromEntries(
    globSync("**/*.py", { cwd: folder }).map((path) => [path, readFileSync(join(folder, path), "utf8")]),
  );
};

let platform: TestPlatform;
beforeAll(async () => {
  // The first runner isolates services if any runner does, so the source's folder is read-only.
  platform = await startLocal({ runner: runners[0] as (typeof runners)[number] });
});
afterAll(() => platform[Symbol.asyncDispose]());

const pyproject = (dependencies: string) =>
  `[project]\nname = "shop"\nversion = "0.1.0"\ndependencies = [${dependencies}]\n`;

const uvLock = `version = 1
requires-python = ">=3.9"

[[package]]
name = "gunicorn"
version = "23.0.0"
source = { registry = "https://pypi.org/simple" }

[[package]]
name = "flask"
version = "3.1.0"
source = { registry = "https://pypi.org/simple" }

[[package]]
name = "shop"
version = "0.1.0"
source = { virtual = "." }
`;

type Starter = readonly [
  what: string,
  name: string,
  more: Readonly<Record<string, string>>,
  answer: string,
  warning?: string,
];

const starters: readonly Starter[] = [
  ["Flask", "flask", { "requirements.txt": "Flask\ngunicorn\n" }, "<p>Hello, World!</p>"],
  ["Flask alone", "flask", { "requirements.txt": "Flask\n" }, "<p>Hello, World!</p>", "Flask's development server"],
  [
    "Flask with uv.lock",
    "flask",
    { "pyproject.toml": pyproject('"flask", "gunicorn"'), "uv.lock": uvLock },
    "<p>Hello, World!</p>",
  ],
  ["FastAPI", "fastapi", { "requirements.txt": "fastapi[standard]\n" }, '{"message":"Hello World"}'],
  ["Starlette", "starlette", { "requirements.txt": "starlette\nuvicorn\n" }, '{"hello":"world"}'],
  [
    "Django",
    "django",
    { "requirements.txt": "django\ngunicorn\n" },
    "The install worked successfully! Congratulations!",
  ],
  [
    "Django with ASGI",
    "django",
    { "requirements.txt": "django\nuvicorn\n" },
    "The install worked successfully! Congratulations!",
  ],
  [
    "Django alone",
    "django",
    { "requirements.txt": "django\n" },
    "The install worked successfully! Congratulations!",
    "Django's development server",
  ],
];

test.for(sampled(starters, 3))("%s", async ([, name, more, answer, warning], context) => {
  needs(context, "python", "python index");
  const records = await platform.deploy(sourceOf({ ...starter(name), ...more }));
  const messages = records.map(({ message }) => message);
  expect(records.at(-1), messages.join("\n")).toMatchObject({ status: "DONE" });
  expect(await (await fetch(records.at(-1)?.url as string)).text()).toContain(answer);
  expect(messages.filter((message) => message.includes("development server"))).toHaveLength(
    warning === undefined ? 0 : 1,
  );
  if (warning !== undefined) expect(messages.join("\n")).toContain(warning);
  if (more["uv.lock"] !== undefined)
    expect(messages.join("\n")).toMatch(/Successfully installed .*flask-3\.1\.0 gunicorn-23\.0\.0/i);
});
