/** Splits text that arrives in pieces into lines. Text after the last line break waits for the next piece. */
import { StringDecoder } from "node:string_decoder";

const TAIL = 20;

export class LogLines {
  readonly #decoder = new StringDecoder("utf8");
  readonly #say: (line: string) => void;
  readonly #tail: string[] = [];
  #rest = "";
  #bytes = 0;

  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  /** The number of bytes read so far, which is the offset of the next piece. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The last lines, oldest first. */
  get tail(): readonly string[] {
    return this.#tail;
  }

  take(piece: Buffer): void {
    this.#bytes += piece.length;
    const lines = (this.#rest + this.#decoder.write(piece)).split(/\r?\n/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#line(line);
  }

  end(): void {
    if (this.#rest !== "") this.#line(this.#rest);
    this.#rest = "";
  }

  #line(line: string): void {
    this.#tail.push(line);
    if (this.#tail.length > TAIL) this.#tail.shift();
    this.#say(line);
  }
}
