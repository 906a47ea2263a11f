// Copies the packages that the server and one provider need into a folder, as the lock lists them.
// An image then contains exactly the tested packages, without another download from the registry:
//   node .ci/keep-packages.mjs gcp FOLDER
import { cpSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The optional peers of each provider. Every provider may use PostgreSQL keys and Stripe. */
const peersOf = {
  memory: /^(pg|stripe)$/,
  local: /^(pg|stripe|@duckdb\/node-api|@polyglot-sql\/sdk|dockerode)$/,
  gcp: /^(pg|stripe|@google-cloud\/.*|google-auth-library|@polyglot-sql\/sdk)$/,
  aws: /^(pg|stripe|@aws-sdk\/.*|@polyglot-sql\/sdk)$/,
};

const [provider = "", folder = ""] = process.argv.slice(2);
const wanted = peersOf[provider];
if (wanted === undefined) {
  console.error(`Unknown provider '${provider}'. Use one of ${Object.keys(peersOf).join(", ")}.`);
  process.exit(1);
}
const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));

/** Resolves a package as Node does: in the dependent's node_modules, then one level up, and so on. */
const placeOf = (wantedBy, name) => {
  for (let base = wantedBy; ; base = base.slice(0, Math.max(0, base.lastIndexOf("/node_modules/")))) {
    const place = `${base === "" ? "" : `${base}/`}node_modules/${name}`;
    if (packages[place] !== undefined) return place;
    if (base === "") return undefined;
  }
};

const kept = new Set();
const keep = (wantedBy, names) => {
  for (const name of names) {
    const place = placeOf(wantedBy, name);
    if (place === undefined || kept.has(place)) continue;
    kept.add(place);
    const {
      dependencies,
      optionalDependencies,
      peerDependencies = {},
      peerDependenciesMeta: meta = {},
    } = packages[place];
    const peers = Object.keys(peerDependencies).filter((name) => meta[name]?.optional !== true);
    keep(place, [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers]);
  }
};
const { dependencies, peerDependencies } = packages[""];
keep("", [...Object.keys(dependencies), ...Object.keys(peerDependencies).filter((name) => wanted.test(name))]);

for (const place of kept) {
  // The package is for another platform and is not installed. Nested packages are copied separately.
  if (!existsSync(place)) continue;
  const own = (path) => path === place || !path.startsWith(join(place, "node_modules"));
  cpSync(place, join(folder, place), { recursive: true, filter: own });
}
console.log(`Copied ${kept.size} packages for the provider ${provider}`);
