/**
 * Ends HTTP/2 sessions without refusing a stream: https://www.rfc-editor.org/rfc/rfc9113#section-6.8. The first GOAWAY
 * accepts all streams that the client has already opened. The final GOAWAY contains the id of the last one.
 */
import type { ServerHttp2Session } from "node:http2";
import type { Writable } from "node:stream";

/** A GOAWAY frame with the highest possible stream id and no error. */
const NOTICE = Buffer.from([0, 0, 8, 7, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]);

/**
 * Sends a GOAWAY notice, which asks the client to open no more streams. Closes the session when the client has
 * acknowledged the notice and all streams have ended.
 *
 * Writes the notice directly to the transport, because Node ignores new streams after `session.goaway`. The session
 * writes whole frames, so the notice cannot split one.
 */
export const endGracefully = (session: ServerHttp2Session, transport: Writable): void => {
  const whenAcknowledged = (next: () => void) => {
    if (session.closed || session.destroyed) return;
    session.ping((error) => {
      if (error === null && !session.destroyed) next();
    });
  };
  // Before the first acknowledgement, the notice could overtake the session's SETTINGS, which must be the first frame.
  whenAcknowledged(() => {
    transport.write(NOTICE);
    // The client has sent all of its streams before it acknowledges a ping that follows the notice.
    whenAcknowledged(() => session.close());
  });
};
