/** Services in the platform's format, for tests of the rules that read them. */
import type { DeployDeclaration } from "../../../core/domain/deploy/declaration.ts";
import type { Service, ServiceSpec, ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";
import type { Timestamp } from "../../../core/domain/wire/instant.ts";
import type { VolumeName } from "../../../core/domain/wire/names.ts";

/** A template of this specification. */
export const templateOf = (spec: ServiceSpec): ServiceTemplate => ({
  ...spec,
  mounts: spec.mounts.map((mount) => ({ ...mount, bucket: `vol-${mount.volume}` })),
  cronToken: "token",
  image: "memory://acme/sha256:0",
  deployId: "00000000000000000000",
});

/** A service with a single revision that serves this template. */
export const serviceOf = (template: ServiceTemplate): Service => ({
  name: template.name,
  owner: template.owner,
  etag: "m1",
  serving: [{ id: `${template.name}-00001`, template }],
  rollingOut: null,
  attempted: template,
  url: `https://${template.name}.memory.invalid`,
  region: "memory",
  createdAt: "2026-01-01T00:00:00+00:00" as Timestamp,
  updatedAt: "2026-01-01T00:00:00+00:00" as Timestamp,
  lastDeploy: null,
});

/** A volume of the account. */
export const volumeNamed = (name: string): { readonly name: VolumeName; readonly id: string } => ({
  name: name as VolumeName,
  id: `vol-${name}`,
});

/** The declaration of exactly this template. */
export const declarationOf = (template: ServiceTemplate): DeployDeclaration => {
  const { owner: _owner, image: _image, deployId: _deployId, cronToken: _cronToken, ...declared } = template;
  const mounts = declared.mounts.map(({ bucket: _bucket, ...mount }) => mount);
  return { ...declared, mounts, writtenName: template.name, source: { kind: "archive" } };
};
