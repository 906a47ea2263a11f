/** The command that starts a source, on every provider, or the message if there is none. */
import { describe, expect, test } from "vitest";
import { planSource } from "../../../../../core/domain/deploy/source/plan.ts";
import { filesOf } from "./files.ts";

type Texts = Readonly<Record<string, string>>;

const planOf = (texts: Texts, folders: readonly string[] = []) => {
  const planned = planSource(filesOf(texts, folders));
  if ("failure" in planned) throw new Error(planned.failure.message);
  return planned.plan;
};
const commandOf = (texts: Texts, folders: readonly string[] = []): string => {
  const plan = planOf(texts, folders);
  return "command" in plan ? plan.command : plan.kind;
};
const failureOf = (texts: Texts, folders: readonly string[] = []) => {
  const planned = planSource(filesOf(texts, folders));
  return "failure" in planned ? planned.failure : { reason: "none", message: "" };
};
const warningsOf = (texts: Texts) => planOf(texts).warnings.join("\n");

const FLASK = "from flask import Flask\n\napp = Flask(__name__)\n";
const FASTAPI = "from fastapi import FastAPI\n\napp = FastAPI()\n";
const STARLETTE = "from starlette.applications import Starlette\napp = Starlette(debug=True, routes=[\n])\n";
const MANAGE = `def main():\n    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mysite.settings")\n`;
const DJANGO = { "manage.py": MANAGE, "mysite/wsgi.py": "", "mysite/asgi.py": "" };

describe("the kind of a source", () => {
  test.each([
    [["package.json", "server.js"], "node"],
    [["package.json", "requirements.txt", "Procfile"], "node"],
    [["package.json", "requirements.txt", "main.py"], "python"],
    [["package.json", "index.html"], "static"],
    [["requirements.txt", "Procfile"], "python"],
    [["pyproject.toml", "main.py"], "python"],
    [["main.py"], "python"],
    [["README.md", "app.py"], "python"],
    [["main.py", "index.html"], "python"],
    [["Procfile", "server"], "procfile"],
    [["Procfile", "index.html"], "procfile"],
    [["index.html", "style.css"], "static"],
  ])("%j is %s", (names, kind) => {
    const texts = { "package.json": "{}", Procfile: "web: x" } as Texts;
    expect(planOf(Object.fromEntries(names.map((name) => [name, texts[name] ?? ""]))).kind).toBe(kind);
  });

  test("ignores folders whose names look like marker files", () => {
    expect(planOf({ "main.py": "" }, ["package.json", "Dockerfile", "Procfile"]).kind).toBe("python");
  });

  test("an unrecognized source lists the expected files and a fix", () => {
    const { reason, message } = failureOf({ "README.md": "" });
    expect(reason).toBe("no_builder");
    for (const name of ["Dockerfile", "package.json", "pyproject.toml", "main.py", "index.html", "'web: COMMAND'"])
      expect(message).toContain(name);
    expect(message).not.toContain("pack the contents");
    expect(planSource(filesOf({}))).toMatchObject({ isUnknown: true });
  });

  test("hints at an archive that is wrapped in one folder", () => {
    expect(failureOf({}, ["my-app"]).message).toContain("in the folder 'my-app'; pack the contents of that folder");
    expect(failureOf({ file: "" }, ["my-app"]).message).not.toContain("pack the contents");
    expect(failureOf({}, ["a", "b"]).message).not.toContain("pack the contents");
  });
});

