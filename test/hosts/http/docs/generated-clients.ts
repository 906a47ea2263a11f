/** Programs that use generated clients. Each deploys, lists, reads logs and queries, and prints the results as JSON. */

const typescriptStart = `
import { readFileSync } from "node:fs";
const { PORTSIDE_URL = "", PORTSIDE_API_KEY = "", SOURCE = "" } = process.env;
const archive = new Blob([readFileSync(SOURCE)]);
const query = "SELECT COUNT(*) AS n FROM logs";
`;

const typescriptEnd = `
const lines = (deployed.data ?? "").trim().split("\\n");
const last: { status: string } = JSON.parse(lines.at(-1) ?? "{}");
console.log(
  JSON.stringify({
    deploy: last.status,
    list: listed.data?.map(({ name, last_deploy }) => [name, last_deploy?.status]),
    logs: (logs.data?.logs.length ?? 0) > 0,
    sql: rows.data,
  }),
);
`;

export const openapiFetchProgram = `
import createClient from "openapi-fetch";
import type { paths } from "./schema.d.ts";
${typescriptStart}
const client = createClient<paths>({ baseUrl: PORTSIDE_URL, headers: { "X-API-Key": PORTSIDE_API_KEY } });
const deployed = await client.POST("/v1/deploy", {
  body: { function_name: "my-app", volumes: {} },
  bodySerializer: ({ function_name, volumes }) => {
    const form = new FormData();
    form.set("function_name", function_name);
    form.set("volumes", JSON.stringify(volumes));
    form.set("source_archive", archive, "source.tar.gz");
    return form;
  },
  parseAs: "text",
});
const listed = await client.GET("/v1/deployment/list");
const logs = await client.POST("/v1/deployment/logs", { body: { deployment_name: "my-app" } });
const rows = await client.POST("/v1/sql", { body: { query } });
${typescriptEnd}`;

export const heyApiProgram = `
import { client } from "./client.gen.ts";
import { getDeploymentList, postDeploy, postDeploymentLogs, postSql } from "./sdk.gen.ts";
${typescriptStart}
client.setConfig({ baseUrl: PORTSIDE_URL, auth: ({ type }) => (type === "apiKey" ? PORTSIDE_API_KEY : undefined) });
const stream = await postDeploy({
  body: { function_name: "my-app", volumes: {}, source_archive: archive },
  parseAs: "text",
});
// The generated type is that of one record, but this call reads the stream as text.
const deployed = { data: stream.data as unknown as string | undefined };
const listed = await getDeploymentList();
const logs = await postDeploymentLogs({ body: { deployment_name: "my-app" } });
const rows = await postSql({ body: { query } });
${typescriptEnd}`;

export const pythonProgram = `
import json
import os

from client import AuthenticatedClient
from client.api.deployments import get_deployment_list, post_deployment_logs
from client.api.deploys import post_deploy
from client.api.sql import post_sql
from client.models import PostDeployBody, PostDeployBodyVolumes, PostDeploymentLogsBody, PostSqlBody
from client.types import File

client = AuthenticatedClient(
    base_url=os.environ["PORTSIDE_URL"], token=os.environ["PORTSIDE_API_KEY"], auth_header_name="X-API-Key", prefix=""
)
with open(os.environ["SOURCE"], "rb") as source:
    body = PostDeployBody(
        function_name="my-app",
        volumes=PostDeployBodyVolumes(),
        source_archive=File(payload=source, file_name="source.tar.gz", mime_type="application/gzip"),
    )
    deployed = post_deploy.sync_detailed(client=client, body=body)
records = [json.loads(line) for line in deployed.content.splitlines()]
listed = get_deployment_list.sync(client=client)
logs = post_deployment_logs.sync(client=client, body=PostDeploymentLogsBody(deployment_name="my-app"))
rows = post_sql.sync(client=client, body=PostSqlBody(query="SELECT COUNT(*) AS n FROM logs"))
print(
    json.dumps(
        {
            "deploy": records[-1]["status"],
            "list": [[one.name, one.last_deploy.status] for one in listed],
            "logs": len(logs.logs) > 0,
            "sql": [row.to_dict() for row in rows],
        }
    )
)
`;
