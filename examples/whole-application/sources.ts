/** Sources for the contract suites. The suite of the spool reads only `hello`, and runs no service. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ContractSources } from "portside/testing";
import { create } from "tar";

export const pack = (files: Readonly<Record<string, string>>): Uint8Array => {
  const folder = mkdtempSync(join(tmpdir(), "source-"));
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const chunks: Buffer[] = [];
    const archive = create(
      { gzip: true, sync: true, cwd: folder, portable: true, mtime: new Date(0) },
      Object.keys(files),
    );
    for (let chunk = archive.read(); chunk !== null; chunk = archive.read()) chunks.push(chunk);
    return Buffer.concat(chunks);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};
const server = (body: string) => ({ "package.json": '{"scripts":{"start":"node server.js"}}', "server.js": body });

export const sources: ContractSources = {
  hello: (text) =>
    pack(
      server(`require("node:http").createServer((q, a) => a.end(${JSON.stringify(text)})).listen(process.env.PORT)`),
    ),
  exits: (code) => pack(server(`process.exit(${code})`)),
  silent: () => pack(server("setInterval(() => {}, 1000)")),
  files: () => {
    throw new Error("no service runs here");
  },
  dockerfile: () => pack({ Dockerfile: "FROM scratch\n" }),
};
