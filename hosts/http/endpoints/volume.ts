/** Volumes and their objects. */
import { z } from "zod";
import { detailSchema } from "../../../core/domain/answers.ts";
import {
  createVolumeFields,
  deleteVolumeFields,
  objectFields,
  objectsFields,
  restoreVolumeFields,
  uploadFields,
} from "../../../core/domain/requests.ts";
import {
  createdVolumeSchema,
  downloadGrantSchema,
  objectPageSchema,
  trashedVolumeSchema,
  uploadGrantSchema,
  volumeSchema,
} from "../../../core/domain/volume.ts";
import { type Endpoint, json } from "./endpoint.ts";

export const volumeEndpoints: readonly Endpoint[] = [
  json({
    method: "POST",
    path: "/v1/volume/create",
    summary: "Create a volume; one that is there stays as it is.",
    place: "body",
    fields: createVolumeFields,
    answer: createdVolumeSchema,
    run: (controlPlane, principal, request, options) => controlPlane.createVolume(principal, request, options),
  }),
  json({
    method: "GET",
    path: "/v1/volume/list",
    summary: "Your volumes, by name, each with the deployments that mount it.",
    place: "query",
    fields: {},
    answer: z.array(volumeSchema),
    run: (controlPlane, principal, _request, options) => controlPlane.listVolumes(principal, options),
  }),
  json({
    method: "POST",
    path: "/v1/volume/delete",
    summary: "Delete a volume that nothing mounts; it can be restored for 7 days.",
    place: "body",
    fields: deleteVolumeFields,
    answer: detailSchema,
    run: (controlPlane, principal, request, options) => controlPlane.deleteVolume(principal, request, options),
  }),
  json({
    method: "GET",
    path: "/v1/volume/objects",
    summary: "Objects of a volume, by path.",
    place: "query",
    fields: objectsFields,
    answer: objectPageSchema,
    run: (controlPlane, principal, request, options) => controlPlane.listObjects(principal, request, options),
  }),
  json({
    method: "POST",
    path: "/v1/volume/delete-object",
    summary: "Delete an object.",
    place: "body",
    fields: objectFields,
    answer: detailSchema,
    run: (controlPlane, principal, request, options) => controlPlane.deleteObject(principal, request, options),
  }),
  json({
    method: "POST",
    path: "/v1/volume/upload",
    summary: "A signed URL to put an object.",
    place: "body",
    fields: uploadFields,
    answer: uploadGrantSchema,
    run: (controlPlane, principal, request, options) => controlPlane.grantUpload(principal, request, options),
  }),
  json({
    method: "POST",
    path: "/v1/volume/download",
    summary: "A signed URL to get an object.",
    place: "body",
    fields: objectFields,
    answer: downloadGrantSchema,
    run: (controlPlane, principal, request, options) => controlPlane.grantDownload(principal, request, options),
  }),
  json({
    method: "GET",
    path: "/v1/volume/trash",
    summary: "Deleted volumes that can be restored, newest first.",
    place: "query",
    fields: {},
    answer: z.array(trashedVolumeSchema),
    run: (controlPlane, principal, _request, options) => controlPlane.listTrash(principal, options),
  }),
  json({
    method: "POST",
    path: "/v1/volume/restore",
    summary: "Restore a deleted volume.",
    place: "body",
    fields: restoreVolumeFields,
    answer: volumeSchema,
    run: (controlPlane, principal, request, options) => controlPlane.restoreVolume(principal, request, options),
  }),
];
