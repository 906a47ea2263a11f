/** Any interleaving of the parts, resumptions and completions of several uploads matches a model in memory. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { AccountId } from "../../core/domain/accounts/account.ts";
import type { ObjectPath } from "../../core/domain/volumes/object-path.ts";
import type { VolumeName } from "../../core/domain/wire/names.ts";
import type { PartsGrant, PendingUpload, UploadsInParts, VolumeStore } from "../../core/ports/volume-store.ts";
import { collect, expectError, expectOk } from "../contracts/support.ts";
import { soon } from "../contracts/volume-steps.ts";
import { completeUpload, putPart, rangesOf } from "../contracts/volume-uploads.ts";
import { runs, within } from "../support/vitest/runs.ts";

const LENGTHS = [4, 6, 3];

type Step =
  | { readonly kind: "begin"; readonly path: string }
  /** Sends a part, or sends it again with other content. `upload` and `grant` select an existing upload and grant. */
  | { readonly kind: "part"; readonly upload: number; readonly grant: number; readonly number: number }
  /** Lists the parts, and grants new URLs. */
  | { readonly kind: "resume"; readonly upload: number }
  /** `old`: lists the first tag of each part, which another upload of the part may have replaced. */
  | { readonly kind: "complete"; readonly upload: number; readonly grant: number; readonly tags: "last" | "old" };

const index = fc.nat(5);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("begin" as const), path: fc.constantFrom("a", "b/c") }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("part" as const),
      upload: index,
      grant: index,
      number: fc.integer({ min: 1, max: LENGTHS.length }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("resume" as const), upload: index }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("complete" as const),
      upload: index,
      grant: index,
      tags: fc.constantFrom("last" as const, "last" as const, "old" as const),
    }),
  },
);

interface Part {
  readonly content: string;
  readonly tag: string;
  readonly firstTag: string;
}

interface ModelUpload {
  readonly upload: PendingUpload;
  readonly grants: PartsGrant[];
  readonly parts: Map<number, Part>;
  done: boolean;
}

class UploadLife {
  readonly #volumes: VolumeStore;
  readonly #port: UploadsInParts;
  readonly #owner: AccountId;
  readonly #uploads: ModelUpload[] = [];
  readonly #objects = new Map<string, string>();
  #sent = 0;

  constructor(volumes: VolumeStore, owner: AccountId) {
    this.#volumes = volumes;
    this.#port = volumes.uploadsInParts as UploadsInParts;
    this.#owner = owner;
  }

  async run(steps: readonly Step[]): Promise<void> {
    const { volume } = await expectOk(this.#volumes.create(this.#owner, "uploads" as VolumeName));
    for (const one of steps) {
      if (one.kind === "begin") {
        const path = one.path as ObjectPath;
        const upload = { volume, path, id: await expectOk(this.#port.begin(volume, path)) };
        this.#uploads.push({ upload, grants: [await this.#grant(upload)], parts: new Map(), done: false });
        continue;
      }
      const chosen = this.#uploads[one.upload % this.#uploads.length];
      if (chosen !== undefined) await this.#step(one, chosen);
    }
    for (const one of this.#uploads) await this.#compareParts(one);
    const page = await expectOk(this.#volumes.objects(volume, { prefix: "", limit: 10 }));
    expect(page.objects.map(({ path }) => path)).toEqual([...this.#objects.keys()].sort());
    for (const { path } of page.objects) {
      const bytes = await collect(await expectOk(this.#volumes.read(volume, path)));
      expect(Buffer.concat(bytes).toString()).toBe(this.#objects.get(path));
    }
  }

  #grant(upload: PendingUpload): Promise<PartsGrant> {
    return expectOk(this.#port.grant(upload, rangesOf(LENGTHS), soon()));
  }

  async #step(one: Exclude<Step, { kind: "begin" }>, chosen: ModelUpload): Promise<void> {
    const { upload, grants, parts } = chosen;
    if (one.kind === "resume") {
      await this.#compareParts(chosen);
      if (!chosen.done) grants.push(await this.#grant(upload));
      return;
    }
    const grant = grants[one.grant % grants.length] as PartsGrant;
    if (one.kind === "complete") return this.#complete(chosen, grant, one.tags);
    const { number } = one;
    const url = grant.urls[number - 1] ?? "";
    const content = String(++this.#sent).padStart(LENGTHS[number - 1] ?? 0, "-");
    if (chosen.done) return expect((await fetch(url, { method: "PUT", body: content })).status).toBe(404);
    const tag = await putPart(url, content);
    parts.set(number, { content, tag, firstTag: parts.get(number)?.firstTag ?? tag });
  }

  async #complete(chosen: ModelUpload, { completeUrl }: PartsGrant, tags: "last" | "old"): Promise<void> {
    const { parts, upload } = chosen;
    const listed = LENGTHS.map((_, at) => {
      const part = parts.get(at + 1);
      return [at + 1, (tags === "old" ? part?.firstTag : part?.tag) ?? '"none"'] as const;
    });
    const fits = !chosen.done && listed.every(([number, tag]) => parts.get(number)?.tag === tag);
    expect(await completeUpload(completeUrl, listed)).toBe(fits);
    if (!fits) return;
    chosen.done = true;
    this.#objects.set(upload.path, listed.map(([number]) => parts.get(number)?.content).join(""));
  }

  async #compareParts({ upload, parts, done }: ModelUpload): Promise<void> {
    if (done) return void expect((await expectError(this.#port.stored(upload))).kind).toBe("not_found");
    const stored = [...(await expectOk(this.#port.stored(upload)))].sort((a, b) => a.number - b.number);
    const expected = [...parts].sort(([a], [b]) => a - b);
    expect(stored).toEqual(expected.map(([number, { content, tag }]) => ({ number, size: content.length, etag: tag })));
  }
}

interface OpenVolumes {
  readonly volumes: VolumeStore;
  close(): Promise<void>;
}

let accounts = 0;

/** @param times the number of runs; all runs share one storage */
export const uploadLifeTests = (storage: string, open: () => Promise<OpenVolumes>, times: number): void => {
  test(`any interleaving of uploads in parts on ${storage} matches the model`, { timeout: within() }, async () => {
    const { volumes, close } = await open();
    try {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
          const life = new UploadLife(volumes, `uploads-${++accounts}` as AccountId);
          await life.run([{ kind: "begin", path: "a" }, ...steps]);
        }),
        runs(times),
      );
    } finally {
      await close();
    }
  });
};
