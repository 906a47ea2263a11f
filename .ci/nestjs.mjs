// Compiles and runs the programs of docs/guides/nestjs.md with the packed package and NestJS from the registry.
// Each program must deploy through the plugin and serve its own routes.
//   node .ci/nestjs.mjs TARBALL FOLDER
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";

const [tarball, folder] = process.argv.slice(2);
const { devDependencies } = JSON.parse(readFileSync("package.json", "utf8"));

const programs = [...readFileSync("docs/guides/nestjs.md", "utf8").matchAll(/^```typescript\n(.*?)^```$/gms)].map(
  ([, code]) => code,
);
assert.equal(programs.length, 2);
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "nest", private: true, type: "module" }));
for (const [at, code] of programs.entries()) writeFileSync(join(folder, `program-${at}.ts`), code);
writeFileSync(
  join(folder, "tsconfig.json"),
  JSON.stringify({
    compilerOptions: {
      ...{ target: "es2023", module: "nodenext", strict: true, skipLibCheck: true, types: ["node"] },
      ...{ experimentalDecorators: true, emitDecoratorMetadata: true },
    },
    include: ["*.ts"],
  }),
);
const run = (file, ...args) => {
  try {
    execFileSync(file, args, { cwd: folder, stdio: "pipe", encoding: "utf8" });
  } catch (error) {
    throw new Error(`${file} ${args.join(" ")}\n${error.stdout}${error.stderr}`);
  }
};
const nest = ["common", "core", "platform-fastify", "platform-express"].map((name) => `@nestjs/${name}@12`);
run(
  "npm",
  ...[
    "install",
    "--no-audit",
    "--no-fund",
    "--ignore-scripts",
    resolve(tarball),
    ...nest,
    "rxjs@7",
    "reflect-metadata",
  ],
  ...["typescript@5", `@types/node@${devDependencies["@types/node"]}`],
);
run(process.execPath, "node_modules/typescript/bin/tsc");

const freePort = async () => {
  const server = createServer().listen(0);
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
};

const until = async (url) => {
  for (let tries = 0; tries < 300; tries++) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer !== undefined) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`${url} does not respond`);
};

const json = { "content-type": "application/json" };
const ownRoutes = [
  async (url) => assert.deepEqual(await (await fetch(`${url}/services`)).json(), ["app"]),
  async (url) => {
    const echoed = await fetch(`${url}/echo`, { method: "POST", headers: json, body: '{"a":1}' });
    assert.deepEqual(await echoed.json(), { a: 1 });
  },
];

execFileSync("tar", ["-czf", "source.tar.gz", "package.json"], { cwd: folder });
for (const at of programs.keys()) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = { ...process.env, PORT: String(port) };
  const program = spawn(process.execPath, [`program-${at}.js`], {
    cwd: folder,
    env,
    stdio: ["ignore", "ignore", "inherit"],
  });
  try {
    await until(url);
    const headers = { cookie: "session=1" };
    assert.equal((await fetch(`${url}/platform/v1/deployment/list`)).status, 401);
    const form = new FormData();
    form.set("function_name", "app");
    form.set("volumes", "{}");
    form.set("source_archive", new Blob([readFileSync(join(folder, "source.tar.gz"))]), "source.tar.gz");
    const deployed = await fetch(`${url}/platform/v1/deploy`, { method: "POST", headers, body: form });
    assert.match(await deployed.text(), /"DONE"/);
    const forged = { ...headers, "sec-fetch-site": "cross-site" };
    assert.equal((await fetch(`${url}/platform/v1/deployment/list`, { headers: forged })).status, 403);
    await ownRoutes[at](url);
  } finally {
    const ended = once(program, "exit");
    program.kill();
    await ended;
  }
}
console.log("docs/guides/nestjs.md: its programs deploy on Fastify and on Express");
