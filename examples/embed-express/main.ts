/** `npm start`, then: curl --cookie session=s1 http://127.0.0.1:3000/platform/v1/deployment/list */
import { createApp } from "./app.ts";

const app = await createApp();
app.listen(Number(process.env["PORT"] ?? 3000));
