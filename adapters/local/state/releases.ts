/** Stores the releases of deployments. `ServiceRows` writes them in the transaction that moves the traffic. */
import type { DatabaseSync } from "node:sqlite";
import type { Release } from "../../../core/domain/deploy/releases/release.ts";
import { oldestRecorded } from "../../../core/domain/deploy/releases/retention.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import { parseRelease, renderRelease } from "../../shared/deploy/release-document.ts";
import { insert, selectAll } from "./sql.ts";

/** The image of a release. */
export interface ReleasedImage {
  readonly name: DeploymentName;
  readonly release: number;
  readonly image: string;
}

const readRelease = (text: string): Release => {
  const release = parseRelease(JSON.parse(text));
  if (release === undefined)
    throw new Error("The state file contains a release that this version of Portside cannot read.");
  return release;
};

export class ReleaseRows {
  readonly #db: DatabaseSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /**
   * Returns the releases of a deployment, newest first.
   * @param newest the number of releases to return; defaults to all
   */
  of(name: DeploymentName, newest = -1): Release[] {
    // A negative limit is no limit.
    const documents = "SELECT document FROM releases WHERE name = ? ORDER BY release DESC LIMIT ?";
    return selectAll<{ document: string }>(this.#db, documents, name, newest).map(({ document }) =>
      readRelease(document),
    );
  }

  /** Returns the images of all releases of all deployments. */
  images(): ReleasedImage[] {
    return selectAll(this.#db, "SELECT name, release, image FROM releases");
  }

  /** Adds a release, and deletes the records that are too old. The caller must have begun a transaction. */
  add(release: Release): void {
    const { name, image } = release.template;
    const document = JSON.stringify(renderRelease(release));
    insert(this.#db, "INSERT INTO releases", { name, release: release.release, image, document });
    this.#db.prepare("DELETE FROM releases WHERE name = ? AND release < ?").run(name, oldestRecorded(release.release));
  }

  /** Deletes the releases of a deployment. The caller must have begun a transaction. */
  remove(name: DeploymentName): void {
    this.#db.prepare("DELETE FROM releases WHERE name = ?").run(name);
  }
}
