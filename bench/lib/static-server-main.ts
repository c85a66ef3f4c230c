/** The process of `nodeStaticServer`: a minimal server of static files. Its arguments are the folder and the port. */
import { readFile, stat } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import { join, normalize } from "node:path";

const [, , folder = "", port = ""] = process.argv;

async function answer(url: string, response: ServerResponse): Promise<void> {
  const path = join(folder, normalize(decodeURIComponent(url.split("?", 1)[0] ?? "/")));
  const { size, mtimeMs } = await stat(path);
  const bytes = await readFile(path);
  const headers = { "content-type": "text/plain", "content-length": size, etag: `"${size}-${mtimeMs}"` };
  response.writeHead(200, headers);
  response.end(bytes);
}

const server = createServer((request, response) => {
  answer(request.url ?? "/", response).catch(() => response.writeHead(404).end());
});
server.listen(Number(port), "127.0.0.1");