describe("starts a Python application with the server in its requirements", () => {
  test.each<readonly [string, Texts, string]>([
    [
      "Flask",
      { "app.py": FLASK, "requirements.txt": "Flask\ngunicorn==23\n" },
      "exec gunicorn --bind 0.0.0.0:$PORT --threads 8 app:app",
    ],
    [
      "Flask with waitress",
      { "app.py": FLASK, "requirements.txt": "flask\nwaitress" },
      "exec waitress-serve --listen=0.0.0.0:$PORT app:app",
    ],
    [
      "FastAPI",
      { "main.py": FASTAPI, "requirements.txt": "fastapi\nuvicorn[standard]>=0.30" },
      "exec uvicorn --host 0.0.0.0 --port $PORT main:app",
    ],
    [
      "fastapi[standard]",
      { "main.py": FASTAPI, "requirements.txt": "fastapi[standard]" },
      "exec uvicorn --host 0.0.0.0 --port $PORT main:app",
    ],
    [
      "Starlette with hypercorn",
      { "app.py": STARLETTE, "requirements.txt": "starlette\nHypercorn" },
      "exec hypercorn --bind 0.0.0.0:$PORT app:app",
    ],
    [
      "FastAPI with two servers",
      { "main.py": FASTAPI, "requirements.txt": "fastapi\ngunicorn\nuvicorn" },
      "exec uvicorn --host 0.0.0.0 --port $PORT main:app",
    ],
    [
      "an included requirements file",
      { "app.py": FLASK, "requirements.txt": "-r requirements/base.txt", "requirements/base.txt": "flask\ngunicorn" },
      "exec gunicorn --bind 0.0.0.0:$PORT --threads 8 app:app",
    ],
    [
      "gunicorn's own settings",
      { "app.py": FLASK, "requirements.txt": "gunicorn", "gunicorn.conf.py": "" },
      "exec gunicorn --bind 0.0.0.0:$PORT app:app",
    ],
    [
      "another variable",
      { "main.py": "api: FastAPI = fastapi.FastAPI(title='x')", "requirements.txt": "uvicorn" },
      "exec uvicorn --host 0.0.0.0 --port $PORT main:api",
    ],
    [
      "another file",
      { "hello.py": FLASK, "requirements.txt": "flask\ngunicorn" },
      "exec gunicorn --bind 0.0.0.0:$PORT --threads 8 hello:app",
    ],
    [
      "a package",
      { "app/__init__.py": "", "app/main.py": FASTAPI, "requirements.txt": "uvicorn" },
      "exec uvicorn --host 0.0.0.0 --port $PORT app.main:app",
    ],
    [
      "the src layout",
      { "src/shop/main.py": FASTAPI, "requirements.txt": "uvicorn" },
      "exec env PYTHONPATH=src uvicorn --host 0.0.0.0 --port $PORT shop.main:app",
    ],
    [
      "a factory",
      {
        "flaskr/__init__.py":
          "from flask import Flask\n\ndef create_app(test_config=None):\n    app = Flask(__name__)\n",
        "requirements.txt": "flask\ngunicorn",
      },
      "exec gunicorn --bind 0.0.0.0:$PORT --threads 8 'flaskr:create_app()'",
    ],
    [
      "a factory for waitress",
      { "main.py": "def create_app():\n    return Flask()\n", "requirements.txt": "waitress" },
      "exec waitress-serve --listen=0.0.0.0:$PORT --call main:create_app",
    ],
    [
      "a factory for uvicorn",
      { "main.py": "def create_app():\n    return FastAPI()\n", "requirements.txt": "uvicorn" },
      "exec uvicorn --host 0.0.0.0 --port $PORT --factory main:create_app",
    ],
    [
      "the call of a factory",
      {
        "app/__init__.py": "def create_app(config):\n    app = Flask(__name__)\n",
        "wsgi.py": "application = create_app(1)\n",
        "requirements.txt": "gunicorn",
      },
      "exec gunicorn --bind 0.0.0.0:$PORT --threads 8 wsgi:application",
    ],
    [
      "Django",
      { ...DJANGO, "requirements.txt": "Django\ngunicorn" },
      "exec gunicorn --bind 0.0.0.0:$PORT --threads 8 mysite.wsgi:application",
    ],
    [
      "Django by ASGI",
      { ...DJANGO, "requirements.txt": "Django\nuvicorn" },
      "exec uvicorn --host 0.0.0.0 --port $PORT mysite.asgi:application",
    ],
    [
      "Django in a folder",
      { "site/manage.py": MANAGE, "site/mysite/wsgi.py": "", "requirements.txt": "Django\ngunicorn" },
      "cd site && exec gunicorn --bind 0.0.0.0:$PORT --threads 8 mysite.wsgi:application",
    ],
    [
      "a program on PORT",
      {
        "main.py": `${FASTAPI}if __name__ == "__main__":\n    uvicorn.run(app, port=int(os.environ["PORT"]))`,
        "requirements.txt": "fastapi\nmy-server",
      },
      "exec python3 -u main.py",
    ],
    ["no framework", { "main.py": "print(1)", "requirements.txt": "" }, "exec python3 -u main.py"],
    ["a Procfile has priority", { "app.py": FLASK, Procfile: "web: ./x" }, "./x"],
  ])("%s", (_what, texts, command) => {
    expect(commandOf(texts)).toBe(command);
    expect(warningsOf(texts)).toBe("");
  });

  test("otherwise uses the framework's development server, with a warning", () => {
    const flask = { "app.py": FLASK, "requirements.txt": "flask" };
    expect(commandOf(flask)).toBe("exec flask --app app:app run --host 0.0.0.0 --port $PORT");
    expect(warningsOf(flask)).toMatch(/^warning: .*Flask's development server.*add 'gunicorn'/);
    const django = { ...DJANGO, "requirements.txt": "django" };
    expect(commandOf(django)).toContain('"runserver"');
    expect(warningsOf(django)).toMatch(/Django's development server/);
  });

  test("text in a string or in a test file defines no application", () => {
    const doc = `"""\napp = Flask(__name__)\n"""\nprint("x")\n`;
    expect(commandOf({ "main.py": doc, "tests/app.py": FLASK, "requirements.txt": "" })).toBe(
      "exec python3 -u main.py",
    );
  });
});

describe("a Python source without a start command explains what to write", () => {
  test.each<readonly [string, Texts, RegExp]>([
    [
      "Django without requirements",
      DJANGO,
      /manage\.py uses Django.*Add requirements\.txt with the lines 'django' and 'gunicorn'/,
    ],
    ["Flask without requirements", { "app.py": FLASK }, /app\.py uses Flask.*lines 'flask' and 'gunicorn'/],
    ["FastAPI without requirements", { "main.py": FASTAPI }, /lines 'fastapi' and 'uvicorn'/],
    [
      "FastAPI without a server",
      { "main.py": FASTAPI, "requirements.txt": "fastapi" },
      /Add 'uvicorn' to requirements\.txt, or .*Procfile: 'web: COMMAND'/,
    ],
    [
      "FastAPI without a server in pyproject.toml",
      { "main.py": FASTAPI, "pyproject.toml": '[project]\ndependencies = ["fastapi"]' },
      /Add 'uvicorn' to the dependencies in pyproject\.toml, or/,
    ],
    ["no start command", { "lib.py": "", "requirements.txt": "" }, /Add main\.py, or a Procfile with 'web: COMMAND'/],
    [
      "Flask without an application",
      { "lib.py": "", "requirements.txt": "flask" },
      /no file creates a Flask application.*'web: gunicorn --bind 0\.0\.0\.0:\$PORT MODULE:app'/,
    ],
    [
      "FastAPI without an application",
      { "lib.py": "", "requirements.txt": "fastapi" },
      /'web: uvicorn --host 0\.0\.0\.0 --port \$PORT MODULE:app'/,
    ],
    [
      "a broken pyproject.toml",
      { "main.py": "", "pyproject.toml": "[project]\nname = " },
      /pyproject\.toml is not valid TOML\. Correct line 2\./,
    ],
    [
      "Poetry without its lock file",
      { "main.py": "", "pyproject.toml": '[tool.poetry.dependencies]\nflask = "^3"' },
      /poetry\.lock is missing\. Run 'poetry lock'/,
    ],
  ])("%s", (_what, texts, words) => expect(failureOf(texts).message).toMatch(words));
});

const installOf = (texts: Texts, folders: readonly string[] = []) => {
  const plan = planOf({ "main.py": "", ...texts }, folders);
  return plan.kind === "python" ? plan.install : undefined;
};

const PYPROJECT = '[project]\nname = "shop"\ndependencies = ["flask>=3", "gunicorn"]\n';
const BUILDS = '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n';

describe("installs", () => {
  test("requirements.txt before pyproject.toml", () => {
    expect(installOf({ "requirements.txt": "x", "pyproject.toml": PYPROJECT })).toMatchObject({
      file: "requirements.txt",
    });
    expect(installOf({})).toBeUndefined();
  });

  test("the dependencies of a project, and the project itself if it is a package", () => {
    expect(installOf({ "pyproject.toml": PYPROJECT })).toEqual({
      file: "pyproject.toml",
      project: false,
      requirements: ["flask>=3", "gunicorn"],
      constraints: [],
    });
    expect(installOf({ "pyproject.toml": PYPROJECT + BUILDS })).toMatchObject({ project: true, requirements: [] });
  });

  test("the versions of uv.lock, without the project and without duplicates", () => {
    const lock = `version = 1
[[package]]
name = "flask"
version = "3.1.0"
source = { registry = "https://pypi.org/simple" }
dependencies = [ { name = "click" } ]
[[package]]
name = "numpy"
version = "1.0"
source = { registry = "https://pypi.org/simple" }
[[package]]
name = "numpy"
version = "2.0"
source = { registry = "https://pypi.org/simple" }
[[package]]
name = "forked"
version = "1"
source = { git = "https://example.com/forked?rev=main#0123abc" }
[[package]]
name = "shop"
version = "0.1.0"
source = { virtual = "." }
`;
    const install = installOf({ "pyproject.toml": PYPROJECT, "uv.lock": lock });
    expect(install).toMatchObject({ file: "uv.lock", project: false });
    expect(install?.constraints).toEqual(["flask==3.1.0", "forked @ git+https://example.com/forked@0123abc"]);
    const folder = lock.replace('virtual = "."', 'editable = "libs/shop"');
    expect(failureOf({ "main.py": "", "pyproject.toml": PYPROJECT, "uv.lock": folder }).message).toMatch(
      /installs 'shop' from a folder.*Create requirements\.txt with 'uv export/,
    );
  });

  test.each([
    ["of uv", '{ git = "https://example.com/own" }', "git+https://example.com/own@HEAD"],
    ["of uv", '{ url = "https://example.com/own.whl" }', "https://example.com/own.whl"],
    ["of Poetry", '{ type = "url", url = "https://example.com/own.whl" }', "https://example.com/own.whl"],
    // Poetry before 1.1 locks the commit as the reference: https://github.com/python-poetry/poetry/issues/2325
    [
      "of Poetry",
      '{ type = "git", url = "https://example.com/own", reference = "abc" }',
      "git+https://example.com/own@abc",
    ],
    [
      "of Poetry",
      '{ type = "git", url = "https://example.com/own", reference = "main", resolved_reference = "abc" }',
      "git+https://example.com/own@abc",
    ],
  ])("the locked source %s %s", (_tool, source, address) => {
    const lock = `[[package]]\nname = "own"\nversion = "1"\nsource = ${source}\n`;
    const install = installOf({ "pyproject.toml": PYPROJECT, "uv.lock": lock });
    expect(install?.constraints).toEqual([`own @ ${address}`]);
  });

  test("ignores locked packages without a name", () => {
    const constraintsOf = (lock: string) => installOf({ "pyproject.toml": PYPROJECT, "uv.lock": lock })?.constraints;
    expect(constraintsOf('[[package]]\nversion = "1"\n[[package]]\nname = "a"\nversion = "2"')).toEqual(["a==2"]);
    expect(constraintsOf('package = ["a"]')).toEqual([]);
  });

  test("a Poetry dependency with its markers", () => {
    const poetry = `[tool.poetry.dependencies]\ntomli = {version = "^2", markers = "python_version < '3.11'"}\n`;
    const lock = '[[package]]\nname = "tomli"\nversion = "2.2.1"\n';
    expect(installOf({ "pyproject.toml": poetry, "poetry.lock": lock })).toMatchObject({
      requirements: ["tomli ; python_version < '3.11'"],
      constraints: ["tomli==2.2.1"],
    });
  });

  test("a Poetry project only if it is a package", () => {
    const projectOf = (poetry: string) =>
      installOf(
        {
          "pyproject.toml": `[tool.poetry]\n${poetry}\n[build-system]\nbuild-backend = "poetry.core.masonry.api"\n`,
        },
        ["shop"],
      )?.project;
    expect(projectOf('name = "shop"')).toBe(true);
    expect(projectOf('name = "shop"\npackage-mode = false')).toBe(false);
    expect(projectOf("")).toBe(false);
  });

  test("Poetry's dependencies in the versions of poetry.lock", () => {
    const poetry = `[tool.poetry]\nname = "shop"\n[tool.poetry.dependencies]\npython = "^3.11"\nflask = {version = "^3", extras = ["async"]}\ngunicorn = "*"\nextra = {version = "1", optional = true}\n[build-system]\nbuild-backend = "poetry.core.masonry.api"\n`;
    const lock =
      '[[package]]\nname = "flask"\nversion = "3.1.0"\n[[package]]\nname = "own"\nversion = "1"\n[package.source]\ntype = "git"\nurl = "https://example.com/own"\nresolved_reference = "abc"\n';
    expect(installOf({ "pyproject.toml": poetry, "poetry.lock": lock })).toEqual({
      file: "poetry.lock",
      project: false,
      requirements: ["flask[async]", "gunicorn"],
      constraints: ["flask==3.1.0", "own @ git+https://example.com/own@abc"],
    });
    expect(installOf({ "pyproject.toml": poetry, "poetry.lock": lock }, ["shop"])).toMatchObject({ project: true });
  });

  test("starts a package with its script, if the script has a known name or is the only one", () => {
    const scripts = (names: string) => ({
      "pyproject.toml": `${PYPROJECT}[project.scripts]\n${names}\n${BUILDS}`,
      "lib.py": FLASK,
    });
    expect(commandOf(scripts('tool = "a:b"\nstart = "a:c"'))).toBe("exec start");
    expect(commandOf(scripts('shop = "a:b"'))).toMatch(/gunicorn/);
    expect(commandOf({ "pyproject.toml": scripts('shop = "a:b"')["pyproject.toml"] })).toBe("exec shop");
    expect(commandOf({ "pyproject.toml": `${PYPROJECT}[project.scripts]\nstart = "a:b"`, "main.py": "" })).toBe(
      "exec python3 -u main.py",
    );
  });
});

describe("a Node source", () => {
  const node = (manifest: object, texts: Texts = {}) => ({ "package.json": JSON.stringify(manifest), ...texts });
  const start = { scripts: { start: "node ." } };

  test.each<readonly [string, Texts, string]>([
    ["a script", node(start), "node ."],
    ["main", node({ main: "it's.js" }), "exec node 'it'\\''s.js'"],
    ["server.js", node({}, { "server.js": "" }), "exec node 'server.js'"],
    ["a Procfile has priority", node(start, { Procfile: "web: x" }), "x"],
  ])("starts with %s", (_what, texts, command) => expect(commandOf(texts)).toBe(command));

  test.each<readonly [string, Texts, RegExp]>([
    ["workspaces", node({ workspaces: ["packages/*"] }), /has workspaces.*"start": "npm start --workspace NAME"/],
    ["pnpm's workspaces", node({}, { "pnpm-workspace.yaml": "" }), /has workspaces/],
    [
      "a build script without a start script",
      node({ scripts: { build: "vite build" } }, { "index.html": "" }),
      /no script that serves the built folder.*static site/,
    ],
    ["neither a script nor a known file", node({}), /neither a start script.*'web: COMMAND'/],
    ["an invalid package.json", { "package.json": "{ name: }" }, /not valid JSON/],
    ["a package.json that is not an object", { "package.json": "[1]" }, /not a valid package manifest/],
  ])("fails with an explanation for %s", (_what, texts, words) => {
    expect(failureOf(texts)).toMatchObject({ reason: "build_failed", message: expect.stringMatching(words) });
  });

  test.each<readonly [string, string, object, string | undefined]>([
    ["package-lock.json", "{}", {}, undefined],
    ["pnpm-lock.yaml", "lockfileVersion: '9.0'\n", {}, "pnpm@10"],
    ["pnpm-lock.yaml", "lockfileVersion: '6.0'\n", {}, "pnpm@8"],
    ["pnpm-lock.yaml", "lockfileVersion: 5.4\n", {}, "pnpm@7"],
    ["pnpm-lock.yaml", "lockfileVersion: '9.0'\n", { packageManager: "pnpm@9.1.2+sha512.abc" }, "pnpm@9.1.2"],
    ["yarn.lock", "# THIS IS AN AUTOGENERATED FILE.\n# yarn lockfile v1\n", {}, "yarn@1"],
    ["yarn.lock", "__metadata:\n  version: 8\n", {}, "@yarnpkg/cli-dist@4"],
    ["yarn.lock", "__metadata:\n", { packageManager: "yarn@4.5.0" }, "@yarnpkg/cli-dist@4.5.0"],
    ["yarn.lock", "# yarn lockfile v1\n", { packageManager: "yarn@1.22.22" }, "yarn@1.22.22"],
    ["yarn.lock", "# yarn lockfile v1\n", { packageManager: "yarn@1; rm -rf /" }, "yarn@1"],
  ])("%s with the text %j and the manifest fields %j selects its package manager", (lock, text, more, manager) => {
    const plan = planOf(node({ ...start, ...more }, { [lock]: text }));
    expect(plan).toMatchObject({ lock, manager, warnings: [] });
  });

  test("warns about packages without a lock file, and about an unsupported lock file", () => {
    const needs = { ...start, dependencies: { express: "5" } };
    expect(warningsOf(node(needs))).toMatch(/no package-lock\.json/);
    expect(warningsOf(node(needs, { "bun.lock": "" }))).toMatch(/bun\.lock is not supported/);
    expect(warningsOf(node(start))).toBe("");
  });

  test("imports only dependencies that are not part of the source", () => {
    const remote = { a: "~1.2.0", b: "npm:c@1", "@d/e": "github:d/e", f: "https://example.com/f.tgz", g: "" };
    const local = { h: "file:./h", i: "../i", j: "~/j", k: "/k", l: "link:l", m: "workspace:*", n: "portal:n" };
    const dependencies = { ...remote, ...local };
    expect(planOf(node({ ...start, dependencies }))).toMatchObject({ packages: Object.keys(remote) });
    expect(planOf(node({ ...start, dependencies, workspaces: ["h"] }))).toMatchObject({ packages: [] });
    expect(planOf(node({ ...start, dependencies }, { "pnpm-workspace.yaml": "" }))).toMatchObject({ packages: [] });
    expect(planOf(node({ ...start, devDependencies: remote }))).toMatchObject({ packages: [] });
  });

  test("installs development dependencies only for build scripts", () => {
    const tools = { ...start, devDependencies: { typescript: "6" } };
    expect(planOf(node(tools))).toMatchObject({ installs: false, buildScripts: [] });
    expect(planOf(node({ ...tools, scripts: { ...start.scripts, build: "tsc" } }))).toMatchObject({
      installs: true,
      buildScripts: ["build"],
    });
  });
});

// Each of these would take minutes or hours with rules that rescan the text from every match.
test.each<readonly [string, Texts]>([
  ["quotes in Python", { "main.py": '"'.repeat(1_000_001) }],
  ["quotes of two kinds", { "main.py": `"""${"'''".repeat(300_000)}` }],
  ["lines that are almost assignments", { "main.py": `${"a".repeat(1_000_000)}\n${"app = a.".repeat(100_000)}` }],
  [
    "one extra repeated",
    { "main.py": "", "requirements.txt": Array.from({ length: 150_000 }, (_, at) => `a[b${at}]`).join("\n") },
  ],
  [
    "one package locked many times",
    { "main.py": "", "pyproject.toml": "", "uv.lock": '[[package]]\nname = "a"\nversion = "1"\n'.repeat(80_000) },
  ],
  [
    "a chain of files that include each other",
    Object.fromEntries([
      ["main.py", ""],
      ["requirements.txt", "-r requirements0.txt"],
      ...Array.from({ length: 49_000 }, (_, at) => [`requirements${at}.txt`, `a\n-r requirements${at + 1}.txt`]),
    ]),
  ],
  [
    "many application factories and many assignments",
    Object.fromEntries([
      ["requirements.txt", "flask"],
      ...Array.from({ length: 16 }, (_, at) => [`a${at}.py`, "a=b()\n".repeat(10_000)]),
      ...Array.from({ length: 20_000 }, (_, at) => [`f${at}.py`, "def make_app(x):\n Flask()"]),
    ]),
  ],
  ["settings without an end", { "manage.py": `DJANGO_SETTINGS_MODULE${'"'.repeat(1_000_000)}`, "main.py": "" }],
])("reads hostile texts in bounded time: %s", (_what, texts) => {
  expect(planSource(filesOf(texts))).toBeDefined();
});

test.each(["package.json", "Procfile", "pyproject.toml"])("fails if %s is too large to read", (name) => {
  const planned = planSource({ paths: new Set([name]), folders: new Set(), texts: new Map() });
  const message = expect.stringMatching(/is too large to read\. Make it smaller\.$/);
  expect(planned).toMatchObject({ failure: { reason: "build_failed", message }, isUnknown: false });
});

test("assumes the newest package manager if the lock file was not read", () => {
  const { paths, folders, texts } = filesOf({ "package.json": '{"main":"a.js"}' });
  const files = { paths: new Set([...paths, "pnpm-lock.yaml"]), folders, texts };
  expect(planSource(files)).toMatchObject({ plan: { lock: "pnpm-lock.yaml", manager: "pnpm@10" } });
});

test("throws if a rule itself fails, instead of reporting a failure of the source", () => {
  expect(() => planSource({ ...filesOf({}), paths: undefined as never })).toThrow(TypeError);
});

test("fails with the problem of the Procfile", () => {
  expect(failureOf({ Procfile: "worker: node worker.js" })).toEqual({
    reason: "build_failed",
    message: "The Procfile has no 'web' process; rename the process that listens on PORT to 'web'.",
  });
});

test("reads requirements files that include each other once", () => {
  const texts = { "main.py": FLASK, "requirements.txt": "-r requirements-web.txt\nflask" };
  expect(commandOf({ ...texts, "requirements-web.txt": "-r requirements.txt\ngunicorn" })).toContain("gunicorn");
});

test("ignores a manage.py that names no settings", () => {
  expect(commandOf({ "manage.py": "print('hello')", "main.py": "" })).toBe("exec python3 -u main.py");
});
