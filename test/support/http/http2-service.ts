/** A service that speaks only HTTP/2, on `node:http2`, and can misbehave in every possible way. */
import { nodeSource } from "../archives/archives.ts";
import { callbackCode } from "./callback-server.ts";

/** Responds with the request that it received; some paths never end their response, or misbehave at its end. */
export const http2Service = nodeSource(`
import { constants, createServer } from "node:http2";
${callbackCode}
createServer().on("stream", async (stream, headers) => {
  stream.on("error", () => undefined);
  const half = () => {
    stream.respond({ ":status": 200, "content-type": "text/plain" });
    return new Promise((resolve) => stream.write("12345", resolve));
  };
  switch (headers[":path"]) {
    case "/silent":
      return report("begun");
    case "/hold":
      await report("begun");
      await hold("end");
      return stream.respond({ ":status": 204 }, { endStream: true });
    case "/half-then-reset":
      await half();
      return stream.destroy(new Error("broken"));
    case "/half-then-hang-up":
      await half();
      return stream.session.destroy();
    case "/half-then-die":
      await half();
      return process.exit(7);
    case "/half":
      return half();
    case "/reset":
      return stream.close(constants.NGHTTP2_PROTOCOL_ERROR);
    case "/push":
      if (stream.pushAllowed) stream.pushStream({ ":path": "/" }, (_error, pushed) => pushed.destroy(new Error("broken")));
      stream.respond({ ":status": 200 });
      return stream.end(String(stream.pushAllowed));
    case "/reset-without-error":
      return stream.close();
    case "/goodbye":
      stream.respond({ ":status": 200 });
      stream.end("bye");
      return stream.session.close();
    case "/early":
      stream.respond({ ":status": 413 });
      return stream.end("too big");
    case "/trailers":
      stream.respond({ ":status": 200, "set-cookie": ["a=1", "b=2"], "x-bytes": "\\u00e9" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "x-sum": "6" }));
      return stream.end("abc");
    default: {
      const body = Buffer.concat(await Array.fromAsync(stream)).toString();
      stream.respond({ ":status": 200, "content-type": "application/json" });
      stream.end(JSON.stringify({ headers, body }));
    }
  }
}).listen(process.env.PORT);
`);
