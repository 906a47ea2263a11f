/** Google's front end: it rejects the callers of a service that is not public, and forwards all other requests. */
import { createServer } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";

/** The page that users quote, for example https://github.com/GoogleCloudPlatform/cloud-run-button/issues/189. */
const pageOf = (path: string): string => `
<html><head>
<meta http-equiv="content-type" content="text/html;charset=utf-8">
<title>403 Forbidden</title>
</head>
<body text=#000000 bgcolor=#ffffff>
<h1>Error: Forbidden</h1>
<h2>Your client does not have permission to get URL <code>${path}</code> from this server.</h2>
<h2></h2>
</body></html>
`;

/** @param isPublic decides for each connection */
export const openFrontEnd = async (url: string, isPublic: () => boolean) => {
  const { hostname, port } = new URL(url);
  const refusing = createServer(({ url: path = "/" }, response) => {
    const headers = { "content-type": "text/html; charset=UTF-8", server: "Google Frontend", connection: "close" };
    response.writeHead(403, headers).end(pageOf(path));
  });
  const server = createTcpServer((socket) => {
    if (!isPublic()) return void refusing.emit("connection", socket);
    const service = connect(Number(port), hostname.replace(/^\[|\]$/g, ""));
    for (const [one, other] of [
      [socket, service],
      [service, socket],
    ] as const)
      one
        .on("error", () => other.destroy())
        .on("close", () => other.destroy())
        .pipe(other);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close();
      refusing.closeAllConnections();
    },
  };
};
