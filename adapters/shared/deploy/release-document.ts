/**
 * Converts releases to JSON documents and back. Pure. `parse(render(release))` returns the release.
 */
import { z } from "zod";
import { authorKinds, type Release } from "../../../core/domain/deploy/releases/release.ts";
import type { Timestamp } from "../../../core/domain/wire/instant.ts";
import { parseService, renderService, serviceDocumentSchema } from "./service-document.ts";

const documentSchema = z.object({
  release: z.int(),
  uid: z.string(),
  revision: z.string(),
  createdAt: z.string(),
  createdBy: z.object({ kind: z.enum(authorKinds), id: z.string(), label: z.string() }),
  message: z.string().nullable(),
  sourceDigest: z.string().nullable(),
  rolledBackTo: z.int().nullable(),
  service: serviceDocumentSchema,
});

export type ReleaseDocument = z.output<typeof documentSchema>;

export const renderRelease = ({ template, ...release }: Release): ReleaseDocument =>
  documentSchema.parse({ ...release, service: renderService(template) });

/** Parses a document. Returns undefined if this version of Portside cannot read it. */
export const parseRelease = (raw: unknown): Release | undefined => {
  const parsed = documentSchema.safeParse(raw);
  if (!parsed.success) return undefined;
  const { service, createdAt, ...release } = parsed.data;
  const template = parseService(service);
  return template === undefined ? undefined : { ...release, createdAt: createdAt as Timestamp, template };
};
