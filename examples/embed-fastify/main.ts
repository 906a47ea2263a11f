/** `npm start`, then: curl -H "Authorization: Bearer token-of-ann" http://127.0.0.1:3000/platform/v1/deployment/list */
import { createApp } from "./app.ts";

const app = await createApp();
await app.listen({ port: Number(process.env["PORT"] ?? 3000) });
