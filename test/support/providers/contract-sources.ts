/** The sources of the contract suites, for builders that accept Node. */
import type { ContractSources } from "../../contracts/index.ts";
import { helloServer, nodeSource, sourceOf } from "../archives/archives.ts";

const filesServer = `
import { createServer } from "node:http";
import fs from "node:fs";
import { dirname } from "node:path";
const fires = [];
const bodyOf = async (req) => { const chunks = []; for await (const chunk of req) chunks.push(chunk); return Buffer.concat(chunks); };
const work = async (req) => {
  const url = new URL(req.url, "http://service");
  const path = url.searchParams.get("path");
  if (url.pathname === "/env") return process.env[url.searchParams.get("name")] ?? "";
  if (url.pathname === "/fires") return JSON.stringify(fires);
  if (req.method === "GET") return url.search === "" && url.pathname === "/" ? "" : fs.readFileSync(path);
  if (req.method === "PUT") { fs.mkdirSync(dirname(path), { recursive: true }); fs.writeFileSync(path, await bodyOf(req)); }
  else fs.symlinkSync(url.searchParams.get("to"), path);
  return "";
};
createServer(async (req, res) => {
  if (req.method === "POST" && req.url === "/cron") { fires.push(req.headers); return res.writeHead(204).end(); }
  try { res.end(await work(req)); } catch (error) { res.writeHead(500).end(error.code ?? String(error)); }
}).listen(process.env.PORT);
`;

export const nodeContractSources: ContractSources = {
  hello: (text) => nodeSource(helloServer(text)),
  exits: (code) => nodeSource(`console.log("leaving"); process.exitCode = ${code};`),
  silent: () => nodeSource("setInterval(() => {}, 1000);"),
  files: () => nodeSource(filesServer),
  dockerfile: () => sourceOf({ Dockerfile: "FROM scratch\n" }),
};
