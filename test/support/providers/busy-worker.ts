/** The code of a service that takes busy leases. */

/**
 * `GET /` responds with the process id. `GET /lease?ms=` takes a lease that ends after the milliseconds, and returns
 * the platform's response. `GET /path` returns the socket's path. `GET /connect?path=` connects to a socket.
 */
export const busyWorkerCode = `
import { createServer, request } from "node:http";
import { connect } from "node:net";
const lease = (ms) => new Promise((resolve, reject) => {
  const options = { socketPath: process.env.PORTSIDE_BUSY_SOCKET, path: "/busy", method: "POST" };
  const sent = request(options, (response) => {
    let text = "";
    response.setEncoding("utf8").on("data", (part) => { text += part; });
    response.on("end", () => resolve(response.statusCode + " " + text));
  });
  sent.on("error", reject).end(JSON.stringify({ until: new Date(Date.now() + ms) }));
});
const attempt = (path) => new Promise((resolve) => {
  const socket = connect(path, () => { socket.destroy(); resolve("connected"); });
  socket.on("error", (error) => resolve(error.code));
});
createServer(async (req, res) => {
  const url = new URL(req.url, "http://app");
  try {
    /* more */
    if (url.pathname === "/lease") res.end(await lease(Number(url.searchParams.get("ms"))));
    else if (url.pathname === "/path") res.end(process.env.PORTSIDE_BUSY_SOCKET);
    else if (url.pathname === "/connect") res.end(await attempt(url.searchParams.get("path")));
    else res.end(String(process.pid));
  } catch (error) {
    res.end(String(error));
  }
}).listen(process.env.PORT);
`;
