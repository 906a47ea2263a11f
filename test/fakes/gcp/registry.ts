/** Tags of Artifact Registry: google/devtools/artifactregistry/v1/tag.proto. */
import { createHash } from "node:crypto";
import { Faults } from "../faults.ts";
import { GrpcError, type GrpcServer, serveGrpc } from "./grpc.ts";

interface Image {
  readonly digest: string;
  /** The image's name in the fake Cloud Run's engine. */
  readonly engineImage: string;
}

const REFERENCE = /^([a-z0-9-]+)-docker\.pkg\.dev\/([^/]+)\/([^/]+)\/(.+):([^:/]+)$/;

/** `REGION-docker.pkg.dev/PROJECT/REPOSITORY/IMAGE:TAG` is a tag of a package; slashes in the package are escaped. */
const tagNameOf = (reference: string): string | undefined => {
  const [, region, project, repository, image = "", tag] = REFERENCE.exec(reference) ?? [];
  if (region === undefined) return undefined;
  const within = `projects/${project}/locations/${region}/repositories/${repository}`;
  return `${within}/packages/${encodeURIComponent(image)}/tags/${tag}`;
};

export class FakeRegistry {
  readonly faults = new Faults();
  readonly #tags = new Map<string, Image>();

  push(reference: string, engineImage: string): string {
    const name = tagNameOf(reference);
    if (name === undefined) throw new Error(`Invalid image reference: ${reference}`);
    const digest = `sha256:${createHash("sha256").update(`${reference} ${engineImage}`).digest("hex")}`;
    this.#tags.set(name, { digest, engineImage });
    return digest;
  }

  resolve(reference: string): string | undefined {
    return this.#tags.get(tagNameOf(reference) ?? "")?.engineImage;
  }

  async open(): Promise<GrpcServer> {
    const GetTag = ({ name }: { name: string }) => {
      const image = this.#tags.get(name);
      if (image === undefined) throw new GrpcError("NOT_FOUND", "Requested entity was not found.");
      return { name, version: `${name.split("/tags/")[0]}/versions/${image.digest}` };
    };
    const name = "google.devtools.artifactregistry.v1.ArtifactRegistry";
    return serveGrpc("@google-cloud/artifact-registry", { [name]: { GetTag } }, this.faults);
  }
}
