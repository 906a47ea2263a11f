// Adds lock entries for optional platform packages that the install's registry did not list.
// `npm ci` rejects a lock without them. Run after each `npm install`:
//   npm run lock
import { readFileSync, writeFileSync } from "node:fs";

const file = "package-lock.json";
const lock = JSON.parse(readFileSync(file, "utf8"));
const systems = ["android", "darwin", "freebsd", "linux", "openharmony", "win32", "netbsd", "openbsd", "sunos", "aix"];
const processors = ["arm64", "x64", "ia32", "arm", "ppc64", "riscv64", "s390x", "loong64", "mips64el", "wasm32"];

/** Resolves a package as Node does: in the dependent's node_modules, then one level up, and so on. */
const isLocked = (wantedBy, name, version) => {
  for (let base = wantedBy; ; ) {
    const place = `${base ? `${base}/` : ""}node_modules/${name}`;
    if (lock.packages[place]?.version === version) return true;
    if (!base) return false;
    const up = base.lastIndexOf("/node_modules/");
    base = up < 0 ? "" : base.slice(0, up);
  }
};

const entryFor = (name, version, dev) => {
  const system = systems.find((one) => name.includes(one)) ?? (name.includes("wasm32") ? undefined : "none");
  const processor = processors.find(
    (one) => new RegExp(`\\b${one}(-|$|eabi|musl)`).test(name) || name.includes(`-${one}`),
  );
  return {
    version,
    optional: true,
    ...(dev ? { dev: true } : {}),
    ...(processor ? { cpu: [processor] } : {}),
    ...(system ? { os: [system] } : {}),
    ...(name.includes("musl") ? { libc: ["musl"] } : {}),
  };
};

let added = 0;
for (const [place, entry] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    if (!/^\d/.test(version) || isLocked(place, name, version)) continue;
    const top = `node_modules/${name}`;
    const target = lock.packages[top] ? `${place.slice(0, place.lastIndexOf("node_modules/"))}${top}` : top;
    lock.packages[target] = entryFor(name, version, entry.dev);
    added++;
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`package-lock.json: ${added} optional platform packages added`);
