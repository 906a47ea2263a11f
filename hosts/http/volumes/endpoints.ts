/** Volumes and their objects. */
import { z } from "zod";
import {
  createdVolumeSchema,
  downloadGrantSchema,
  multipartGrantSchema,
  objectPageSchema,
  trashedVolumeSchema,
  uploadGrantSchema,
  volumeSchema,
} from "../../../core/domain/volumes/volume.ts";
import {
  createVolumeFields,
  deleteVolumeFields,
  objectFields,
  objectsFields,
  restoreVolumeFields,
  resumeUploadFields,
  uploadFields,
} from "../../../core/domain/wire/requests.ts";
import { detailSchema } from "../../../core/domain/wire/responses.ts";
import { get, post } from "../endpoint.ts";

export const volumeEndpoints = [
  post("/v1/volume/create", {
    operation: "createVolume",
    summary: "Create a volume, or return the existing one.",
    description:
      "An existing volume does not change. Volume names are per account: two accounts may use the same name.",
    fields: createVolumeFields,
    response: createdVolumeSchema,
    run: (controlPlane, principal, request, options) => controlPlane.createVolume(principal, request, options),
  }),
  get("/v1/volume/list", {
    operation: "listVolumes",
    summary: "List your volumes by name, with the deployments that mount them.",
    description: "`attached_to` names the deployments that currently mount the volume.",
    response: z.array(volumeSchema),
    run: (controlPlane, principal, _request, options) => controlPlane.listVolumes(principal, options),
  }),
  post("/v1/volume/delete", {
    operation: "deleteVolume",
    summary: "Move a volume to the trash, where it can be restored for 7 days.",
    description: "Fails with 409 if a deployment mounts the volume.",
    fields: deleteVolumeFields,
    response: detailSchema,
    run: (controlPlane, principal, request, options) => controlPlane.deleteVolume(principal, request, options),
  }),
  get("/v1/volume/objects", {
    operation: "listObjects",
    summary: "List the objects of a volume by path.",
    description: "Returns one page. Pass its `next_page_token` as the next `page_token`.",
    fields: objectsFields,
    response: objectPageSchema,
    run: (controlPlane, principal, request, options) => controlPlane.listObjects(principal, request, options),
  }),
  post("/v1/volume/delete-object", {
    operation: "deleteObject",
    summary: "Delete an object.",
    description: "A deleted object cannot be restored.",
    fields: objectFields,
    response: detailSchema,
    run: (controlPlane, principal, request, options) => controlPlane.deleteObject(principal, request, options),
  }),
  post("/v1/volume/upload", {
    operation: "grantUpload",
    summary: "Get a signed URL to upload an object.",
    description:
      "PUT the bytes to the URL before `expires_at`. With `resumable`, or if `size` exceeds what the storage accepts " +
      "in one request, the response contains the URLs of a multipart upload instead.",
    fields: uploadFields,
    needsOneOf: ["object", "path"],
    response: uploadGrantSchema,
    run: (controlPlane, principal, request, options) => controlPlane.grantUpload(principal, request, options),
  }),
  post("/v1/volume/upload-resume", {
    operation: "resumeUpload",
    summary: "Get new URLs for an upload in parts, and the parts that the storage already has.",
    description:
      "PUT the parts without `etag`, then complete the upload with the tags of all parts. Fails with 404 if the upload " +
      "is complete or older than 24 hours.",
    fields: resumeUploadFields,
    response: multipartGrantSchema,
    run: (controlPlane, principal, request, options) => controlPlane.resumeUpload(principal, request, options),
  }),
  post("/v1/volume/download", {
    operation: "grantDownload",
    summary: "Get a signed URL to download an object.",
    description: "GET the bytes from the URL before `expires_at`. The URL supports range requests.",
    fields: objectFields,
    response: downloadGrantSchema,
    run: (controlPlane, principal, request, options) => controlPlane.grantDownload(principal, request, options),
  }),
  get("/v1/volume/trash", {
    operation: "listTrash",
    summary: "List deleted volumes, newest first.",
    description: "A deleted volume can be restored until `expires_at`.",
    response: z.array(trashedVolumeSchema),
    run: (controlPlane, principal, _request, options) => controlPlane.listTrash(principal, options),
  }),
  post("/v1/volume/restore", {
    operation: "restoreVolume",
    summary: "Restore a deleted volume.",
    description:
      "Without `id`, restores the most recently deleted volume of that name. Fails with 409 if a volume of that " +
      "name exists.",
    fields: restoreVolumeFields,
    response: volumeSchema,
    run: (controlPlane, principal, request, options) => controlPlane.restoreVolume(principal, request, options),
  }),
] as const;
