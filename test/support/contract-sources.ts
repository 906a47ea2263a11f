/** The sources that the contract suites deploy, for builders that take Node. */
import type { ContractSources } from "../contracts/index.ts";
import { helloServer, nodeSource, sourceOf } from "./archives.ts";

export const nodeContractSources: ContractSources = {
  hello: (text) => nodeSource(helloServer(text)),
  exits: (code) => nodeSource(`console.log("leaving"); process.exitCode = ${code};`),
  silent: () => nodeSource("setInterval(() => {}, 1000);"),
  dockerfile: () => sourceOf({ Dockerfile: "FROM scratch\n" }),
};
