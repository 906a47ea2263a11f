/** What every hostile build must leave as it was: all that lies outside, the server, and other accounts' builds. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { helloServer, nodeSource } from "./archives.ts";
import { folderWith } from "./folders.ts";
import { type Attack, canaries, evilPackage, fingerprint, hostileSource } from "./hostile-builds.ts";
import { runners, startLocalIn } from "./local-platform.ts";
import { has, needs } from "./machine.ts";
import { serveRegistry } from "./npm-registry.ts";

const isPython = ({ vector }: Attack): boolean => vector === "backend" || vector === "setup.py";

/** A racing plain process follows its own links, and may write what they lead to. Only a sandbox keeps it from that. */
const proves = ({ kind }: Attack, runner: (typeof runners)[number]): boolean =>
  runner === "bubblewrap" || kind !== "race";

export const hostileBuildTests = (attacks: readonly Attack[]): void => {
  test.for(runners)("hostile builds change nothing outside and stall nobody (%s)", async (runner, context) => {
    needs(context, "npm");
    using outside = folderWith(canaries);
    await using registry = await serveRegistry({ evil: evilPackage });
    const dataDir = mkdtempSync(join(tmpdir(), "portside-hostile-"));
    const environment = { ...process.env, npm_config_registry: registry.url };
    // Programs of the build itself may wait for a planted pipe.
    const settings = { deployLimits: { buildDeadline: 20_000 } };
    const start = () => startLocalIn(dataDir, { runner, graceSeconds: 1, drainSeconds: 1 }, settings, { environment });
    const before = fingerprint(outside.path);
    {
      await using platform = await start();
      const neighbour = await platform.up(nodeSource(helloServer("hello")), { function_name: "neighbour" }, "other");
      const possible = attacks.filter((one) => proves(one, runner) && (has("python") || !isPython(one)));
      for (const attack of possible) {
        const source = hostileSource(attack, runner, outside.path, registry);
        // A mount below the app folder is made after the build. Plain processes would get a link on this machine.
        const volumes = runner === "bubblewrap" ? { "/app/data": "v", "/app/node_modules/inner/data": "w" } : {};
        // An account of its own: an attack breaks the caches of its account.
        const [name, account] = [
          `${attack.kind}-${attack.vector.replace(".", "-")}`,
          `a-${attack.kind}-${attack.vector}`,
        ];
        await platform.deploy(source, { function_name: name, volumes }, account.replace(".", "-"));
        expect(fingerprint(outside.path), JSON.stringify(attack)).toBe(before);
        expect(await (await fetch(neighbour)).text()).toBe("hello");
      }
      const next = nodeSource(helloServer("next"), { "next.txt": "" });
      expect(await (await fetch(await platform.up(next, { function_name: "next" }, "other"))).text()).toBe("next");
    }
    {
      // A start sweeps what builds have left.
      await using platform = await start();
      expect(await (await fetch(await platform.up(nodeSource(helloServer("new")), {}, "other"))).text()).toBe("new");
    }
    expect(fingerprint(outside.path)).toBe(before);
    rmSync(dataDir, { recursive: true, force: true });
  });
};
