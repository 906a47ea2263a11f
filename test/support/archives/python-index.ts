/** A Python package index on a loopback port, and the packages in it: https://peps.python.org/pep-0503/ */
import { createServer } from "node:http";
import { crc32 } from "node:zlib";

/** A zip archive of stored files: APPNOTE 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16. */
const zip = (files: Readonly<Record<string, string>>): Buffer => {
  const locals: Buffer[] = [];
  const centrals: Buffer[] = [];
  let offset = 0;
  for (const [path, text] of Object.entries(files)) {
    const [name, content] = [Buffer.from(path), Buffer.from(text)];
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt32LE(0x21 << 16, 6);
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(content.length, 14);
    common.writeUInt32LE(content.length, 18);
    common.writeUInt16LE(name.length, 22);
    const central = Buffer.alloc(14);
    central.writeUInt16LE(0o100644, 8);
    central.writeUInt32LE(offset, 10);
    const local = Buffer.concat([Buffer.from("PK\x03\x04"), common, name, content]);
    locals.push(local);
    centrals.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\x03"), common, central, name]));
    offset += local.length;
  }
  const directory = Buffer.concat(centrals);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(centrals.length, 4);
  end.writeUInt16LE(centrals.length, 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...locals, directory, Buffer.from("PK\x05\x06"), end]);
};

/** A wheel with one module and a program of the package's name that calls its `main`. */
export const wheelOf = (name: string, version: string, module: string): { file: string; content: Buffer } => {
  const info = `${name}-${version}.dist-info`;
  const content = zip({
    [`${name}.py`]: module,
    [`${info}/METADATA`]: `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`,
    [`${info}/WHEEL`]: "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    [`${info}/entry_points.txt`]: `[console_scripts]\n${name} = ${name}:main\n`,
    [`${info}/RECORD`]: "",
  });
  return { file: `${name}-${version}-py3-none-any.whl`, content };
};

export interface PythonIndex extends AsyncDisposable {
  readonly url: string;
  /** The downloaded wheels, oldest first. */
  readonly fetched: string[];
}

export const serveIndex = async (wheels: readonly { file: string; content: Buffer }[]): Promise<PythonIndex> => {
  const fetched: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    const wheel = wheels.find(({ file }) => path.endsWith(file));
    if (wheel !== undefined) {
      fetched.push(wheel.file);
      return response.end(wheel.content);
    }
    const name = path.split("/")[2] ?? "";
    const links = wheels
      .filter(({ file }) => file.startsWith(`${name}-`))
      .map(({ file }) => `<a href="/files/${file}">${file}</a>`);
    response.writeHead(links.length === 0 ? 404 : 200, { "content-type": "text/html" }).end(links.join("\n"));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}/simple/`,
    fetched,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
